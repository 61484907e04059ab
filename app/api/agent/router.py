"""All routes of the Agent API."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.agent import audit, capabilities, confirmations, files, items, me, runs, sessions

PREFIX = "/api/v1"
UPLOAD_PATHS = frozenset({f"{PREFIX}/files"})

SHARED = (sessions, items, runs, capabilities, files, audit)
"""What the browser has too, under its own door."""

router = APIRouter(prefix=PREFIX)
for noun in (me, confirmations, *SHARED):
    router.include_router(noun.router)
