"""models.toml: what is taken, what is refused and with which words, who serves a model (M3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import ModelNotSupported, SettingsInvalid
from app.protocol.conversation import ModelRequest
from app.protocol.ports import ModelCatalog
from app.providers.registry import ModelRegistry, load_models
from tests.contract.providers.chunks import DONE, text
from tests.contract.providers.outcome import Outcome, outcome
from tests.contract.providers.servers import serve, stream_of

DOCUMENTED = """
default = "qwen-plus"
[[providers]]
id = "dashscope"
kind = "openai-chat"
base_url = "http://127.0.0.1:9000/v1"
api_key_env = "DASHSCOPE_API_KEY"
profile = { include_usage = false, max_tokens_field = "max_completion_tokens" }
[[models]]
id = "qwen-plus"
provider = "dashscope"
name = "qwen-plus-2025"
context_window = 131072
max_output_tokens = 8192
abilities = ["tools", "vision", "reasoning", "streaming"]
price = { input = 0.4, output = 1.2, cached_input = 0.1, currency = "USD", per = 1000000 }
profile = { include_usage = true }
[[models]]
id = "small"
provider = "dashscope"
"""
KEY = "sk-secret-77"


def load(folder: Path, content: str, **env: str) -> ModelRegistry:
    path = folder / "models.toml"
    path.write_text(content, encoding="utf-8")
    return load_models(path, env, max_connections=5)


async def ask(registry: ModelRegistry, model: str | None = None) -> Outcome:
    spec, provider = registry.resolve(model)
    request = ModelRequest(model=spec, system="", messages=())
    return outcome([batch async for batch in provider.stream(request)])


def test_the_documented_file_is_taken(tmp_path: Path) -> None:
    registry = load(tmp_path, DOCUMENTED, DASHSCOPE_API_KEY=KEY)
    catalog: ModelCatalog = registry
    spec, provider = catalog.resolve(None)
    assert (spec.id, spec.name, spec.provider_id, provider.id) == (
        "qwen-plus",
        "qwen-plus-2025",
        "dashscope",
        "dashscope",
    )
    assert (spec.context_window_tokens, spec.max_output_tokens) == (131072, 8192)
    assert spec.abilities == {"tools", "vision", "reasoning", "streaming"}
    assert (spec.price.input, spec.price.output, spec.price.cached_input, spec.price.per) == (
        0.4,
        1.2,
        0.1,
        1_000_000,
    )
    small = catalog.resolve("small")[0]
    assert (small.name, small.abilities) == ("small", {"tools", "streaming"})
    assert [item.id for item in catalog.list()] == ["qwen-plus", "small"]


def test_a_model_s_profile_wins_over_its_provider_s_field_by_field(tmp_path: Path) -> None:
    registry = load(tmp_path, DOCUMENTED, DASHSCOPE_API_KEY=KEY)
    assert registry.resolve("qwen-plus")[0].profile == {
        "include_usage": True,
        "max_tokens_field": "max_completion_tokens",
    }
    assert registry.resolve("small")[0].profile == {
        "include_usage": False,
        "max_tokens_field": "max_completion_tokens",
    }


def test_an_unknown_model_is_named_with_the_known_ones(tmp_path: Path) -> None:
    registry = load(tmp_path, DOCUMENTED, DASHSCOPE_API_KEY=KEY)
    with pytest.raises(ModelNotSupported, match=r"'gpt'.*qwen-plus, small"):
        registry.resolve("gpt")


@pytest.mark.parametrize("content", [None, "", '[[providers]]\nid = "p"\nkind = "scripted"\n'])
async def test_without_models_the_demo_model_answers(tmp_path: Path, content: str | None) -> None:
    registry = load_models(None, {}, max_connections=1) if content is None else load(tmp_path, content)
    assert [item.id for item in registry.list()] == ["demo"]
    assert registry.default_id == "demo"
    assert "demo model" in (await ask(registry)).text
    await registry.aclose()


@pytest.mark.parametrize("env", [{}, {"DASHSCOPE_API_KEY": "  "}])
async def test_an_unset_key_fails_each_call_and_names_the_variable(
    tmp_path: Path, env: dict[str, str]
) -> None:
    got = await ask(load(tmp_path, DOCUMENTED, **env))
    assert got.error is not None
    assert (got.error.kind, got.error.retryable) == ("auth", False)
    assert "DASHSCOPE_API_KEY" in got.error.message


async def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(tmp_path: Path) -> None:
    got = await ask(load(tmp_path, DOCUMENTED, DASHSCOPE_API_KEY="sk-\n密钥"))
    assert got.error is not None
    assert "密钥" not in got.error.message


def test_the_key_is_in_no_repr(tmp_path: Path) -> None:
    registry = load(tmp_path, DOCUMENTED, DASHSCOPE_API_KEY=KEY)
    spec, provider = registry.resolve(None)
    assert KEY not in repr((registry, spec, provider, registry.list(), vars(registry)))


async def test_a_declared_provider_is_asked_with_its_key(tmp_path: Path) -> None:
    async with serve(stream_of(text("hi"), DONE)) as server:
        content = DOCUMENTED.replace("http://127.0.0.1:9000/v1", server.url + "/")
        registry = load(tmp_path, content, DASHSCOPE_API_KEY=KEY + "\n")
        assert (await ask(registry)).text == "hi"
        await registry.aclose()
    assert b"POST /v1/chat/completions" in server.requests[0]
    assert KEY.encode() in server.requests[0]
    assert b'"model":"qwen-plus-2025"' in server.requests[0]


async def test_a_scripted_provider_plays_the_file_beside_models_toml(tmp_path: Path) -> None:
    (tmp_path / "play.json").write_text('{"steps": [[{"text": "scripted"}]]}', encoding="utf-8")
    content = '[[providers]]\nid="s"\nkind="scripted"\nscript="play.json"\n[[models]]\nid="m"\nprovider="s"\n'
    assert (await ask(load(tmp_path, content))).text == "scripted"


def changed(old: str, new: str) -> str:
    assert old in DOCUMENTED
    return DOCUMENTED.replace(old, new, 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("default = ", "TOML"),
        (changed('default = "qwen-plus"', 'default = "none"'), "default.*'none'.*qwen-plus, small"),
        (changed('default = "qwen-plus"', 'defaults = "qwen-plus"'), "defaults is unknown"),
        (
            changed('kind = "openai-chat"', 'kind = "openai"'),
            "dashscope: kind 'openai' is unknown.*openai-chat",
        ),
        (changed('kind = "openai-chat"', 'kind = "anthropic"'), "profile: unknown key.*cache_marks"),
        (changed('kind = "openai-chat"', 'kind = "google"'), "profile: unknown key.*show_thoughts"),
        (changed('kind = "openai-chat"', 'kind = "openai-responses"'), "profile: unknown key.*encrypted"),
        (changed('kind = "openai-chat"\n', ""), "kind is missing"),
        (changed("http://127.0.0.1:9000/v1", "localhost"), "base_url must be an http"),
        (changed("9000/v1", "9000/v1/chat/completions"), "base_url must stop before"),
        (changed("api_key_env", "api_key"), "api_key is unknown"),
        (changed('provider = "dashscope"', 'provider = "x"'), r"qwen-plus: provider 'x'.*dashscope"),
        (changed('id = "small"', 'id = "qwen-plus"'), "'qwen-plus' is used twice"),
        (
            changed("[[models]]", '[[providers]]\nid = "dashscope"\nkind = "scripted"\n[[models]]'),
            "'dashscope' is used twice",
        ),
        (changed('"vision"', '"sight"'), "'sight' is unknown"),
        (
            changed("context_window = 131072", 'context_window = "big"'),
            "context_window must be a whole number",
        ),
        (changed("context_window = 131072", "context_window = true"), "context_window"),
        (changed("max_output_tokens = 8192", "max_output_tokens = 999999"), "greater than context_window"),
        (changed("per = 1000000", "per = 0"), "price: per"),
        (changed("input = 0.4", "input = -1"), "price: input"),
        (changed("input = 0.4", "imput = 0.4"), "price: imput is unknown"),
        (changed("context_window", "window"), "window is unknown"),
        (changed("include_usage = true", "include_usages = true"), "profile.*include_usages"),
        (
            changed("include_usage = true", 'tool_id_format = "x"'),
            "profile.*tool_id_format must be one of any, word, alnum9",
        ),
        (changed("include_usage = true", "strict_tools = 1"), "profile.*strict_tools must be true or false"),
        (changed("include_usage = true", 'extra_body = { model = "x" }'), "extra_body may not set model"),
        ("models = 5", "models must be written as"),
        ('[[models]]\nid = ""\n', "id must be a string that is not empty"),
    ],
)
def test_a_wrong_file_is_refused_with_file_key_and_mend(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(SettingsInvalid, match=words) as caught:
        load(tmp_path, content, DASHSCOPE_API_KEY=KEY)
    assert "models.toml" in caught.value.message


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"none\.toml.*DESKMATE_MODELS"):
        load_models(tmp_path / "none.toml", {}, max_connections=1)
