from __future__ import annotations

import pytest

from tests.integration.api.conftest import Api, without_id


async def test_a_session_can_be_made_read_and_listed(api: Api) -> None:
    me = await api.someone()
    made = await api.call(me, "POST", "/sessions", {"title": "Maths"})
    assert made.status_code == 201
    session = made.json()
    assert made.headers["location"] == f"/api/v1/sessions/{session['id']}"
    assert made.headers["etag"] == '"1"'
    assert (session["title"], session["archived"], session["message_count"]) == ("Maths", False, 0)
    read = await api.call(me, "GET", f"/sessions/{session['id']}")
    assert read.json() == session
    listed = await api.call(me, "GET", "/sessions")
    assert listed.json() == {"sessions": [session], "next": None}


async def test_pages_hold_every_session_once(api: Api) -> None:
    me = await api.someone()
    made = {await api.session(me, title=f"number {n}") for n in range(5)}
    seen: list[str] = []
    cursor = None
    while True:
        page = (
            await api.call(
                me, "GET", "/sessions", params={"limit": 2, **({"cursor": cursor} if cursor else {})}
            )
        ).json()
        seen += [session["id"] for session in page["sessions"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert len(seen) == 5
    assert set(seen) == made


async def test_search_finds_titles_and_beginnings_of_ids(api: Api) -> None:
    me = await api.someone()
    wanted = await api.session(me, title="Brüche üben")
    await api.session(me, title="Aufsatz")
    for q in ("brüche", "ÜBEN", wanted[:-2]):
        found = await api.call(me, "GET", "/sessions", params={"q": q})
        # SQLite folds ASCII only
        if q.isascii() or q in "Brüche üben":
            assert [session["id"] for session in found.json()["sessions"]] == [wanted], q


async def test_a_change_needs_the_version_only_where_it_is_named(api: Api) -> None:
    me = await api.someone()
    path = f"/sessions/{await api.session(me)}"
    first = await api.call(me, "PATCH", path, {"title": "One"}, {"If-Match": '"1"'})
    assert (first.status_code, first.headers["etag"]) == (200, '"2"')
    for stale in ('"1"', 'W/"2"', "2", "nonsense"):
        answer = await api.call(me, "PATCH", path, {"title": "Two"}, {"If-Match": stale})
        assert (answer.status_code, answer.json()["code"]) == (412, "PRECONDITION_FAILED"), stale
    assert (await api.call(me, "GET", path)).json()["title"] == "One"
    for fitting in ('"2"', '"1", "3"', "*"):
        answer = await api.call(me, "PATCH", path, {"archived": True}, {"If-Match": fitting})
        assert answer.status_code == 200, fitting
    assert answer.json()["archived"] is True
    assert (await api.call(me, "PATCH", path, {"archived": False})).json()["archived"] is False


async def test_an_unknown_model_is_refused_with_the_valid_ones(api: Api) -> None:
    me = await api.someone()
    answer = await api.call(me, "POST", "/sessions", {"model": "gpt-9"})
    assert answer.status_code == 422
    assert "scripted, other" in answer.json()["detail"]
    session_id = await api.session(me, model="other")
    answer = await api.call(me, "PATCH", f"/sessions/{session_id}", {"model": "gpt-9"})
    assert answer.status_code == 422
    assert (await api.call(me, "PATCH", f"/sessions/{session_id}", {"model": None})).json()["model"] is None


@pytest.mark.parametrize(
    "body",
    [
        {"title": None},
        {"title": ""},
        {"archived": "yes"},
        {"version": 7},
        {"owner_id": "x"},
        {"title": "x" * 201},
    ],
)
async def test_wrong_changes_are_refused(api: Api, body: object) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    answer = await api.call(me, "PATCH", f"/sessions/{session_id}", body)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_PARAMS")


async def test_deleting_removes_it_and_ends_a_live_run(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    run_id = await api.start(me, session_id)
    assert (await api.call(me, "DELETE", f"/sessions/{session_id}")).status_code == 204
    for path in (f"/sessions/{session_id}", f"/sessions/{session_id}/items", f"/runs/{run_id}"):
        assert (await api.call(me, "GET", path)).status_code == 404
    assert (await api.call(me, "DELETE", f"/sessions/{session_id}")).status_code == 404
    assert not api.host.runs.live_runs()


async def test_the_same_key_gives_the_first_answer(api: Api) -> None:
    me = await api.someone()
    key = {"Idempotency-Key": "k1"}
    first = await api.call(me, "POST", "/sessions", {"title": "Once"}, key)
    again = await api.call(me, "POST", "/sessions", {"title": "Once"}, key)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["location"] == first.headers["location"]
    other = await api.call(me, "POST", "/sessions", {"title": "Twice"}, key)
    assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert len((await api.call(me, "GET", "/sessions")).json()["sessions"]) == 1


async def test_items_say_what_was_said(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    run_id = await api.run(me, session_id, "use the tool")
    page = (await api.call(me, "GET", f"/sessions/{session_id}/items")).json()
    assert page["live_run"] is None
    assert page["next_before"] is None
    kinds = [(item["type"], item["status"], item["run_id"]) for item in page["items"]]
    assert kinds[0] == ("user", "completed", run_id)
    assert kinds[-1] == ("assistant", "completed", run_id)
    tools = [item["call"]["name"] for item in page["items"] if item["type"] == "tool"]
    assert "demo::hello" in tools


async def test_items_come_in_pages_from_the_end(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    for _ in range(2):
        await api.run(me, session_id)
    whole = (await api.call(me, "GET", f"/sessions/{session_id}/items")).json()["items"]
    last = (await api.call(me, "GET", f"/sessions/{session_id}/items", params={"limit": 1})).json()
    assert last["items"] == whole[-1:]
    rest = await api.call(me, "GET", f"/sessions/{session_id}/items", params={"before": last["next_before"]})
    assert rest.json()["items"] == whole[:-1]


async def test_a_live_run_is_named_with_where_to_read_on(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me)
    run_id = await api.start(me, session_id)
    page = (await api.call(me, "GET", f"/sessions/{session_id}/items")).json()
    assert page["live_run"]["run_id"] == run_id
    await api.call(me, "POST", f"/runs/{run_id}/cancel")


async def test_the_export_is_one_json_object_a_line(api: Api) -> None:
    me = await api.someone()
    session_id = await api.session(me, title="Out")
    await api.run(me, session_id)
    answer = await api.call(me, "GET", f"/sessions/{session_id}/export")
    assert answer.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="{session_id}.jsonl"'
    lines = answer.text.splitlines()
    assert '"type":"session"' in lines[0]
    assert len(lines) == 3


async def test_a_foreign_session_looks_like_a_missing_one(api: Api) -> None:
    owner, other = await api.someone(), await api.someone()
    session_id = await api.session(owner)
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"title": "Mine"}),
        ("DELETE", "", None),
        ("GET", "/items", None),
        ("GET", "/feed", None),
        ("GET", "/export", None),
        ("GET", "/runs", None),
        ("POST", "/runs", {"input": [{"type": "text", "text": "hi"}]}),
    ):
        asked = {"user_id": owner.user_id}
        foreign = await api.call(other, method, f"/sessions/{session_id}{path}", body, params=asked)
        missing = await api.call(other, method, f"/sessions/ses_nothing{path}", body)
        assert foreign.status_code == missing.status_code == 404, (method, path)
        assert without_id(foreign) == without_id(missing)
    assert (await api.call(owner, "GET", f"/sessions/{session_id}")).json()["title"] == ""
