"""From a package's contract to the one definition that everything else is made of (C18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from app.catalog.manifest import Manifest
from app.protocol.definitions import CapabilityDefinition, DomainDefinition
from app.sdk import Command, Contract, Tool


class _PlainSchema(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes from field names: they cost tokens and say nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def generate(
        self, schema: Any, mode: Literal["validation", "serialization"] = "validation"
    ) -> dict[str, Any]:
        made = super().generate(schema, mode)
        for part in [made, *cast("dict[str, dict[str, Any]]", made.get("$defs", {})).values()]:
            part.pop("title", None)
            if part is made:
                part.pop("description", None)  # the model's docstring; the entry has its own
        return made


def schema_of(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """JSON Schema 2020-12 of a parameter or result model."""
    return model.model_json_schema(mode=mode, schema_generator=_PlainSchema)


def define_entry(manifest: Manifest, entry: Tool | Command) -> CapabilityDefinition:
    is_tool = isinstance(entry, Tool)
    verb = "read" if entry.effect == "read" else "write"
    return CapabilityDefinition(
        id=f"{manifest.namespace}::{entry.name}",
        wire_name=f"{manifest.namespace}_{entry.name}",
        kind="tool" if is_tool else "command",
        package=manifest.id,
        package_version=manifest.version,
        domain=entry.domain if is_tool else "",
        version=entry.version,
        title=entry.title,
        description=entry.description,
        input_schema=schema_of(entry.params, "validation"),
        output_schema=schema_of(entry.result, "serialization"),
        scopes=(f"{manifest.namespace}:{verb}",) if entry.scopes is None else entry.scopes,
        effect=entry.effect,
        destructive=entry.destructive,
        idempotent=entry.idempotent,
        open_world=entry.open_world if is_tool else False,
        policy=entry.policy if is_tool else "user_only",
        user_visible=entry.user_visible,
        icon=entry.icon,
        group=entry.group,
        timeout=entry.timeout,
    )


def define_domains(
    manifest: Manifest, contract: Contract, definitions: Sequence[CapabilityDefinition]
) -> tuple[DomainDefinition, ...]:
    return tuple(
        DomainDefinition(
            name=domain.name,
            package=manifest.id,
            title=domain.title,
            description=domain.description,
            tools=tuple(d.id for d in definitions if d.domain == domain.name),
        )
        for domain in contract.domains
    )


SCHEMA_DEPTH_LIMIT = 10


def schema_problems(schema: Mapping[str, Any]) -> list[str]:
    """What keeps a schema from being shown to every client: root, unknown fields, depth, references."""
    problems: list[str] = []
    if schema.get("type") != "object":
        problems.append("its root is not an object")
    elif schema.get("additionalProperties") is not False:
        problems.append("it lets unknown fields through")
    problems += _walk(schema, schema, 1, frozenset())
    return list(dict.fromkeys(problems))


def _walk(node: Any, root: Mapping[str, Any], depth: int, through: frozenset[str]) -> list[str]:
    """`depth` counts nested values, not JSON Schema keywords; a `$ref` is followed in place."""
    if depth > SCHEMA_DEPTH_LIMIT:
        return [f"it is nested deeper than {SCHEMA_DEPTH_LIMIT} levels"]
    if not isinstance(node, Mapping):
        return []
    schema = cast("Mapping[str, Any]", node)
    problems: list[str] = []
    ref = schema.get("$ref")
    if isinstance(ref, str):
        if not ref.startswith("#/$defs/"):
            return [f"it refers to `{ref}`, outside itself"]
        if ref in through:
            return ["it contains itself, so its depth has no limit"]
        problems += _walk(
            root.get("$defs", {}).get(ref.removeprefix("#/$defs/")), root, depth, through | {ref}
        )
    if "properties" in schema and schema.get("additionalProperties") is not False and depth > 1:
        problems.append("a nested object lets unknown fields through")
    for child in cast("Mapping[str, Any]", schema.get("properties", {})).values():
        problems += _walk(child, root, depth + 1, through)
    for key in ("items", "additionalProperties"):
        problems += _walk(schema.get(key), root, depth + 1, through)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for child in cast("Sequence[Any]", schema.get(key, ())):
            problems += _walk(child, root, depth, through)
    return problems
