"""The declared models and their providers, built from models.toml (M3).

The format is in the design notes; all that is unknown, doubled or missing is refused at start, with
file, key and the mend, because a typing error must not surface in a learner's first message.
"""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.errors import ModelNotSupported, SettingsInvalid
from app.protocol.conversation import Failed, ModelEvent, ModelPrice, ModelRequest, ModelSpec
from app.protocol.ports import ModelProvider
from app.providers.anthropic import AnthropicProfile, AnthropicWire
from app.providers.demo import DEMO_MODEL, DemoProvider
from app.providers.faults import fault
from app.providers.gemini import GeminiProfile, GeminiWire
from app.providers.http_provider import Endpoint, HttpProvider, Wire
from app.providers.openai_chat import ChatWire
from app.providers.openai_responses import ResponsesProfile, ResponsesWire
from app.providers.profiles import Profile, WireProfile
from app.providers.retrying import RetryingProvider
from app.providers.script_file import load_script
from app.providers.scripted import ScriptedProvider
from app.providers.tables import Table
from app.providers.transport import CONNECT_TIMEOUT_S, IDLE_TIMEOUT_S, HttpTransport

ABILITIES = ("tools", "vision", "reasoning", "streaming")
_DEFAULTS = ModelSpec(id="", provider_id="", name="")


class ModelRegistry:
    """Implements `ModelCatalog` (protocol.ports)."""

    def __init__(
        self, models: Sequence[ModelSpec], providers: Mapping[str, ModelProvider], *, default: str
    ) -> None:
        self._models = {model.id: model for model in models}
        self._providers = dict(providers)
        self._default = default

    def resolve(self, model_id: str | None) -> tuple[ModelSpec, ModelProvider]:
        """The model of that id, or the default for None. Raises ModelNotSupported."""
        spec = self._models.get(self._default if model_id is None else model_id)
        if spec is None:
            known = ", ".join(self._models)
            raise ModelNotSupported(f"There is no model {model_id!r}. Choose one of: {known}.")
        return spec, self._providers[spec.provider_id]

    def list(self) -> Sequence[ModelSpec]:
        return tuple(self._models.values())

    @property
    def default_id(self) -> str:
        return self._default

    async def aclose(self) -> None:
        for provider in self._providers.values():
            await provider.aclose()


