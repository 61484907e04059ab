"""Ties handlers to declared entries, on first use or at start (C2), with declared services only (C5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.catalog.faults import Fault, refuse
from app.catalog.loading import is_loaded, load_part
from app.catalog.package import Package
from app.sdk import Command, Tool
from app.sdk.handles import Handler


class DeclaredServices:
    """The `services` that `register` gets: handles named in `requires`; any other name raises."""

    def __init__(self, package: str, handles: Mapping[str, object]) -> None:
        self._package = package
        self._handles = dict(handles)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._handles[name]
        except KeyError:
            raise AttributeError(
                f'package {self._package} has no service `{name}`: add "{name}" to requires in manifest.toml'
            ) from None


class Binder:
    """The `bind` that `register` gets. Collects handlers; refuses names that are not declared."""

    def __init__(self, package: Package) -> None:
        self._namespace = package.manifest.namespace
        self._entries = package.entries
        self._events = {event.name for event in package.contract.events}
        self.handlers: dict[str, Handler] = {}
        self.events: dict[str, Handler] = {}

    def tool(self, name: str) -> Callable[[Handler], Handler]:
        return self._entry(name, Tool)

    def command(self, name: str) -> Callable[[Handler], Handler]:
        return self._entry(name, Command)

    def event(self, name: str) -> Callable[[Handler], Handler]:
        if name not in self._events:
            raise LookupError(f"event `{name}` is bound but not declared in contract.py")
        return self._put(self.events, name)

    def _entry(self, name: str, kind: type[Tool | Command]) -> Callable[[Handler], Handler]:
        full = f"{self._namespace}::{name}"
        if not isinstance(self._entries.get(full), kind):
            raise LookupError(f"{kind.__name__.lower()} `{name}` is bound but not declared in contract.py")
        return self._put(self.handlers, full)

    def _put(self, table: dict[str, Handler], name: str) -> Callable[[Handler], Handler]:
        def keep(handler: Handler) -> Handler:
            if name in table:
                raise LookupError(f"`{name}` is bound twice")
            table[name] = handler
            return handler

        return keep


class PackageBinding:
    """The handlers of one package instance."""

    def __init__(self, package: Package, services: Mapping[str, object]) -> None:
        self.package = package
        self._services = services
        self._bound: Binder | None = None

    def handler(self, entry: str) -> Handler:
        """The handler of a canonical id. Imports `handlers.py` on the first call.

        Raises:
            CapabilityInvalid: it cannot be imported or bound; the fault names the mend.
        """
        return self.bound().handlers[entry]

    def event_handlers(self) -> Mapping[str, Handler]:
        return self.bound().events

    def bound(self) -> Binder:
        if self._bound is None:
            made = self.bind()
            if isinstance(made, Fault):
                raise refuse([made])
            self._bound = made
        return self._bound

    @property
    def loaded(self) -> bool:
        return is_loaded(self.package.space, "handlers")

    def bind(self) -> Binder | Fault:
        """Runs the package's `register`; gives what it bound, or what is wrong with it."""
        package = self.package
        binder = Binder(package)
        try:
            register = load_part(package.space, "handlers").register
            handles = {
                name: self._services[name] for name in package.manifest.requires if name in self._services
            }
            register(binder, DeclaredServices(package.id, handles))
        except Exception as error:  # noqa: BLE001 - a package's own code may raise anything at all
            message = f"handlers.py cannot be bound ({type(error).__name__}: {error})."
            return Fault(package.id, "handlers-bind", message, "Correct handlers.py or the contract.")
        unbound = sorted(package.entries.keys() - binder.handlers.keys())
        if unbound:
            message = f"no handler is bound for {', '.join(unbound)}."
            return Fault(package.id, "handlers-unbound", message, "Bind each in register().")
        return binder
