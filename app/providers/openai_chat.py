"""OpenAI Chat Completions and every compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence

from app.protocol.conversation import ModelRequest
from app.providers.chat_request import build_chat_request
from app.providers.chat_stream import ChatReplyReader
from app.providers.http_provider import WireRequest
from app.providers.profiles import Profile, ProfileOfModel
from app.providers.reply_reader import ReplyReader


class ChatWire:
    """Implements `http_provider.Wire`."""

    def __init__(self) -> None:
        self._profiles = ProfileOfModel(Profile)

    def headers(self, api_key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {api_key}"} if api_key else {}

    def build(self, request: ModelRequest, provider_id: str) -> WireRequest:
        return build_chat_request(request, self._profiles.of(request.model), provider_id)

    def reader(self, request: ModelRequest) -> ReplyReader:
        return ChatReplyReader(self._profiles.of(request.model).think_tags)

    def go_on(self, request: ModelRequest, provider_id: str, readers: Sequence[ReplyReader]) -> None:
        return None
