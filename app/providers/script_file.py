"""The script of a `kind = "scripted"` provider as a JSON file, for tests of whole processes.

```json
{"by": "run",
 "rules": [{"when": "text in the user's message", "steps": [[…], […]]}],
 "steps": [[{"text": "Hi"}, {"pause": 0.1}, {"call": {"name": "demo_hello", "arguments": {}}}],
           [{"say": "word by word", "every": 0.05}, {"usage": {"input": 3, "output": 5}}]]}
```

`by`: "run" (default) takes the step by its number within the turn, so that many runs can share one
script; "order" plays `steps` one after another over all calls, retries included. Items: `text`,
`reasoning`, `say` + `every`, `pause` (seconds, null = for ever), `call` {name, arguments, id} or
{name, raw, id}, `usage`, `fail` {kind, message, retryable, retry_after_s}, `done`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import orjson

from app.errors import ProviderError, ProviderFaultKind, SettingsInvalid
from app.protocol.conversation import (
    Done,
    Failed,
    ModelRequest,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallReady,
    UsageReport,
)
from app.providers.faults import fault
from app.providers.scripted import Pause, Script, ScriptItem, Step, call, last_user_text, say, step_of_run
from app.providers.tool_calls import parse_arguments
from app.providers.wire_text import as_dict, as_list, as_text


def load_script(path: Path) -> Script:
    """Raises SettingsInvalid, naming file and item."""
    try:
        data: Any = orjson.loads(path.read_bytes())
    except OSError as error:
        raise SettingsInvalid(f"{path}: the script cannot be read ({error.strerror}).") from None
    except ValueError as error:
        raise SettingsInvalid(f"{path}: the script is not JSON ({error}).") from None
    content = as_dict(data)
    if content is None or not set(content) <= {"by", "rules", "steps"}:
        raise SettingsInvalid(f"{path}: the script is an object with by, rules and steps.")
    try:
        steps = _steps(content.get("steps"))
        rules = [
            (as_text(rule.get("when")), _steps(rule.get("steps")))
            for rule in map(_table, as_list(content.get("rules")))
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise SettingsInvalid(f"{path}: {error}") from None
    if content.get("by", "run") == "order":
        return steps
    return _by_run(rules, steps)


def _by_run(rules: Sequence[tuple[str, list[Step]]], steps: list[Step]) -> Callable[[ModelRequest], Step]:
    def choose(request: ModelRequest) -> Step:
        text = last_user_text(request)
        chosen = next((found for when, found in rules if when in text), steps)
        number = step_of_run(request)
        if number < len(chosen):
            return chosen[number]
        return [Failed(fault("invalid_request", "The script has no more steps."))]

    return choose


def _steps(value: Any) -> list[Step]:
    return [[item for entry in as_list(step) for item in _items(_table(entry))] for step in as_list(value)]


def _items(entry: dict[str, Any]) -> list[ScriptItem]:
    match entry:
        case {"say": str(text), **rest}:
            return say(text, every_s=float(rest.get("every", 0.0)))
        case {"text": str(text)}:
            return [TextDelta(text)]
        case {"reasoning": str(text)}:
            return [ReasoningDelta(text)]
        case {"pause": seconds}:
            return [Pause(None if seconds is None else float(seconds))]
        case {"call": _}:
            return [_call(_table(entry["call"]))]
        case {"usage": _}:
            return [UsageReport(**_table(entry["usage"]))]
        case {"fail": _}:
            return [Failed(_error(_table(entry["fail"])))]
        case {"done": stop} if stop in get_args(StopReason):
            return [Done(stop)]
        case _:
            raise ValueError(f"unknown item {entry!r}.")


def _call(given: dict[str, Any]) -> ToolCallReady:
    wire_id = given.get("id")
    raw = given.get("raw")
    if raw is None:
        return call(given["name"], given.get("arguments"), wire_id=wire_id)
    return ToolCallReady(0, given["name"], parse_arguments(raw)[0], raw, wire_id)


def _error(given: dict[str, Any]) -> ProviderError:
    kind = given.get("kind", "server")
    if kind not in get_args(ProviderFaultKind):
        raise ValueError(f"unknown kind {kind!r} of fail.")
    error = fault(kind, given.get("message", "Scripted failure."), retryable=given.get("retryable"))
    error.retry_after_s = given.get("retry_after_s")
    return error


def _table(value: Any) -> dict[str, Any]:
    table = as_dict(value)
    if table is None:
        raise ValueError(f"{value!r} should be an object.")
    return table