class RefusingProvider:
    """Stands for a provider that is declared but not usable: each call fails, saying why."""

    def __init__(self, id: str, reason: str) -> None:
        self._id = id
        self._reason = reason

    @property
    def id(self) -> str:
        return self._id

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[ModelEvent]]:
        yield [Failed(fault("auth", self._reason))]

    async def aclose(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class _Provider:
    provider: ModelProvider
    profile: Mapping[str, Any]
    profile_type: type[WireProfile]


def load_models(path: Path | None, env: Mapping[str, str], *, max_connections: int) -> ModelRegistry:
    """Builds all that models.toml declares; the demo model where it declares none.

    Args:
        path: the file; None for none.
        env: where the variables named by `api_key_env` are looked up.
        max_connections: the greatest number of live runs, for each provider's connection pool.

    Raises:
        SettingsInvalid: naming file, key and the mend.
    """
    root = Table(str(path), _read(path)) if path is not None else Table("models.toml", {})
    providers: dict[str, _Provider] = {}
    for table in root.tables("providers"):
        id = table.text("id")
        if id in providers:
            raise table.refuse("id", f"{id!r} is used twice; give each provider an id of its own")
        providers[id] = _provider(table, id, env, max_connections, (path or Path()).parent)
    models: dict[str, ModelSpec] = {}
    for table in root.tables("models"):
        model = _model(table, providers)
        if model.id in models:
            raise table.refuse("id", f"{model.id!r} is used twice; model ids are unique over all providers")
        models[model.id] = model
    default = root.text("default", "")
    root.done()
    built = {id: item.provider for id, item in providers.items()}
    if not models:
        models, built = {DEMO_MODEL.id: DEMO_MODEL}, {DEMO_MODEL.provider_id: DemoProvider()}
    if default and default not in models:
        raise root.refuse("default", f"{default!r} is no declared model; name one of {', '.join(models)}")
    return ModelRegistry(list(models.values()), built, default=default or next(iter(models)))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsInvalid(f"{path}: cannot be read ({error.strerror}). Check DESKMATE_MODELS.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"{path}: is not valid TOML: {error}.") from None


def _provider(table: Table, id: str, env: Mapping[str, str], max_connections: int, folder: Path) -> _Provider:
    kind = table.text("kind")
    if kind not in KINDS:
        raise table.refuse("kind", f"{kind!r} is unknown; use one of {', '.join(KINDS)}")
    over_http = _HTTP_KINDS.get(kind)
    profile_type = Profile if over_http is None else over_http.profile
    profile = _profile(table, {}, profile_type)
    provider = (
        _scripted(table, id, folder)
        if over_http is None
        else _over_http(over_http, table, id, env, max_connections)
    )
    table.done()
    return _Provider(provider, profile, profile_type)


@dataclass(frozen=True, slots=True)
class _HttpKind:
    """One wire format: its adapter, its profile, and the end that its base_url must not have."""

    wire: Callable[[], Wire]
    profile: type[WireProfile]
    path: str


_HTTP_KINDS = {
    "openai-chat": _HttpKind(ChatWire, Profile, "/chat/completions"),
    "openai-responses": _HttpKind(ResponsesWire, ResponsesProfile, "/responses"),
    "anthropic": _HttpKind(AnthropicWire, AnthropicProfile, "/messages"),
    "google": _HttpKind(GeminiWire, GeminiProfile, "/models"),
}


def _over_http(
    kind: _HttpKind, table: Table, id: str, env: Mapping[str, str], max_connections: int
) -> ModelProvider:
    base_url = table.text("base_url")
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise table.refuse("base_url", "must be an http or https address such as https://host/v1")
    if base_url.rstrip("/").endswith(kind.path):
        raise table.refuse("base_url", f"must stop before {kind.path}, which is added for each call")
    connect = table.number("connect_timeout_s", CONNECT_TIMEOUT_S)
    idle = table.number("idle_timeout_s", IDLE_TIMEOUT_S)
    key: str | None = None
    if variable := table.text("api_key_env", ""):
        key = env.get(variable, "").strip()
        if not key:
            return RefusingProvider(
                id, f"No key for model provider {id}: set the variable {variable}, then restart."
            )
        if not key.isascii() or not key.isprintable():
            return RefusingProvider(id, f"The key in the variable {variable} has characters that no key has.")
    transport = HttpTransport(max_connections=max_connections, connect_timeout_s=connect, idle_timeout_s=idle)
    return RetryingProvider(HttpProvider(Endpoint(id, base_url, key), transport, kind.wire()))


def _scripted(table: Table, id: str, folder: Path) -> ModelProvider:
    script = table.text("script", "")
    if not script:
        return DemoProvider(id=id)
    return RetryingProvider(ScriptedProvider(load_script(folder / script), id=id))


KINDS = (*_HTTP_KINDS, "scripted")


def _model(table: Table, providers: Mapping[str, _Provider]) -> ModelSpec:
    id = table.text("id")
    provider_id = table.text("provider")
    if provider_id not in providers:
        known = ", ".join(providers) or "none"
        raise table.refuse("provider", f"{provider_id!r} is no declared provider (declared: {known})")
    provider = providers[provider_id]
    abilities = table.texts("abilities", ("tools", "streaming"))
    if unknown := [name for name in abilities if name not in ABILITIES]:
        raise table.refuse("abilities", f"{unknown[0]!r} is unknown; use {', '.join(ABILITIES)}")
    spec = ModelSpec(
        id=id,
        provider_id=provider_id,
        name=table.text("name", id),
        context_window_tokens=table.count("context_window", _DEFAULTS.context_window_tokens),
        max_output_tokens=table.count("max_output_tokens", _DEFAULTS.max_output_tokens),
        abilities=frozenset(abilities),
        price=_price(table.table("price")),
        profile=_profile(table, provider.profile, provider.profile_type),
    )
    if spec.max_output_tokens > spec.context_window_tokens:
        raise table.refuse("max_output_tokens", "is greater than context_window; both count tokens")
    table.done()
    return spec


def _price(table: Table) -> ModelPrice:
    price = ModelPrice(
        input=table.number("input", 0.0),
        output=table.number("output", 0.0),
        cached_input=table.number("cached_input", 0.0),
        currency=table.text("currency", _DEFAULTS.price.currency),
        per=table.count("per", _DEFAULTS.price.per),
    )
    table.done()
    return price


def _profile(table: Table, base: Mapping[str, Any], kind: type[WireProfile]) -> Mapping[str, Any]:
    own = table.table("profile")
    merged = {**base, **own.rest()}
    kind.from_mapping(merged, where=own.where)
    return merged
