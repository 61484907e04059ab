"""The OpenAPI description, with what FastAPI cannot see: bodies that we read ourselves."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from app import __version__
from app.api.agent.capabilities import Invoke
from app.api.agent.runs import RunCreate
from app.api.agent.sessions import SessionCreate, SessionUpdate
from app.api.problems import Problem

BODIES = (SessionCreate, SessionUpdate, RunCreate, Invoke)

_DESCRIPTION = """Talk to a Deskmate agent and use its capabilities as its user allows.

Every request carries `Authorization: Bearer …`. Errors are problem details (RFC 9457) with a `code`.
Every POST takes an `Idempotency-Key`: the same key and body give the first answer again."""


def describe_with(app: FastAPI, *, base_url: str, title: str = "Deskmate Agent API") -> None:
    """Replaces the app's OpenAPI by one whose references all resolve; built once, on first use."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=title,
                version=__version__,
                description=_DESCRIPTION,
                routes=app.routes,
                servers=[{"url": base_url}],
            )
            _, extra = models_json_schema(
                [(model, "validation") for model in (*BODIES, Problem)],
                ref_template="#/components/schemas/{model}",
            )
            components: dict[str, Any] = document.setdefault("components", {})
            schemas: dict[str, Any] = components.setdefault("schemas", {})
            schemas.update(extra["$defs"])
            _drop_unused(document, schemas)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = build  # the way FastAPI documents it


def _drop_unused(document: dict[str, Any], schemas: dict[str, Any]) -> None:
    """FastAPI adds its own shape of a 422 to every route; ours is a Problem like all others."""
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for path in document["paths"].values():
        for operation in path.values():
            invalid = operation.get("responses", {}).get("422", {})
            if "HTTPValidationError" in str(invalid):
                del operation["responses"]["422"]


def main() -> None:
    """`python -m app.api.openapi browser|events`: what the web page's types are made from."""
    import sys

    import orjson
    from pydantic import TypeAdapter

    from app.api.bff.browser import create_browser_app
    from app.protocol.events import Event

    documents: dict[str, Any] = {
        "browser": lambda: create_browser_app(base_url="http://127.0.0.1:8000").openapi(),
        "events": lambda: TypeAdapter(Event).json_schema(),
    }
    if sys.argv[1:] not in ([name] for name in documents):
        raise SystemExit("usage: python -m app.api.openapi browser|events")
    print(orjson.dumps(documents[sys.argv[1]](), option=orjson.OPT_INDENT_2).decode())


if __name__ == "__main__":
    main()
