"""Token usage of Chat Completions in one convention.

`input` counts cached tokens in, `output` reasoning tokens in. Chunks repeat and correct each other,
so per field the last value counts, never the sum (https://github.com/griptape-ai/griptape/issues/2275).
"""

from __future__ import annotations

from typing import Any

from app.protocol.conversation import UsageReport
from app.providers.wire_text import as_dict


class UsageTally:
    """Takes each usage object of a reply; gives one report."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, int] = {}

    def take(self, usage: dict[str, Any]) -> None:
        prompt = as_dict(usage.get("prompt_tokens_details")) or {}
        completion = as_dict(usage.get("completion_tokens_details")) or {}
        found = {
            "prompt": usage.get("prompt_tokens"),
            "completion": usage.get("completion_tokens"),
            "total": usage.get("total_tokens"),
            "cached": _first(
                prompt.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens")
            ),
            "cache_write": prompt.get("cache_write_tokens"),
            "reasoning": _first(completion.get("reasoning_tokens"), usage.get("reasoning_tokens")),
        }
        for name, value in found.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                self._values[name] = int(value)

    def report(self) -> UsageReport | None:
        if not self._values:
            return None
        value = self._values.get
        prompt, output, reasoning = value("prompt", 0), value("completion", 0), value("reasoning", 0)
        if reasoning and value("total") == prompt + output + reasoning:
            # xAI leaves reasoning out of completion_tokens (inspect_ai#5528).
            output += reasoning
        return UsageReport(
            input=prompt,
            output=output,
            cached=value("cached", 0),
            cache_write=value("cache_write", 0),
            reasoning=reasoning,
        )


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
