"""Uploaded files: put one in, get it back."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.api.answers import problems, reply_with
from app.api.dependencies import host_of, needs
from app.errors import InvalidParams, MalformedRequest, UnsupportedMediaType
from app.host.idempotency import Answer
from app.protocol.digests import digest
from app.protocol.identity import Principal

router = APIRouter(prefix="/files", tags=["files"])

_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "required": ["file"],
                    "additionalProperties": False,
                }
            }
        },
    }
}


class StoredFile(BaseModel):
    id: str
    name: str
    media_type: str
    size_bytes: int
    created_at: datetime


@router.post(
    "",
    status_code=201,
    response_model=StoredFile,
    responses=problems(400, 401, 403, 405, 409, 413, 415, 422, 429),
    openapi_extra=_FORM,
)
async def upload_file(
    request: Request,
    caller: Annotated[Principal, needs("files:write")],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Keeps one file, sent as the form field `file`. Its name is for display and never a path."""
    host = host_of(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "multipart/form-data":
        raise UnsupportedMediaType("Send the file as `multipart/form-data`, in the field `file`.")
    async with _form(request) as form:
        upload = _only_file(form)
        data = await upload.read()
        name = upload.filename or ""
        media_type = upload.content_type

    async def act() -> Answer:
        stored = await host.files.save(caller, name=name, declared_type=media_type, data=data)
        return Answer(201, stored, {"Location": f"/api/v1/files/{stored['id']}"})

    body_digest = ""
    if idempotency_key is not None:
        body_digest = digest([name, media_type, sha256(data).hexdigest()])
    return reply_with(await host.idempotency.run(caller, "POST /files", idempotency_key, body_digest, act))


@router.get(
    "/{file_id}",
    responses={
        **problems(401, 403, 404, 405),
        200: {
            "description": "The bytes, as an attachment.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
    },
    response_class=Response,
)
async def read_file(
    request: Request, file_id: str, caller: Annotated[Principal, needs("files:read")]
) -> Response:
    """The bytes of one of your files."""
    stored, data = await host_of(request).files.read(caller, file_id)
    return Response(
        data,
        media_type=stored["media_type"],
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(stored['name'], safe='')}"},
    )


class _form:
    """The parsed form, with its temporary files removed at the end."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._form: FormData | None = None

    async def __aenter__(self) -> FormData:
        try:
            self._form = await self._request.form(max_files=1, max_fields=4)
        except HTTPException as error:
            raise MalformedRequest(f"The form cannot be read: {error.detail}") from None
        return self._form

    async def __aexit__(self, *_: object) -> None:
        if self._form is not None:
            await self._form.close()


def _only_file(form: FormData) -> UploadFile:
    unknown = sorted({name for name in form if name != "file"})
    if unknown:
        raise InvalidParams(
            f"Unknown form field {', '.join(unknown)}: only `file` is taken.",
            details={
                "errors": [{"field": name, "message": "this field is not known here"} for name in unknown]
            },
        )
    upload = form.get("file")
    if not isinstance(upload, UploadFile):
        raise InvalidParams("The form field `file` must hold a file with a name.")
    return upload
