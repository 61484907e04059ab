"""What the model is shown: tool specs, and the list of what it may load (C7, C9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.catalog import loader_tools
from app.catalog.catalog import Catalog
from app.protocol.conversation import ToolSpec
from app.protocol.definitions import CapabilityDefinition, Snapshot
from app.protocol.ports import RunScope

_KEPT_TEXTS = 256


class Visible:
    """Specs are made once; a step only picks. The order is fixed, so that provider caches hit (L5)."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._loaders = tuple(_spec(d) for d in loader_tools.DEFINITIONS)
        self._specs: Mapping[str, tuple[str, ToolSpec]] = {
            d.id: (d.domain, _spec(d)) for d in catalog.definitions()
        }
        self._texts: dict[str, str] = {}

    def tools(self, run: RunScope) -> Sequence[ToolSpec]:
        loaded = loaded_domains(run)
        found = (self._specs[name] for name in run.snapshot.tools if name in self._specs)
        return (*self._loaders, *(spec for domain, spec in found if domain in loaded))

    def text(self, snapshot: Snapshot) -> str:
        """One line for each domain and listed skill of the snapshot; the same text for a whole run."""
        text = self._texts.get(snapshot.digest)
        if text is None:
            if len(self._texts) >= _KEPT_TEXTS:
                self._texts.clear()
            text = self._texts[snapshot.digest] = self._write(snapshot)
        return text

    def _write(self, snapshot: Snapshot) -> str:
        lines: list[str] = []
        domains = [d for name in snapshot.domains if (d := self._catalog.domain(name)) is not None]
        if domains:
            lines.append("Domains, loaded with catalog_load_domain:")
            lines += [f"- {domain.name}: {domain.description}" for domain in domains]
        names = loader_tools.loadable_skills(self._catalog, snapshot, unlisted=False)
        skills = [s for name in names if (s := self._catalog.skill(name)) is not None]
        if skills:
            lines.append("Skills, loaded with catalog_load_skill:")
            lines += [f"- {skill.name}: {' '.join(skill.description.split())}" for skill in skills]
        return "\n".join(lines)


def loaded_domains(run: RunScope) -> set[str]:
    """Loaded so far or by the profile, and in this run's snapshot: old history gives no right."""
    return (run.loaded | set(run.snapshot.preloaded)).intersection(run.snapshot.domains)


def _spec(definition: CapabilityDefinition) -> ToolSpec:
    return ToolSpec(
        wire_name=definition.wire_name,
        description=definition.description,
        parameters=definition.input_schema,
    )
