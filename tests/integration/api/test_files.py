from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.api.conftest import Api, Someone, without_id

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d4944415478da63fcffff3f0300050001ff"
    "a2d5f3b20000000049454e44ae426082"
)


async def put(api: Api, who: Someone, name: str, data: bytes, media_type: str = "text/plain", **headers: str):  # type: ignore[no-untyped-def]
    return await api.call(who, "POST", "/files", files={"file": (name, data, media_type)}, headers=headers)


async def test_a_file_comes_back_as_it_was(api: Api) -> None:
    me = await api.someone()
    stored = await put(api, me, "notes.txt", "你好".encode())
    assert stored.status_code == 201, stored.text
    assert stored.json()["name"] == "notes.txt"
    read = await api.call(me, "GET", f"/files/{stored.json()['id']}")
    assert read.content == "你好".encode()
    assert read.headers["content-disposition"].startswith("attachment")
    assert read.headers["x-content-type-options"] == "nosniff"
    picture = await put(api, me, "a.png", PNG, "image/png")
    assert picture.json()["media_type"] == "image/png"


@pytest.mark.parametrize(
    "name",
    [
        "../../x.txt",
        "/etc/passwd",
        "..\\..\\x.txt",
        "a\x00b.txt",
        "x" * 300 + ".txt",
        "\u202egpj.txt",
        "con",
        ".",
    ],
)
async def test_a_name_never_becomes_a_path(api: Api, tmp_path: Path, name: str) -> None:
    me = await api.someone()
    before = {path for path in tmp_path.parent.rglob("*") if "files" not in path.parts}
    stored = await put(api, me, name, b"words")
    assert stored.status_code in {201, 400, 422}, stored.text
    if stored.status_code == 201:
        shown = stored.json()["name"]
        assert "/" not in shown
        assert "\\" not in shown
        assert len(shown) <= 255
        assert (await api.call(me, "GET", f"/files/{stored.json()['id']}")).content == b"words"
    after = {path for path in tmp_path.parent.rglob("*") if "files" not in path.parts}
    assert {path for path in after - before if not path.name.startswith("deskmate.db")} == set()


async def test_what_is_not_a_form_with_one_file_is_refused(api: Api) -> None:
    me = await api.someone()
    assert (await api.call(me, "POST", "/files", {"file": "x"})).status_code == 415
    assert (await api.call(me, "POST", "/files", data={"file": "x"})).status_code == 415
    no_boundary = await api.call(
        me, "POST", "/files", content=b"x", headers={"Content-Type": "multipart/form-data"}
    )
    assert no_boundary.status_code == 400
    other_name = await api.call(me, "POST", "/files", files={"upload": ("x.txt", b"x")})
    assert other_name.status_code == 422
    extra = await api.call(
        me, "POST", "/files", files={"file": ("x.txt", b"x")}, data={"owner_id": "somebody"}
    )
    assert (extra.status_code, extra.json()["errors"][0]["field"]) == (422, "owner_id")
    two = await api.call(me, "POST", "/files", files=[("file", ("x", b"x")), ("file", ("y", b"y"))])
    assert two.status_code == 400


async def test_a_large_file_is_refused_while_it_arrives(api: Api) -> None:
    me = await api.someone()
    answer = await put(api, me, "big.txt", b"x" * (21 * 1024 * 1024))
    assert (answer.status_code, answer.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")
    fits = await put(api, me, "fits.txt", b"x" * (20 * 1024 * 1024))
    assert fits.status_code == 201


async def test_a_wrong_type_is_refused(api: Api) -> None:
    me = await api.someone()
    assert (await put(api, me, "a.png", b"words", "image/png")).status_code == 415
    assert (await put(api, me, "a.exe", b"MZ\x90\x00\x03\x00\x00\x00", "text/plain")).status_code == 415


async def test_a_foreign_file_looks_like_a_missing_one(api: Api) -> None:
    owner, other = await api.someone(), await api.someone()
    file_id = (await put(api, owner, "a.txt", b"words")).json()["id"]
    foreign = await api.call(other, "GET", f"/files/{file_id}")
    missing = await api.call(other, "GET", "/files/file_nothing")
    assert foreign.status_code == missing.status_code == 404
    assert without_id(foreign) == without_id(missing)


async def test_the_same_key_keeps_one_file(api: Api) -> None:
    me = await api.someone()
    first = await put(api, me, "a.txt", b"words", **{"Idempotency-Key": "k"})
    again = await put(api, me, "a.txt", b"words", **{"Idempotency-Key": "k"})
    assert (again.status_code, again.json()) == (201, first.json())
    other = await put(api, me, "a.txt", b"other", **{"Idempotency-Key": "k"})
    assert other.status_code == 422
