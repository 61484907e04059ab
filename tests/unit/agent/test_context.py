"""What goes to the model never exceeds the window, and gives way in a fixed order (L6, L7)."""

from __future__ import annotations

import pytest

from app.agent.context import (
    KEPT_MESSAGES,
    LEFT_OUT,
    PLACEHOLDER,
    assemble,
    context_budget,
    estimate_message,
    estimate_tokens,
    fit,
)
from app.errors import ContextTooLong
from app.protocol.conversation import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelSpec,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.unit.agent.valid import check_conversation

ENGLISH = "The derivative of a function measures how fast its value changes when its input changes a little."
CHINESE = "函数的导数衡量的是当自变量发生微小变化时函数值变化的快慢程度。"


def user(text: str = "question") -> UserMessage:
    return UserMessage((TextPart(text),))


def tool_turn(n: int, size: int = 2_000) -> list[Message]:
    call = ToolCall(f"c{n}", "math_add", {}, "{}")
    return [
        user(f"question {n}"),
        AssistantMessage("", (call,)),
        ToolResultMessage(f"c{n}", "math_add", '"' + "x" * size + '"'),
        AssistantMessage(f"answer {n}"),
    ]


def turns(count: int, size: int = 2_000) -> list[Message]:
    return [message for n in range(count) for message in tool_turn(n, size)]


def cost(messages: list[Message]) -> int:
    return sum(map(estimate_message, messages))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (ENGLISH, 16, 30),  # common tokenizers: 17 to 19
        (CHINESE, 16, 32),  # common tokenizers: 18 to 28
        (ENGLISH + CHINESE, 32, 62),
        ("", 0, 0),
        ("a", 1, 1),
        ("字", 1, 1),
        ("Производная функции", 4, 12),
        ("🙂🙂🙂", 2, 9),
        ("\ud800", 1, 2),
    ],
)
def test_estimate_is_of_the_right_size_in_every_script(text: str, low: int, high: int) -> None:
    assert low <= estimate_tokens(text) <= high


def test_image_counts_more_than_its_note() -> None:
    assert estimate_message(UserMessage((ImagePart("image/png", b"", "f"),))) > 1_000


def test_budget_keeps_room_for_the_answer_and_the_head() -> None:
    model = ModelSpec("m", "p", "m", context_window_tokens=10_000, max_output_tokens=1_000)
    assert context_budget(model, 0.8, 500) == 7_500
    assert context_budget(model, 1.0, 500) == 8_500
    greedy = ModelSpec("m", "p", "m", context_window_tokens=8_000, max_output_tokens=8_000)
    assert context_budget(greedy, 0.8, 0) == 6_000


def test_what_fits_is_sent_as_it_is() -> None:
    history = turns(3)
    assert assemble(history, user("now"), 100_000) == [*history, user("now")]


def test_older_results_shrink_first_and_all_talk_stays() -> None:
    history = turns(8)
    context = fit(history, user("now"), (), cost(history) - 800)
    assert context.dropped == 0
    assert context.shrunk > 0
    assert [message for message in context.messages if not isinstance(message, ToolResultMessage)] == [
        message for message in [*history, user("now")] if not isinstance(message, ToolResultMessage)
    ]
    shrunk = [getattr(message, "content", "") == PLACEHOLDER for message in context.messages]
    assert shrunk.index(True) == 2
    assert not any(shrunk[-KEPT_MESSAGES:])


def test_then_oldest_turns_go_with_a_note_and_the_newest_ten_stay_whole() -> None:
    history = [
        message for n in range(30) for message in (user("word " * 100), AssistantMessage(f"answer {n}"))
    ]
    context = fit(history, user("now"), (), 2_500)
    assert context.tokens <= 2_500
    assert context.messages[-KEPT_MESSAGES:] == [*history, user("now")][-KEPT_MESSAGES:]
    first = context.messages[0]
    assert isinstance(first, UserMessage)
    assert first.parts[0] == TextPart(f"<note>{LEFT_OUT}</note>")
    assert len(context.messages) + context.dropped == len(history) + 1
    check_conversation(context.messages)


def test_old_turns_go_before_a_new_result_is_cut() -> None:
    old = [message for n in range(20) for message in (user("word " * 100), AssistantMessage(f"answer {n}"))]
    context = fit([*old, *tool_turn(1)], user("now"), (), 2_000)
    assert (context.shrunk, context.dropped > 0) == (0, True)


def test_cuts_move_in_blocks_so_that_the_head_stays_the_same() -> None:
    history: list[Message] = []
    starts: list[int] = []
    for n in range(60):
        history += [user(f"question {n} " + "word " * 60), AssistantMessage(f"answer {n}")]
        starts.append(fit(history, user("now"), (), 2_500).dropped)
    assert len(set(starts)) < len(set(range(60))) / 2


def test_one_huge_new_result_is_cut_rather_than_sent_too_long() -> None:
    turn = tool_turn(1, size=400_000)
    context = fit([], user("read it"), turn[1:3], 4_000)
    assert cost(context.messages) <= 4_000
    check_conversation(context.messages)
    assert "shortened_result" in str(context.messages[-1])
    assert "400002" in str(context.messages[-1])


def test_newest_turns_of_history_go_last_of_all() -> None:
    history = [user("word " * 900), AssistantMessage("b"), user("word " * 900), AssistantMessage("d")]
    context = fit(history, user("now"), (), 600)
    assert [type(message) for message in context.messages] == [UserMessage]


def test_this_turn_is_never_left_out() -> None:
    turn = tool_turn(9, 100)[1:3]
    context = fit(turns(9), user("now"), turn, 300)
    assert context.messages[-2:] == turn
    assert "now" in str(context.messages[-3])


def test_input_that_does_not_fit_is_refused_with_what_to_do() -> None:
    with pytest.raises(ContextTooLong, match="Shorten"):
        assemble(turns(2), user("word " * 5_000), 1_000)


def test_notes_at_the_end_of_history_join_the_input() -> None:
    history: list[Message] = [user(), AssistantMessage("ok"), user("<note>cut</note>")]
    messages = assemble(history, user("now"), 10_000)
    assert messages[-1] == UserMessage((TextPart("<note>cut</note>"), TextPart("now")))
    check_conversation(messages)
