"""Ranks short texts against a query by the tokens they share, in any script.

Words are tokens where a script has spaces. Chinese, Japanese, Korean and Thai are cut into pairs of
characters, which finds words without a dictionary; a query of one character matches that character.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

# Thai; Hangul Jamo; kana; CJK with extension A; Hangul; compatibility; the supplementary ideographs
_UNSPACED = "\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUNS = re.compile(f"([{_UNSPACED}]+)|([^\\W_{_UNSPACED}]+)")


def document_tokens(text: str) -> set[str]:
    return set(_tokens(text, single=True))


def query_tokens(text: str) -> set[str]:
    return set(_tokens(text, single=False))


def _tokens(text: str, *, single: bool) -> Iterable[str]:
    for match in _RUNS.finditer(unicodedata.normalize("NFKC", text).casefold()):
        unspaced, word = match.groups()
        if word:
            yield word
            continue
        if single or len(unspaced) == 1:
            yield from unspaced
        yield from (unspaced[i : i + 2] for i in range(len(unspaced) - 1))


def ranked(query: str, candidates: Sequence[T], text_of: Callable[[T], str], *, limit: int) -> list[T]:
    """The candidates that share a token with the query, best first; equals keep their order.

    A token counts more the fewer candidates have it, and a short text more than a long one that shares
    as much.
    """
    wanted = query_tokens(query)
    if not wanted:
        return list(candidates[:limit])
    shared = [(document_tokens(text_of(candidate)), candidate) for candidate in candidates]
    spread = Counter(token for tokens, _ in shared for token in tokens & wanted)
    scored: list[tuple[float, int, T]] = []
    for place, (tokens, candidate) in enumerate(shared):
        score = sum(math.log(1 + len(shared) / spread[token]) for token in tokens & wanted)
        if score:
            scored.append((-score / math.sqrt(1 + math.log(1 + len(tokens))), place, candidate))
    scored.sort(key=lambda entry: entry[:2])
    return [candidate for _, _, candidate in scored[:limit]]
