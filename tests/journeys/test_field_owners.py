"""Field cases about whose things are whose: sessions, runs and files of two users, and what a deletion takes along."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from app.settings import Settings
from tests.long.service import ON_MODULE_LOOP, Person, Service, service, service_fixture
from tests.support.client import API, AgentClient, answer_text
from tests.support.replies import call, hang, say

__all__ = ["service"]
pytestmark = ON_MODULE_LOOP

# No variable of these exists; a service that knew one of them would fail below.
running = service_fixture(
    DESKMATE_USER_ISOLATION="0",
    DESKMATE_ISOLATION="false",
    DESKMATE_AUTH="off",
    DESKMATE_AUTH_DISABLED="1",
    DESKMATE_SINGLE_USER="1",
    DESKMATE_DEBUG="1",
)

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060"
    "000000050001a5f645400000000049454e44ae426082"
)


@dataclass
class Belongings:
    """What A has, by the name of the path parameter that points to it."""

    session_id: str
    run_id: str
    file_id: str
    confirmation_id: str


async def fill(service: Service, owner: AgentClient) -> Belongings:
    service.script(say("A secret of A."))
    session = await owner.create_session(title="private")
    run_id = (await owner.ask(session, "tell me"))[0]["run_id"]
    file_id = (await put(owner, "a.txt", b"words of A")).json()["id"]
    added = await owner.invoke("mistakes::add", {"question": "only A knows"})
    asked = await owner.invoke("mistakes::remove", {"id": added.json()["result"]["id"]})
    assert asked.json()["code"] == "CONFIRMATION_REQUIRED", asked.text
    return Belongings(session, run_id, file_id, asked.json()["confirmation_id"])


async def put(who: AgentClient, name: str, data: bytes) -> httpx.Response:
    return await who.call("POST", "/files", files={"file": (name, data)})


async def state_of(owner: AgentClient, has: Belongings) -> list[bytes]:
    paths = (
        "/sessions",
        f"/sessions/{has.session_id}",
        f"/sessions/{has.session_id}/items",
        f"/sessions/{has.session_id}/runs",
        f"/runs/{has.run_id}/events",
        f"/files/{has.file_id}",
        f"/confirmations/{has.confirmation_id}",
    )
    answers = [await owner.call("GET", path) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    return [answer.content for answer in answers]


BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/sessions"): {"title": "mine"},
    ("PATCH", "/sessions/{session_id}"): {"title": "taken over"},
    ("POST", "/sessions/{session_id}/runs"): {"input": [{"type": "text", "text": "hi"}]},
    ("POST", "/capabilities/{capability}/invoke"): {"params": {}},
}


async def test_no_way_of_naming_another_user_opens_their_things(service: Service) -> None:
    """O7: every route with A's ids, and with A's user id in query, header and body."""
    a: Person = await service.person()
    b: Person = await service.person()
    has = await fill(service, a.client)
    before = await state_of(a.client, has)
    nothing = Belongings(*(["nothing"] * 4))
    described = (await b.client.http.get(f"{API}/openapi.json")).json()["paths"]
    routes = [(method.upper(), path.removeprefix(API)) for path, ops in described.items() for method in ops]
    tried = 0
    for method, path in routes:
        if path == "/manifest.json":
            continue
        body = BODIES.get((method, path))
        for claim in ("none", "query", "header", "body"):
            more = _claim(claim, a.user_id)
            if claim == "body":
                if body is None:
                    continue
                body = {**body, "user_id": a.user_id}
            foreign = await b.client.call(method, _filled(path, has), body, **more)
            tried += 1
            if "{" not in path or "{capability}" in path:
                allowed = {200, 201} if claim != "body" else {422}
                allowed |= {415} if path == "/files" else set()
                assert foreign.status_code in allowed, (method, path, claim, foreign.text)
                for secret in (*before, has.session_id.encode(), has.run_id.encode(), b"only A knows"):
                    assert secret not in foreign.content, (method, path, claim)
            else:
                assert foreign.status_code in ({404} if claim != "body" else {404, 422}), (
                    method,
                    path,
                    claim,
                )
                missing = await b.client.call(method, _filled(path, nothing), body, **more)
                assert _without_id(foreign) == _without_id(missing), "foreign and missing look alike"
    assert tried > 60
    assert await state_of(a.client, has) == before


def _claim(where: str, user_id: str) -> dict[str, Any]:
    if where == "query":
        return {"params": {"user_id": user_id, "owner_id": user_id, "user": user_id}}
    if where == "header":
        names = ("x-user-id", "x-forwarded-user", "x-deskmate-user", "x-owner-id", "remote-user")
        return {"headers": dict.fromkeys(names, user_id)}
    return {}


def _filled(path: str, has: Belongings) -> str:
    return path.format(**vars(has), capability="mistakes::search")


def _without_id(answer: httpx.Response) -> bytes:
    body = answer.json()
    return answer.content.replace(body["request_id"].encode(), b"")


async def test_there_is_no_setting_that_could_turn_isolation_off() -> None:
    """A new switch has to be looked at here."""
    switches = {name for name, field in Settings.model_fields.items() if field.annotation is bool}
    assert switches == {"insecure_http"}
    for name in Settings.model_fields:
        assert not any(word in name for word in ("isolat", "tenan", "auth", "owner", "anonym", "public"))


# --- files ------------------------------------------------------------------------------------------

NAMES = [
    "../../x.txt",
    "/etc/passwd",
    "..\\..\\x.txt",
    "C:\\x.txt",
    "a\x00b.txt",
    "x" * 300 + ".txt",
    "\u202etxt.exe",
    "..",
    "",
    "a/../../b.txt",
    "%2e%2e%2fx.txt",
    "con\r\nx-evil: 1.txt",
]


async def test_no_upload_name_becomes_a_path(service: Service) -> None:
    """O17: bytes lie under a key that the server chose, whatever the name says."""
    client = await service.someone()
    folder = service.installation.folder
    before = _outside(folder)
    taken = 0
    for n, name in enumerate(NAMES):
        data = f"words {n}".encode()
        answer = await put(client, name, data)
        assert answer.status_code in {201, 400, 422}, (name, answer.text)
        if answer.status_code != 201:
            continue
        taken += 1
        stored = answer.json()
        shown: str = stored["name"]
        assert len(shown) <= 255
        assert not set("/\\\0\r\n\u202e") & set(shown)
        assert shown not in {".", "..", ""}
        back = await client.call("GET", f"/files/{stored['id']}")
        assert back.content == data
        assert back.headers["content-disposition"].startswith("attachment")
        assert "x-evil" not in back.headers
    assert taken >= 8
    assert _outside(folder) == before
    for blob in (folder / "data" / "files").rglob("*"):
        assert blob.is_dir() or len(blob.name) == 64, blob


def _outside(folder: Path) -> set[Path]:
    """All files about the installation but its blobs and the database's own."""
    blobs = folder / "data" / "files"
    return {
        path
        for path in folder.parent.rglob("*")
        if path.is_file() and not path.is_relative_to(blobs) and not path.name.startswith("deskmate.db")
    }


