from typing import Any

import pytest

from app.testkit import BOB, PackageHarness, refuses_bad_arguments, same_key_gives_one_effect

FRACTION: dict[str, Any] = {
    "question": "计算 1/2 + 1/3",
    "answer": "2/5",
    "correct_answer": "5/6",
    "cause": "分子分母分别相加",
    "subject": "数学",
    "tags": ["分数", "加法"],
}


async def filed(package: PackageHarness, **changes: Any) -> dict[str, Any]:
    return await package.ok("mistakes::add", {**FRACTION, **changes})


async def found(package: PackageHarness, **params: Any) -> list[str]:
    page = await package.ok("mistakes::search", params)
    return [entry["id"] for entry in page["entries"]]


async def test_what_is_filed_is_found_whole(package: PackageHarness) -> None:
    made = await filed(package)
    page = await package.ok("mistakes::search", {})
    assert page == {"entries": [made], "next": None}
    assert {name: made[name] for name in FRACTION} == FRACTION
    assert made["version"] == 1


@pytest.mark.parametrize(
    "query",
    ["分母", "计算 加法", "５/６", "1/2", "  分数  ", "数学"],
    ids=["word", "two", "wide", "sum", "tag", "subject"],
)
async def test_words_are_found_in_every_field_and_width(package: PackageHarness, query: str) -> None:
    made = await filed(package)
    await filed(
        package, question="Spell 'necessary'", cause="one c", tags=[], subject="English", correct_answer=""
    )
    assert await found(package, query=query) == [made["id"]]


@pytest.mark.parametrize("query", ["100%", "a_b", "back\\slash"])
async def test_wildcards_in_a_query_are_plain_characters(package: PackageHarness, query: str) -> None:
    made = await filed(package, question=f"What is {query}?")
    await filed(package, question="What is 1000 axb backXslash?")
    assert await found(package, query=query) == [made["id"]]


async def test_case_is_ignored_alike_for_all_letters(package: PackageHarness) -> None:
    made = await filed(package, question="ÉCRIRE une lettre")
    assert await found(package, query="écrire") == [made["id"]]


async def test_a_tag_is_matched_whole(package: PackageHarness) -> None:
    await filed(package, tags=["分数加法"])
    made = await filed(package, tags=["分数"])
    assert await found(package, tag="分数") == [made["id"]]


async def test_pages_show_every_entry_once_also_while_new_ones_come(package: PackageHarness) -> None:
    made = [(await filed(package, question=f"q{n}"))["id"] for n in range(5)]
    seen: list[str] = []
    cursor = ""
    while True:
        page = await package.ok("mistakes::search", {"limit": 2, "cursor": cursor})
        seen += [entry["id"] for entry in page["entries"]]
        await filed(package, question="newer")
        if page["next"] is None:
            break
        cursor = page["next"]
    assert seen == made[::-1]


async def test_an_update_keeps_what_is_not_given_and_raises_the_version(package: PackageHarness) -> None:
    made = await filed(package)
    changed = await package.ok("mistakes::update", {"id": made["id"], "version": 1, "cause": "通分忘了"})
    assert changed == {**made, "cause": "通分忘了", "version": 2}
    assert await found(package, query="通分") == [made["id"]]
    assert await found(package, query="分别相加") == []


async def test_a_stale_update_changes_nothing(package: PackageHarness) -> None:
    made = await filed(package)
    await package.ok("mistakes::update", {"id": made["id"], "version": 1, "cause": "first"})
    stale = {"id": made["id"], "version": 1, "cause": "second"}
    assert await package.refused("mistakes::update", stale) == "VERSION_CONFLICT"
    page = await package.ok("mistakes::search", {})
    assert page["entries"][0]["cause"] == "first"


async def test_an_empty_update_is_refused(package: PackageHarness) -> None:
    made = await filed(package)
    assert await package.refused("mistakes::update", {"id": made["id"], "version": 1}) == "INVALID_PARAMS"


async def test_archiving_waits_for_the_user_and_hides_the_entry(package: PackageHarness) -> None:
    made = await filed(package)
    asked = await package.ask("mistakes::archive", {"id": made["id"]}, run=package.run())
    assert asked.status == "awaiting_confirmation"
    assert await found(package) == [made["id"]]
    await package.ok("mistakes::archive", {"id": made["id"]}, confirmed=True)
    assert await found(package) == []
    assert await found(package, archived=True) == [made["id"]]


async def test_the_model_cannot_remove_but_the_user_can(package: PackageHarness) -> None:
    made = await filed(package)
    asked = await package.ask("mistakes::remove", {"id": made["id"]}, run=package.run())
    assert asked.error is not None
    assert asked.error["code"] == "TOOL_FORBIDDEN"
    removed = await package.ok("mistakes::remove", {"id": made["id"]}, confirmed=True)
    assert removed == {"id": made["id"], "removed": True}
    assert await found(package) == []


@pytest.mark.parametrize("tool", ["update", "archive", "remove"])
async def test_a_foreign_entry_looks_like_none(package: PackageHarness, tool: str) -> None:
    made = await filed(package)
    extra = {"version": 1, "cause": "mine now"} if tool == "update" else {}
    how: dict[str, Any] = {"by": BOB, "confirmed": True}
    foreign = await package.call(f"mistakes::{tool}", {"id": made["id"], **extra}, **how)
    missing = await package.call(f"mistakes::{tool}", {"id": "mis_none", **extra}, **how)
    assert foreign.error == missing.error
    assert (await package.ok("mistakes::search", {}, by=BOB))["entries"] == []
    assert (await package.ok("mistakes::search", {}))["entries"] == [made]


async def test_the_same_key_files_one_entry(package: PackageHarness) -> None:
    made = await same_key_gives_one_effect(package, "mistakes::add", FRACTION)
    assert await found(package) == [made["id"]]


@pytest.mark.parametrize(
    ("tool", "good"),
    [
        ("add", FRACTION),
        ("search", {"query": "x"}),
        ("update", {"id": "mis_1", "version": 1, "cause": "x"}),
        ("archive", {"id": "mis_1"}),
        ("remove", {"id": "mis_1"}),
    ],
)
async def test_bad_arguments_are_refused(package: PackageHarness, tool: str, good: dict[str, Any]) -> None:
    assert await refuses_bad_arguments(package, f"mistakes::{tool}", good) > 3
