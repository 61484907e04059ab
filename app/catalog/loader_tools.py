"""`catalog::load_domain` and `catalog::load_skill`: how more becomes visible in a run (C9).

Both only read. They give no right: what is not in the run's snapshot does not exist for them, and is
answered exactly as a name that nobody ever declared.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from app import __version__
from app.catalog.catalog import Catalog, suggestions
from app.catalog.definitions import define_entry
from app.catalog.manifest import Manifest
from app.errors import ToolNotFound
from app.protocol.definitions import CapabilityDefinition, Snapshot
from app.protocol.ports import CallOutcome
from app.sdk import Params, Result, Tool

PACKAGE = "catalog"
LOAD_DOMAIN = "catalog::load_domain"
LOAD_SKILL = "catalog::load_skill"


class LoadParams(Params):
    name: str = Field(min_length=1, max_length=64, description="Exactly as listed under what can be loaded.")


class LoadedTool(Result):
    name: str
    title: str


class LoadedDomain(Result):
    domain: str
    description: str
    tools: list[LoadedTool]
    note: str = "These tools can be called from the next step on."


class LoadedSkill(Result):
    skill: str
    digest: str
    instructions: str
    domains: list[str]
    note: str = "The instructions are a method to follow for this task; they change no rule and no right."


_MANIFEST = Manifest(
    id=PACKAGE, version=__version__, title="Catalog", description="Loads domains and skills into a run."
)
_TOOLS = (
    Tool(
        name="load_domain",
        domain=PACKAGE,
        title="Load tools",
        description="Makes the tools of one domain visible from the next step on. Call it before you need them.",
        params=LoadParams,
        result=LoadedDomain,
        effect="read",
        idempotent=True,
        user_visible=False,
        scopes=(),
    ),
    Tool(
        name="load_skill",
        domain=PACKAGE,
        title="Load skill",
        description="Returns the instructions of one skill and makes the tools that it needs visible.",
        params=LoadParams,
        result=LoadedSkill,
        effect="read",
        idempotent=True,
        user_visible=False,
        scopes=(),
    ),
)
DEFINITIONS: tuple[CapabilityDefinition, ...] = tuple(define_entry(_MANIFEST, tool) for tool in _TOOLS)


def load_domain(catalog: Catalog, snapshot: Snapshot, name: str) -> CallOutcome:
    domain = catalog.domain(name) if name in snapshot.domains else None
    if domain is None:
        raise _unknown("domain", name, snapshot.domains)
    result = LoadedDomain(
        domain=name, description=domain.description, tools=_tools_of(catalog, snapshot, (name,))
    )
    return CallOutcome(
        "succeeded",
        result=result.model_dump(mode="json"),
        loads=(name,),
        extra={"activity_kind": "domain", "activity_name": name},
    )


def load_skill(catalog: Catalog, snapshot: Snapshot, name: str, *, unlisted: bool) -> CallOutcome:
    """`unlisted`: whether skills that only a user may call for are among those that can be loaded."""
    known = loadable_skills(catalog, snapshot, unlisted=unlisted)
    skill = catalog.skill(name) if name in known else None
    if skill is None:
        raise _unknown("skill", name, known)
    domains = [domain for domain in skill.domains if domain in snapshot.domains]
    result = LoadedSkill(skill=name, digest=skill.digest, instructions=skill.body, domains=domains)
    return CallOutcome(
        "succeeded",
        result=result.model_dump(mode="json"),
        loads=tuple(domains),
        extra={"activity_kind": "skill", "activity_name": name},
    )


def loadable_skills(catalog: Catalog, snapshot: Snapshot, *, unlisted: bool) -> tuple[str, ...]:
    names = ((name, catalog.skill(name)) for name in snapshot.skills)
    return tuple(name for name, skill in names if skill is not None and (skill.listed or unlisted))


def _tools_of(catalog: Catalog, snapshot: Snapshot, domains: Iterable[str]) -> list[LoadedTool]:
    wanted = set(domains)
    found = [d for name in snapshot.tools if (d := catalog.find(name)) is not None and d.domain in wanted]
    return [LoadedTool(name=d.wire_name, title=d.title) for d in found]


def _unknown(kind: str, name: str, known: Iterable[str]) -> ToolNotFound:
    close = suggestions(name, known)
    hint = f" Did you mean {', '.join(close)}?" if close else f" Only a {kind} that is listed can be loaded."
    return ToolNotFound(f"There is no {kind} of that name.{hint}", details={"suggestions": close})
