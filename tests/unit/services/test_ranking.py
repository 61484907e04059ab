"""Which facts a query finds, in any script."""

from __future__ import annotations

from app.services.ranking import document_tokens, query_tokens, ranked

FACTS = [
    "Prefers short answers in German",
    "我在准备高等数学考试",
    "喜欢喝绿茶，不喜欢咖啡",
    "Likes green tea and long walks along the river near the old town",
    "Drinks green tea",
    "猫叫小花",
    "Straße 5, München",
    "カタカナが苦手です",
]


def find(query: str, limit: int = 10) -> list[str]:
    return ranked(query, FACTS, str, limit=limit)


def test_words_are_found_whatever_their_case_and_form() -> None:
    assert find("GREEN TEA")[0] == "Drinks green tea"
    assert find("STRASSE") == ["Straße 5, München"]
    assert find("ｇｒｅｅｎ") == ["Drinks green tea", FACTS[3]]


def test_chinese_is_found_by_pairs_of_characters() -> None:
    assert find("数学什么时候考试") == ["我在准备高等数学考试"]
    assert find("绿茶") == ["喜欢喝绿茶，不喜欢咖啡"]
    assert find("カタカナ") == ["カタカナが苦手です"]


def test_one_character_is_enough_but_shared_characters_are_no_match() -> None:
    assert find("猫") == ["猫叫小花"]
    assert find("学高") == []


def test_nothing_in_common_finds_nothing_and_no_query_the_first() -> None:
    assert find("quantum") == []
    assert find("", limit=2) == FACTS[:2]
    assert find("?! —", limit=1) == FACTS[:1]


def test_scripts_may_be_mixed() -> None:
    assert query_tokens("用Python3学线代") == {"用", "python3", "学线", "线代"}
    assert document_tokens("线代") == {"线", "代", "线代"}
