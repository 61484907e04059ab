"""Who may call what: the second wall of the caller policy, and everything else that needs no database.

The first wall is the model's tool list. This one does not trust it: a name that a model has from old
history, from a document or by luck meets the same checks (C7, C9, C21).
"""

from __future__ import annotations

from app.catalog.catalog import Catalog, open_to_model, suggestions
from app.catalog.visible import loaded_domains
from app.errors import DeskmateError, ToolForbidden, ToolNotFound, ToolNotLoaded
from app.protocol.definitions import CapabilityDefinition
from app.protocol.ports import Invocation

_QUOTED = 64


def refusal(
    catalog: Catalog, invocation: Invocation, definition: CapabilityDefinition, *, nested: bool
) -> DeskmateError | None:
    """Why this caller may not make this call; None if it may.

    `nested`: a handler makes it within another call, so the model need not have loaded its domain.
    """
    if invocation.initiator == "model":
        return _refuse_model(catalog, invocation, definition, nested) or _refuse_scope(invocation, definition)
    return _refuse_scope(invocation, definition)


def unknown_entry(catalog: Catalog, invocation: Invocation) -> ToolNotFound:
    """Suggests only what this caller may know of."""
    name = invocation.name[:_QUOTED]
    close = suggestions(name, _known_to(catalog, invocation))
    hint = f" Did you mean {', '.join(close)}?" if close else ""
    return ToolNotFound(f"There is no tool of that name.{hint}", details={"suggestions": close})


def _refuse_model(
    catalog: Catalog, invocation: Invocation, definition: CapabilityDefinition, nested: bool
) -> DeskmateError | None:
    if not open_to_model(definition):
        return ToolForbidden(f"Only the user can use {definition.id}. Tell them how, if it helps.")
    run = invocation.run
    if run is None or definition.id not in run.snapshot.tools:
        return unknown_entry(catalog, invocation)
    if not nested and definition.domain not in loaded_domains(run):
        return ToolNotLoaded(
            f'Load the domain first: call catalog_load_domain with name "{definition.domain}", then call this again.'
        )
    return None


def _refuse_scope(invocation: Invocation, definition: CapabilityDefinition) -> DeskmateError | None:
    missing = [scope for scope in definition.scopes if not invocation.principal.allows(scope)]
    if not missing:
        return None
    return ToolForbidden(
        f"{definition.id} needs the scope {' and '.join(missing)}, which was not granted.",
        details={"scopes": missing},
    )


def _known_to(catalog: Catalog, invocation: Invocation) -> list[str]:
    if invocation.initiator == "model":
        names = invocation.run.snapshot.tools if invocation.run else ()
        return [d.wire_name for name in names if (d := catalog.find(name)) is not None]
    allows = invocation.principal.allows
    return [d.id for d in catalog.definitions() if all(map(allows, d.scopes))]
