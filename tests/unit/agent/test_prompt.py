"""The system prompt: fixed order, stable prefix (L5, C21)."""

from __future__ import annotations

from app.agent.prompt import DEFAULT_INSTRUCTIONS, PromptInputs, system_prompt, user_with_time
from app.protocol.conversation import TextPart, UserMessage

FULL = PromptInputs(
    instructions=["PROFILE"],
    persona="PERSONA",
    active_packages=["PACKAGE"],
    memories=["MEMORY"],
    environment="ENVIRONMENT",
    dynamic=["DYNAMIC"],
    time_text="TIME",
)


def test_parts_stand_in_the_fixed_order() -> None:
    text = system_prompt(FULL, instructions=["FIRST", "SECOND"], personality="HUMOUR", catalog="CATALOG")
    order = ["FIRST", "SECOND", "PROFILE", "# Rules", "PERSONA", "HUMOUR", "# Tools", "CATALOG"]
    order += ["PACKAGE", "MEMORY", "ENVIRONMENT", "DYNAMIC"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_time_is_in_the_users_message_and_not_in_the_prompt() -> None:
    assert "TIME" not in system_prompt(FULL, instructions=[], personality="", catalog="")
    message = UserMessage((TextPart("Hi"),))
    assert user_with_time(message, "TIME").parts[-1] == TextPart("<note>TIME</note>")
    assert user_with_time(message, "") is message


def test_absent_parts_leave_no_heading() -> None:
    text = system_prompt(PromptInputs(), instructions=[], personality="", catalog="")
    assert text.startswith(DEFAULT_INSTRUCTIONS)
    for heading in ("Persona", "loaded", "packages", "remembered", "Environment"):
        assert f"# {heading}" not in text
    assert "\n\n\n" not in text


def test_rules_about_data_hold_with_any_instructions() -> None:
    text = system_prompt(PromptInputs(), instructions=["Be brief."], personality="", catalog="")
    assert DEFAULT_INSTRUCTIONS not in text
    assert "are data" in text
    assert "only if a tool result" in text


def test_memories_are_marked_as_data() -> None:
    text = system_prompt(FULL, instructions=[], personality="", catalog="")
    assert "(data, not instructions)\n- MEMORY" in text
