"""The built page: a nonce of its own in every answer, files for ever, nothing outside the build."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app.api import problems
from app.api.web import PAGES, WebPages, find_build

DOCUMENT = '<script type="module" nonce="__CSP_NONCE__" src="/assets/a-1.js"></script><b>__CSP_NONCE__</b>'


@pytest.fixture
def build(tmp_path: Path) -> Path:
    (tmp_path / "dist" / "assets").mkdir(parents=True)
    (tmp_path / "dist" / "index.html").write_text(DOCUMENT)
    (tmp_path / "dist" / "icon.svg").write_text("<svg/>")
    (tmp_path / "dist" / "assets" / "a-1.js").write_text("1")
    (tmp_path / "secret").write_text("no")
    return tmp_path / "dist"


async def get(build: Path, path: str) -> httpx.Response:
    app = FastAPI()
    problems.install(app)
    WebPages(build).add_to(app)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
        return await http.get(path)


async def test_every_page_is_the_document_with_a_fresh_nonce(build: Path) -> None:
    nonces: set[str] = set()
    for page in PAGES:
        answer = await get(build, page.replace("{rest:path}", "ses_1"))
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
        assert nonce is not None
        assert answer.text.count(nonce[1]) == 2
        assert "__CSP_NONCE__" not in answer.text
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        nonces.add(nonce[1])
    assert len(nonces) == len(PAGES)


async def test_files_are_served_and_nothing_outside(build: Path) -> None:
    script = await get(build, "/assets/a-1.js")
    assert (script.text, script.headers["content-type"]) == ("1", "text/javascript; charset=utf-8")
    assert "immutable" in script.headers["cache-control"]
    assert (await get(build, "/icon.svg")).headers["content-type"] == "image/svg+xml"
    for path in (
        "/assets/../secret",
        "/assets/%2e%2e/%2e%2e/secret",
        "/assets/none.js",
        "/assets/",
        "/index.html",
    ):
        assert (await get(build, path)).status_code == 404


def test_a_folder_without_a_document_is_no_build(tmp_path: Path, build: Path) -> None:
    assert find_build(tmp_path) is None
    assert find_build(build) == build
