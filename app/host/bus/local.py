"""The bus of one process: who subscribed is called at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from app.protocol.ports import Topic, WakeUp

_log = structlog.get_logger(__name__)


class LocalBus:
    """Implements `protocol.ports.Bus` for callbacks of this process."""

    def __init__(self) -> None:
        self._callbacks: defaultdict[str, list[WakeUp]] = defaultdict(list)

    def publish(self, topic: Topic, facts: Mapping[str, Any]) -> None:
        self.deliver(topic, facts)

    def deliver(self, topic: str, facts: Mapping[str, Any]) -> None:
        """Calls who listens here. One that fails is logged and does not keep it from the others."""
        for callback in tuple(self._callbacks.get(topic, ())):
            try:
                callback(facts)
            except Exception:  # noqa: BLE001 - the publisher has committed and cannot mend it; the log has it
                _log.exception("wake_up_failed", topic=topic)

    def subscribe(self, topic: Topic, callback: WakeUp) -> Callable[[], None]:
        self._callbacks[topic].append(callback)

        def unsubscribe() -> None:
            if callback in self._callbacks[topic]:
                self._callbacks[topic].remove(callback)

        return unsubscribe

    async def aclose(self) -> None:
        """Nothing is open."""
