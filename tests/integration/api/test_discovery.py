from __future__ import annotations

import hashlib
import json

import jsonschema
from openapi_spec_validator import validate

from tests.integration.api.conftest import Api

BASE = "https://deskmate.example.org"
CAPABILITY = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "id", "version", "title", "description", "inputSchema", "outputSchema", "auth", "effect", "destructive",
        "idempotent", "openWorld", "confirmation", "execution", "availability",
    ],
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9_]*::[a-z][a-z0-9_]*$", "maxLength": 64},
        "version": {"type": "integer", "minimum": 1},
        "title": {"type": "string", "maxLength": 80},
        "description": {"type": "string", "maxLength": 1024},
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"},
        "auth": {
            "type": "object",
            "required": ["principal", "scopes"],
            "properties": {"principal": {"const": "user"}, "scopes": {"type": "array", "items": {"type": "string"}}},
        },
        "effect": {"enum": ["read", "create", "update", "delete", "external"]},
        "destructive": {"type": "boolean"},
        "idempotent": {"type": "boolean"},
        "openWorld": {"type": "boolean"},
        "confirmation": {"enum": ["none", "user"]},
        "execution": {"enum": ["sync", "run"]},
        "availability": {"enum": ["api", "web_only"]},
    },
}  # fmt: skip
MANIFEST = {
    "type": "object",
    "additionalProperties": False,
    "required": ["manifestVersion", "catalogDigest", "service", "auth", "endpoints", "capabilities"],
    "properties": {
        "manifestVersion": {"const": "1.0"},
        "catalogDigest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
        "service": {"type": "object", "required": ["name", "title", "version", "baseUrl"]},
        "auth": {"type": "object", "required": ["scopes"]},
        "endpoints": {"type": "object", "required": ["openapi", "invoke", "docs"]},
        "capabilities": {"type": "array", "items": CAPABILITY},
    },
}


async def test_the_manifest_is_what_it_says(api: Api) -> None:
    answer = await api.http.get("/api/v1/manifest.json")
    manifest = answer.json()
    jsonschema.validate(manifest, MANIFEST)
    ids = [entry["id"] for entry in manifest["capabilities"]]
    assert ids == sorted(set(ids))
    for entry in manifest["capabilities"]:
        jsonschema.Draft202012Validator.check_schema(entry["inputSchema"])
        assert (entry["confirmation"] == "user") == entry["destructive"]
        assert set(entry["auth"]["scopes"]) <= set(manifest["auth"]["scopes"])
    canonical = json.dumps(
        manifest["capabilities"], sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
    assert manifest["catalogDigest"] == f"sha256:{hashlib.sha256(canonical).hexdigest()}"


async def test_the_manifest_is_the_same_for_everybody_and_can_be_kept(api: Api) -> None:
    me = await api.someone()
    anonymous = await api.http.get("/api/v1/manifest.json")
    known = await api.http.get("/api/v1/manifest.json", headers=me.headers)
    assert anonymous.content == known.content
    assert anonymous.headers["cache-control"] == "public, max-age=300"
    assert anonymous.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in anonymous.headers
    tag = anonymous.headers["etag"]
    assert tag.startswith('"')
    for header in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        kept = await api.http.get("/api/v1/manifest.json", headers={"If-None-Match": header})
        assert (kept.status_code, kept.content, kept.headers["etag"]) == (304, b"", tag)
    other = await api.http.get("/api/v1/manifest.json", headers={"If-None-Match": '"other"'})
    assert other.status_code == 200
    head = await api.http.head("/api/v1/manifest.json")
    assert (head.status_code, head.headers["etag"]) == (200, tag)


async def test_the_way_in_leads_to_everything(api: Api) -> None:
    answer = await api.http.get("/.well-known/api-catalog")
    assert answer.headers["content-type"].startswith("application/linkset+json")
    links = answer.json()["linkset"][0]
    for relation in ("service-desc", "service-meta", "service-doc"):
        href = links[relation][0]["href"]
        assert href.startswith(BASE)
        assert (await api.http.get(href.removeprefix(BASE))).status_code == 200
    assert (await api.http.head("/.well-known/api-catalog")).status_code == 200


async def test_health_is_bare_and_readiness_asks_the_database(api: Api) -> None:
    assert (await api.http.get("/healthz")).json() == {"status": "ok"}
    assert (await api.http.get("/readyz")).json() == {"status": "ready"}


async def test_the_front_page_says_how_to_begin(api: Api) -> None:
    answer = await api.http.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert f"DESKMATE_BASE_URL={BASE}" in answer.text


async def test_the_openapi_description_is_valid_and_complete(api: Api) -> None:
    document = (await api.http.get("/api/v1/openapi.json")).json()
    validate(document)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path == "/api/v1/manifest.json":
                continue
            assert operation["security"], path
            assert "401" in operation["responses"], path
            assert operation["summary"], path
