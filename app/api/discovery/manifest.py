"""The public manifest (W4): what the service can do, the same for everybody, and granting nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response

from app import __version__
from app.api.dependencies import host_of
from app.api.discovery.describe import describe
from app.protocol.definitions import CapabilityDefinition
from app.protocol.digests import digest
from app.protocol.identity import CORE_SCOPES

router = APIRouter(tags=["discovery"])

_SCOPE_WORDS = {
    "sessions:read": "Read your conversations.",
    "sessions:write": "Make, rename, archive and delete your conversations.",
    "runs:read": "Follow what the agent does in your conversations, and your audit trail.",
    "runs:write": "Talk to the agent, and cancel what it does.",
    "files:read": "Read your files.",
    "files:write": "Upload files.",
    "jobs:read": "See your long-running work.",
    "memory:global": "Let an app share what the agent remembers about you.",
}
assert tuple(_SCOPE_WORDS) == CORE_SCOPES, "each core scope needs its words"


@dataclass(frozen=True, slots=True)
class Manifest:
    body: bytes
    etag: str


def build_manifest(definitions: Sequence[CapabilityDefinition], *, base_url: str) -> Manifest:
    """Deterministic: the same packages give the same bytes in every process.

    Addresses of things that are not served are left out, and so is everything about a tenant.
    """
    capabilities = sorted((describe(definition) for definition in definitions), key=lambda entry: entry["id"])
    catalog_digest = f"sha256:{digest(_plain_numbers(capabilities))}"
    scopes = dict(_SCOPE_WORDS)
    for scope in sorted({scope for entry in capabilities for scope in entry["auth"]["scopes"]}):
        namespace, _, verb = scope.partition(":")
        scopes.setdefault(
            scope, f"{'Read' if verb == 'read' else 'Use and change'} what belongs to {namespace}."
        )
    document: dict[str, Any] = {
        "manifestVersion": "1.0",
        "catalogDigest": catalog_digest,
        "service": {
            "name": "deskmate",
            "title": "Deskmate",
            "version": __version__,
            "baseUrl": base_url,
        },
        "auth": {"scopes": scopes},
        "endpoints": {
            "openapi": f"{base_url}/api/v1/openapi.json",
            "invoke": f"{base_url}/api/v1/capabilities/{{id}}/invoke",
            "docs": f"{base_url}/",
        },
        "capabilities": capabilities,
    }
    body = orjson.dumps(document)
    return Manifest(body, f'"{digest(document)}"')


def _plain_numbers(value: Any) -> Any:
    """RFC 8785 writes 1.0 as 1, so that anybody can check the digest from the JSON alone."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {key: _plain_numbers(child) for key, child in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain_numbers(child) for child in cast("Sequence[Any]", value)]
    return value


class ManifestCache:
    """Builds the manifest again only when the catalog's definitions are others."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._made_of: tuple[CapabilityDefinition, ...] = ()
        self._manifest: Manifest | None = None

    def of(self, definitions: Sequence[CapabilityDefinition]) -> Manifest:
        now = tuple(definitions)
        if self._manifest is None or now != self._made_of:
            self._manifest = build_manifest(now, base_url=self._base_url)
            self._made_of = now
        return self._manifest


@router.head("/api/v1/manifest.json", include_in_schema=False)
@router.get(
    "/api/v1/manifest.json",
    responses={
        200: {
            "description": "The manifest.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        },
        304: {"description": "You have it already."},
    },
    response_class=Response,
    operation_id="read_manifest",
)
async def read_manifest(request: Request) -> Response:
    """All capabilities with schemas, scopes and effects. No token needed, and none changes it."""
    cache: ManifestCache = request.app.state.manifest
    manifest = cache.of(host_of(request).catalog.definitions())
    headers = {
        "ETag": manifest.etag,
        "Cache-Control": "public, max-age=300",
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    if matches(request.headers.get("if-none-match"), manifest.etag):
        return Response(status_code=304, headers=headers)
    return Response(manifest.body, headers=headers, media_type="application/json")


def matches(if_none_match: str | None, etag: str) -> bool:
    """RFC 9110 section 13.1.2: weak comparison, a list, or `*`."""
    if if_none_match is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return "*" in tags or etag in tags
