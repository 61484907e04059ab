"""Approving a destructive call: in the browser alone, once, with what is stored (C19)."""

from __future__ import annotations

import asyncio

from sqlalchemy import text

from tests.integration.api.browser import SAME_ORIGIN, Browser, signed_in
from tests.integration.api.conftest import Api
from tests.integration.api.test_access import check_problem


async def entry_of(browser: Browser) -> str:
    made = await browser.send("POST", "/commands/mistakes::add", {"params": {"question": "7 x 8"}})
    return made.json()["result"]["id"]


async def ask(browser: Browser, entry: str) -> str:
    answer = await browser.send("POST", "/commands/mistakes::remove", {"params": {"id": entry}})
    return check_problem(answer, 409, "CONFIRMATION_REQUIRED")["confirmation_id"]


async def entries(browser: Browser) -> list[str]:
    found = await browser.send("POST", "/commands/mistakes::search", {"params": {}})
    return [entry["id"] for entry in found.json()["result"]["entries"]]


async def test_an_approval_runs_the_stored_arguments_once(api: Api) -> None:
    browser = await signed_in(api)
    entry = await entry_of(browser)
    wanted = await ask(browser, entry)
    assert await ask(browser, entry) == wanted, "one pending row for one action"
    shown = (await browser.send("GET", f"/confirmations/{wanted}")).json()
    assert (shown["status"], shown["arguments"]) == ("pending", {"id": entry})
    listed = (await browser.send("GET", "/confirmations")).json()["confirmations"]
    assert [row["id"] for row in listed] == [wanted]
    assert await entries(browser) == [entry]
    answers = await asyncio.gather(
        *(browser.send("POST", f"/confirmations/{wanted}", {"decision": "approve"}) for _ in range(50))
    )
    assert {answer.status_code for answer in answers} == {200}
    done = (await browser.send("GET", f"/confirmations/{wanted}")).json()
    assert (done["status"], done["result"]) == ("approved", {"id": entry, "removed": True})
    assert await entries(browser) == []
    trail = (await browser.send("GET", "/audit")).json()["entries"]
    assert sum(row["action"] == "confirmation.approve" for row in trail) == 1
    assert sum(row["target"] == "mistakes::remove" and row["outcome"] == "succeeded" for row in trail) == 1


async def test_a_declined_or_expired_one_never_runs(api: Api) -> None:
    browser = await signed_in(api)
    entry = await entry_of(browser)
    declined = await ask(browser, entry)
    assert (
        await browser.send("POST", f"/confirmations/{declined}", {"decision": "decline"})
    ).status_code == 200
    late = await browser.send("POST", f"/confirmations/{declined}", {"decision": "approve"})
    check_problem(late, 409, "CONFIRMATION_CLOSED")
    expired = await ask(browser, entry)
    assert expired != declined
    async with api.host.devices._database.system_write() as unit:  # pyright: ignore[reportPrivateUsage]
        await unit.connection.execute(
            text("UPDATE confirmations SET expires_at = 1 WHERE id = :id"), {"id": expired}
        )
    late = await browser.send("POST", f"/confirmations/{expired}", {"decision": "approve"})
    check_problem(late, 409, "CONFIRMATION_CLOSED")
    assert (await browser.send("GET", f"/confirmations/{expired}")).json()["status"] == "expired"
    assert await entries(browser) == [entry]


async def test_nobody_else_and_no_token_can_approve(api: Api) -> None:
    browser, stranger = await signed_in(api), await signed_in(api)
    entry = await entry_of(browser)
    wanted = await ask(browser, entry)
    for method, body in (("GET", None), ("POST", {"decision": "approve"})):
        check_problem(await stranger.send(method, f"/confirmations/{wanted}", body), 404, "NOT_FOUND")
    token, _ = await api.host.identity.create_token(browser.email, ["*"])
    bearer = {"Authorization": f"Bearer {token}", **SAME_ORIGIN}
    body = {"decision": "approve"}
    answer = await api.http.post(f"/bff/confirmations/{wanted}", headers=bearer, json=body)
    check_problem(answer, 401, "UNAUTHENTICATED")
    answer = await api.http.post(f"/api/v1/confirmations/{wanted}", headers=bearer, json=body)
    assert answer.status_code == 405
    assert await entries(browser) == [entry]


async def test_what_was_approved_before_a_crash_is_carried_out_after_it(api: Api) -> None:
    browser = await signed_in(api)
    entry = await entry_of(browser)
    wanted = await ask(browser, entry)
    async with api.host.devices._database.system_write() as unit:  # pyright: ignore[reportPrivateUsage]
        await unit.connection.execute(
            text("UPDATE confirmations SET status = 'approved', decided_at = 1 WHERE id = :id"),
            {"id": wanted},
        )
    assert await api.host.approvals.finish_left_behind() == 1
    assert await api.host.approvals.finish_left_behind() == 0
    done = (await browser.send("GET", f"/confirmations/{wanted}")).json()
    assert done["result"] == {"id": entry, "removed": True}
    assert await entries(browser) == []


async def test_a_call_that_fails_says_so_on_its_row(api: Api) -> None:
    browser = await signed_in(api)
    wanted = await ask(browser, "mis_none")
    done = await browser.send("POST", f"/confirmations/{wanted}", {"decision": "approve"})
    assert done.status_code == 200
    assert done.json()["error"]["code"] == "NOT_FOUND"