async def test_one_name_of_two_users_at_once_is_two_files(service: Service) -> None:
    """O18."""
    a, b = await service.someone(), await service.someone()
    stored = await asyncio.gather(
        *(
            put(who, "hw.txt", data)
            for _ in range(5)
            for who, data in ((a, b"words of A"), (b, b"words of B"))
        )
    )
    assert {answer.status_code for answer in stored} == {201}
    ids = [answer.json()["id"] for answer in stored]
    assert len(set(ids)) == 10
    for n, file_id in enumerate(ids):
        mine, other = (a, b) if n % 2 == 0 else (b, a)
        assert (await mine.call("GET", f"/files/{file_id}")).content == (b"words of A", b"words of B")[n % 2]
        assert (await other.call("GET", f"/files/{file_id}")).status_code == 404


# --- deletion ---------------------------------------------------------------------------------------


def blobs(service: Service) -> set[bytes]:
    folder = service.installation.data_dir / "files"
    return {path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def mention(client: AgentClient, session: str, kind: str, *file_ids: str) -> list[dict[str, Any]]:
    """A turn that uses uploads."""
    parts = [{"type": kind, "file_id": file_id} for file_id in file_ids]
    body = {"input": [{"type": "text", "text": "look"}, *parts]}
    answer = await client.call("POST", f"/sessions/{session}/runs", body)
    assert answer.status_code == 200, answer.text
    return [orjson.loads(line) for line in answer.content.split(b"\n") if line]


async def test_a_deleted_session_takes_its_rows_and_files_and_leaves_shared_ones(service: Service) -> None:
    """O20, without jobs."""
    a, b = await service.person(), await service.person()
    alone, shared, twice, unused = [
        (await put(a.client, f"{name}.txt", f"{name} of {a.user_id}".encode())).json()["id"]
        for name in ("alone", "shared", "twice", "unused")
    ]
    same = await put(b.client, "same.txt", f"shared of {a.user_id}".encode())
    session, other = await a.client.create_session(), await a.client.create_session()
    service.script(
        say("read"),
        call("catalog_load_domain", '{"name": "memory"}'),
        call("memory_save", '{"content": "A likes canaries."}'),
        say("kept"),
        say("read"),
    )
    await mention(a.client, session, "file", alone, shared, twice)
    await a.client.ask(session, "remember it")
    await mention(a.client, other, "file", twice)
    run_ids = [r["id"] for r in (await a.client.json("GET", f"/sessions/{session}/runs"))["runs"]]

    assert (await a.client.call("DELETE", f"/sessions/{session}")).status_code == 204

    for path in (f"/sessions/{session}", f"/sessions/{session}/items", *(f"/runs/{r}" for r in run_ids)):
        assert (await a.client.call("GET", path)).status_code == 404
    for table in ("items", "runs", "effects", "confirmations", "files"):
        assert await service.rows(f"SELECT 1 FROM {table} WHERE session_id = :s", s=session) == [], table
    for run_id in run_ids:
        assert await service.rows("SELECT 1 FROM events WHERE run_id = :r", r=run_id) == []
    facts = (await a.client.invoke("memory::search", {"query": "canaries"})).json()["result"]["facts"]
    assert facts == [], "a fact from a deleted session is not recalled"

    async def status(who: Person, file_id: str) -> int:
        return (await who.client.call("GET", f"/files/{file_id}")).status_code

    assert [await status(a, file_id) for file_id in (alone, shared, twice, unused)] == [404, 404, 200, 200]
    assert await status(b, same.json()["id"]) == 200
    left = blobs(service)
    assert f"alone of {a.user_id}".encode() not in left
    assert {f"{name} of {a.user_id}".encode() for name in ("shared", "twice", "unused")} <= left


async def test_deleting_a_session_ends_its_live_run_and_the_model_call(service: Service) -> None:
    service.script(hang("Once upon a time"))
    client = await service.someone()
    session = await client.create_session()
    run_id = await client.start_run(session, "a long story")
    (record,) = await service.stub.wait_for_requests(1)
    assert (await client.call("DELETE", f"/sessions/{session}")).status_code == 204
    await service.stub.wait_until_closed(record, timeout=2)
    assert (await client.call("GET", f"/runs/{run_id}")).status_code == 404
    for table in ("runs", "items"):
        assert await service.rows(f"SELECT 1 FROM {table} WHERE session_id = :s", s=session) == []
    assert await service.rows("SELECT 1 FROM events WHERE run_id = :r", r=run_id) == []
    service.script(say("Another."))
    assert answer_text(await client.ask(await client.create_session(), "go")) == "Another."


@pytest.mark.parametrize("kind", ["image", "file"])
async def test_another_s_upload_cannot_be_shown_to_the_model(service: Service, kind: str) -> None:
    a, b = await service.someone(), await service.someone()
    data = PNG if kind == "image" else b"words of A"
    file_id = (await put(a, "x", data)).json()["id"]
    session = await b.create_session()
    body = {"input": [{"type": kind, "file_id": file_id}]}
    answer = await b.call("POST", f"/sessions/{session}/runs", body)
    assert answer.status_code == 404
    assert len(service.stub.requests) == 0
    assert (await b.json("GET", f"/sessions/{session}/runs"))["runs"] == []
