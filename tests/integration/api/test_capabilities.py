from __future__ import annotations

from typing import Any

from tests.integration.api.conftest import Api, Someone

ADD = "/capabilities/mistakes::add/invoke"
QUESTION = {"params": {"question": "1 + 1 = ?"}}


async def entries(api: Api, who: Someone) -> list[dict[str, Any]]:
    answer = await api.call(who, "POST", "/capabilities/mistakes::search/invoke", {"params": {}})
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]["entries"]


async def test_a_user_s_call_goes_through_the_gate(api: Api) -> None:
    me = await api.someone()
    added = await api.call(me, "POST", ADD, QUESTION)
    assert added.status_code == 200, added.text
    assert added.json()["result"]["question"] == "1 + 1 = ?"
    assert [entry["id"] for entry in await entries(api, me)] == [added.json()["result"]["id"]]
    await api.host.audit.flush()
    audited = (await api.call(me, "GET", "/audit")).json()["entries"]
    found = [entry for entry in audited if entry["target"] == "mistakes::add"]
    assert [(entry["initiator"], entry["outcome"]) for entry in found] == [("user", "succeeded")]


async def test_the_list_holds_what_the_token_may_call(api: Api) -> None:
    everything = await api.someone()
    listed = (await api.call(everything, "GET", "/capabilities")).json()["capabilities"]
    assert {"demo::hello", "mistakes::add", "mistakes::remove"} <= {entry["id"] for entry in listed}
    narrow = await api.another_token(everything, "mistakes:read")
    listed = (await api.call(narrow, "GET", "/capabilities")).json()["capabilities"]
    assert [entry["id"] for entry in listed] == ["mistakes::search"]


async def test_a_token_without_the_namespace_calls_nothing(api: Api) -> None:
    narrow = await api.someone("mistakes:read")
    answer = await api.call(narrow, "POST", ADD, QUESTION)
    assert answer.status_code == 403
    assert "mistakes:write" in answer.json()["detail"]
    assert await entries(api, narrow) == []


async def test_wrong_arguments_are_the_entry_s_own_refusal(api: Api) -> None:
    me = await api.someone()
    for params in ({}, {"question": 7}, {"question": "x", "owner_id": "somebody"}):
        answer = await api.call(me, "POST", ADD, {"params": params})
        assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_PARAMS"), params
    assert await entries(api, me) == []


async def test_an_unknown_entry_is_not_found(api: Api) -> None:
    me = await api.someone()
    for name in ("mistakes::fly", "nothing", "x" * 500, "catalog::nothing", "../me"):
        answer = await api.call(me, "POST", f"/capabilities/{name}/invoke", {"params": {}})
        assert answer.status_code == 404, name


async def test_the_same_key_acts_once(api: Api) -> None:
    me = await api.someone()
    key = {"Idempotency-Key": "k"}
    first = await api.call(me, "POST", ADD, QUESTION, key)
    again = await api.call(me, "POST", ADD, QUESTION, key)
    assert (again.status_code, again.content) == (200, first.content)
    other = await api.call(me, "POST", ADD, {"params": {"question": "2 + 2 = ?"}}, key)
    assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert len(await entries(api, me)) == 1


async def test_a_destructive_call_waits_for_its_user(api: Api) -> None:
    me = await api.someone()
    entry_id = (await api.call(me, "POST", ADD, QUESTION)).json()["result"]["id"]
    for name in ("mistakes::archive", "mistakes::remove"):
        path = f"/capabilities/{name}/invoke"
        asked = await api.call(me, "POST", path, {"params": {"id": entry_id}})
        problem = asked.json()
        assert (asked.status_code, problem["code"]) == (409, "CONFIRMATION_REQUIRED"), asked.text
        confirmation_id = problem["confirmation_id"]
        assert problem["url"] == f"https://deskmate.example.org/confirmations/{confirmation_id}"
        again = await api.call(me, "POST", path, {"params": {"id": entry_id}})
        assert again.json()["confirmation_id"] == confirmation_id
        forced = await api.call(me, "POST", path, {"params": {"id": entry_id}, "confirmed": True})
        assert forced.status_code == 422
        state = (await api.call(me, "GET", f"/confirmations/{confirmation_id}")).json()
        assert state["status"] == "pending"
        other = await api.someone()
        assert (await api.call(other, "GET", f"/confirmations/{confirmation_id}")).status_code == 404
        narrow = await api.another_token(me, "files:read")
        assert (await api.call(narrow, "GET", f"/confirmations/{confirmation_id}")).status_code == 403
    assert len(await entries(api, me)) == 1


async def test_another_user_s_entry_cannot_be_changed(api: Api) -> None:
    owner, other = await api.someone(), await api.someone()
    entry = (await api.call(owner, "POST", ADD, QUESTION)).json()["result"]
    change = {"params": {"id": entry["id"], "version": entry["version"], "cause": "mine now"}}
    answer = await api.call(other, "POST", "/capabilities/mistakes::update/invoke", change)
    assert answer.status_code == 404
    assert (await entries(api, owner))[0]["cause"] == ""
    assert await entries(api, other) == []
