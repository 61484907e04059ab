"""What was said and done in a conversation: the record in pages, hints of news, the whole as a file."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.api.answers import problems, reply
from app.api.dependencies import host_of, needs
from app.api.ndjson import NdjsonResponse
from app.protocol.identity import Principal

router = APIRouter(prefix="/sessions/{session_id}", tags=["items"])


class Item(BaseModel):
    """A `tool` item has `call`, every other one `parts`."""

    id: str
    run_id: str
    type: Literal["user", "assistant", "tool", "note"]
    status: Literal["completed", "incomplete", "failed", "cancelled"]
    at: datetime
    parts: list[dict[str, Any]] | None = None
    call: dict[str, Any] | None = Field(
        default=None, description="id, name, arguments, result, error, duration_ms."
    )
    facts: dict[str, Any] | None = Field(
        default=None, description="Of a note: what it is about, such as source and source_id of an ended job."
    )


class LiveRun(BaseModel):
    run_id: str
    after: int = Field(description="The last seq that the items already cover: follow from there.")


class ItemPage(BaseModel):
    items: list[Item] = Field(description="Oldest first.")
    next_before: str | None = Field(description="`before` of the page with older items.")
    live_run: LiveRun | None


def _lines(description: str) -> dict[int | str, dict[str, Any]]:
    return {
        200: {
            "description": description,
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        }
    }


@router.get("/items", response_model=ItemPage, responses=problems(400, 401, 403, 404, 405, 422))
async def list_items(
    request: Request,
    session_id: str,
    caller: Annotated[Principal, needs("sessions:read")],
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=500)] = None,
) -> Response:
    """The newest items, or those before `before`. Text that is still being written is no item yet."""
    return reply(await host_of(request).projections.items(caller, session_id, limit=limit, before=before))


@router.get(
    "/feed",
    responses={**problems(401, 403, 404, 405), **_lines("One hint a line that something new is there.")},
    status_code=200,
    response_class=NdjsonResponse,
)
async def follow_session(
    request: Request, session_id: str, caller: Annotated[Principal, needs("sessions:read")]
) -> Response:
    """Hints that a run, job or confirmation of this session has news; it stays open."""
    return NdjsonResponse(await host_of(request).feed.open(caller, session_id))


@router.get(
    "/export",
    responses={**problems(401, 403, 404, 405), **_lines("The session, then every item, one a line.")},
    status_code=200,
    response_class=NdjsonResponse,
)
async def export_session(
    request: Request, session_id: str, caller: Annotated[Principal, needs("sessions:read")]
) -> Response:
    """The whole conversation as JSON lines."""
    chunks = await host_of(request).projections.export(caller, session_id)
    return NdjsonResponse(
        chunks, {"Content-Disposition": f'attachment; filename="{_file_name(session_id)}.jsonl"'}
    )


def _file_name(session_id: str) -> str:
    """The id was found, so it is ours; this keeps it so if ids ever change."""
    return "".join(character for character in session_id if character.isalnum() or character == "_")
