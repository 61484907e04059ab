"""Browsers that are signed in: a cookie for each, rotated while it is used, revocable by its row.

The cookie is a random value; only its hash is stored. It is replaced every quarter of an hour. The one
before stays valid until the new one was seen and a minute more, because a page has several requests
under way and an answer may be lost.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import delete, insert, select, update

from app.errors import LoginFailed, NotFound, SetupLinkInvalid, Unauthenticated
from app.host.audit import insert_entry
from app.host.identity.login_limits import LoginLimits
from app.host.identity.service import IdentityService, User
from app.protocol.column_types import from_ms, to_ms
from app.protocol.identity import Principal
from app.protocol.ids import UserId, new_id
from app.protocol.ports import AuditEntry
from app.storage.database import Database, Unit
from app.storage.statement import Statement
from app.storage.tables import devices, setup_links, users

ROTATE_AFTER = timedelta(minutes=15)
OLD_COOKIE_FOR = timedelta(minutes=1)
IDLE_LIMIT = timedelta(days=7)
ABSOLUTE_LIMIT = timedelta(days=30)
SEEN_INTERVAL = timedelta(minutes=1)
"""How often the time of last use is written."""
_COOKIE_BYTES = 32

_FIND_SQL = (
    "SELECT d.id, d.hash, d.rotated_at, d.taken_up_at, d.created_at, d.last_seen_at, d.expires_at,"
    " u.id, u.email, u.status, u.is_operator,"
    " (SELECT {packages} FROM package_switches w WHERE w.owner_id = u.id AND NOT w.enabled)"
    " FROM devices d JOIN users u ON u.id = d.owner_id WHERE d.hash = :hash OR d.previous_hash = :hash"
)
_FIND = Statement(
    _FIND_SQL.format(packages="json_group_array(w.package)"),
    postgresql=_FIND_SQL.format(packages="json_agg(w.package)::text"),
)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A request of a signed-in browser."""

    principal: Principal
    is_operator: bool
    """Of the account; a browser's session itself acts as a user only."""
    device_id: str
    created_at: datetime
    expires_at: datetime
    new_cookie: str | None = None
    """To be set with this answer."""


@dataclass(frozen=True, slots=True)
class Client:
    """Where a sign-in comes from."""

    user_agent: str
    address: str


def cookie_hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogateescape")).hexdigest()


class Devices:
    def __init__(
        self,
        *,
        database: Database,
        identity: IdentityService,
        limits: LoginLimits,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._identity = identity
        self._limits = limits
        self._clock = clock

    # --- who is calling -------------------------------------------------------------------------

    async def authenticate(self, cookie: str | None) -> SignedIn:
        """The account behind a cookie. Raises Unauthenticated."""
        if not cookie:
            raise Unauthenticated("Sign in first.")
        hashed = cookie_hash(cookie)
        rows = await self._database.lookup(_FIND, {"hash": hashed})
        if not rows:
            raise _signed_out()
        device_id, newest, rotated, taken_up, created, seen, expires = tuple(rows[0])[:7]
        user_id, email, status, is_operator, switched_off = tuple(rows[0])[7:]
        now = to_ms(self._clock())
        idle_over = now > seen + IDLE_LIMIT // timedelta(milliseconds=1)
        if status != "active" or now >= expires or idle_over:
            raise _signed_out()
        old = hashed != newest
        if old and taken_up is not None and now > taken_up + OLD_COOKIE_FOR // timedelta(milliseconds=1):
            raise _signed_out()
        new_cookie = await self._keep(
            device_id, hashed, now, rotated=rotated, taken_up=taken_up, seen=seen, old=old
        )
        return SignedIn(
            principal=Principal(
                user_id=UserId(user_id),
                kind="browser",
                scopes=frozenset({"*"}),
                email=email,
                switched_off=frozenset(orjson.loads(switched_off or "[]")),
            ),
            is_operator=bool(is_operator),
            device_id=device_id,
            created_at=from_ms(created),
            expires_at=from_ms(expires),
            new_cookie=new_cookie,
        )

    async def _keep(
        self,
        device_id: str,
        hashed: str,
        now: int,
        *,
        rotated: int,
        taken_up: int | None,
        seen: int,
        old: bool,
    ) -> str | None:
        """Writes what this use changes, at most once a minute, and gives a new cookie when it is time."""
        minute = SEEN_INTERVAL // timedelta(milliseconds=1)
        if old:
            # Its successor may have been lost on the way: after a while another one is given.
            lost = taken_up is None and now > rotated + OLD_COOKIE_FOR // timedelta(milliseconds=1)
            return await self._rotate(device_id, hashed, keep_previous=True) if lost else None
        if now > rotated + ROTATE_AFTER // timedelta(milliseconds=1):
            return await self._rotate(device_id, hashed, keep_previous=False)
        if taken_up is None or now > seen + minute:
            async with self._database.system_write() as unit:
                values: dict[str, Any] = {"last_seen_at": from_ms(now)}
                if taken_up is None:
                    values["taken_up_at"] = from_ms(now)
                await unit.connection.execute(update(devices).where(devices.c.id == device_id).values(values))
        return None

    async def _rotate(self, device_id: str, hashed: str, *, keep_previous: bool) -> str | None:
        cookie = secrets.token_urlsafe(_COOKIE_BYTES)
        now = self._clock()
        held = devices.c.previous_hash if keep_previous else devices.c.hash
        async with self._database.system_write() as unit:
            changed = await unit.connection.execute(
                update(devices)
                .where(devices.c.id == device_id, held == hashed)  # of two requests at once, one rotates
                .values(
                    hash=cookie_hash(cookie),
                    previous_hash=hashed,
                    rotated_at=now,
                    taken_up_at=None,
                    last_seen_at=now,
                )
            )
        return cookie if changed.rowcount else None

    # --- signing in and out -----------------------------------------------------------------------

    async def sign_in(self, email: str, password: str, client: Client) -> SignedIn:
        """Raises LoginFailed, LimitReached."""
        keys = self._limits.keys(email, client.address)
        await self._limits.check(keys)
        user = await self._identity.check_password(email, password)
        if user is None:
            await self._limits.count(keys)
            await self._note(None, "login", email.strip().lower(), "denied")
            raise LoginFailed("The e-mail address or the password is not right.")
        await self._limits.forget(keys)
        return await self._open(user, client, "login")

    async def _open(self, user: User, client: Client, action: str) -> SignedIn:
        """A new device, always with a new cookie: nothing that was there before a sign-in lives on."""
        now = self._clock()
        cookie = secrets.token_urlsafe(_COOKIE_BYTES)
        device_id = new_id("dev")
        async with self._database.system_write() as unit:
            await unit.connection.execute(delete(devices).where(devices.c.expires_at <= now))
            await unit.connection.execute(
                insert(devices).values(
                    id=device_id,
                    owner_id=user.id,
                    hash=cookie_hash(cookie),
                    previous_hash=None,
                    rotated_at=now,
                    taken_up_at=now,
                    created_at=now,
                    last_seen_at=now,
                    expires_at=now + ABSOLUTE_LIMIT,
                    user_agent=client.user_agent[:300],
                    address=client.address[:64],
                )
            )
            self._audit(unit, user.id, action, device_id)
        signed = await self.authenticate(cookie)
        return SignedIn(
            signed.principal, signed.is_operator, device_id, signed.created_at, signed.expires_at, cookie
        )

    async def sign_out(self, signed: SignedIn) -> None:
        await self.end(signed.principal, signed.device_id)

    async def end(self, principal: Principal, device_id: str) -> None:
        """Raises NotFound."""
        async with self._database.system_write() as unit:
            ended = await unit.connection.execute(
                delete(devices).where(devices.c.id == device_id, devices.c.owner_id == principal.user_id)
            )
            if not ended.rowcount:
                raise NotFound
            self._audit(unit, principal.user_id, "logout", device_id)

    async def end_all(self, principal: Principal, *, but: str | None = None) -> None:
        async with self._database.system_write() as unit:
            mine = devices.c.owner_id == principal.user_id
            await unit.connection.execute(delete(devices).where(mine, devices.c.id != (but or "")))
            self._audit(unit, principal.user_id, "logout.all", principal.user_id)

    async def list(self, principal: Principal) -> Sequence[dict[str, Any]]:
        async with self._database.tenant_read(principal.user_id) as unit:
            rows = await unit.connection.execute(
                select(devices)
                .where(devices.c.owner_id == principal.user_id, devices.c.expires_at > self._clock())
                .order_by(devices.c.last_seen_at.desc(), devices.c.id)
            )
            return [
                {
                    "id": row.id,
                    "created_at": row.created_at,
                    "last_seen_at": row.last_seen_at,
                    "user_agent": row.user_agent,
                    "address": row.address,
                }
                for row in rows
            ]

    async def confirm_password(self, signed: SignedIn, password: str, client: Client) -> User:
        """The account's owner once more, before something that outlives the session.

        Raises LoginFailed, LimitReached.
        """
        keys = self._limits.keys(signed.principal.email, client.address)
        await self._limits.check(keys)
        user = await self._identity.check_password(signed.principal.email, password)
        if user is None:
            await self._limits.count(keys)
            raise LoginFailed("The password is not right.")
        return user

    async def change_password(self, signed: SignedIn, current: str, new: str, client: Client) -> SignedIn:
        """Signs everything else out. Raises LoginFailed, LimitReached, InvalidParams."""
        user = await self.confirm_password(signed, current, client)
        await self._identity.set_password(user.id, new)
        await self.end_all(signed.principal)
        return await self._open(user, client, "login")

    # --- the first account --------------------------------------------------------------------------

    async def setup_needed(self) -> bool:
        """Whether nobody can sign in yet."""
        async with self._database.system_read() as unit:
            found = await unit.connection.execute(
                select(users.c.id).where(users.c.password_hash.is_not(None)).limit(1)
            )
            return found.first() is None

    async def make_setup_link(self, base_url: str) -> str | None:
        """A fresh one-time address, which replaces an earlier one; None where somebody can sign in."""
        if not await self.setup_needed():
            return None
        token = secrets.token_urlsafe(_COOKIE_BYTES)
        async with self._database.system_write() as unit:
            await unit.connection.execute(delete(setup_links))
            await unit.connection.execute(
                insert(setup_links).values(hash=cookie_hash(token), created_at=self._clock())
            )
        # In the fragment: browsers do not send it, so it stands in no log.
        return f"{base_url}/setup#token={token}"

    async def set_up(self, token: str, email: str, password: str, client: Client) -> SignedIn:
        """The first account, signed in. Raises SetupLinkInvalid, InvalidParams."""
        hashed = cookie_hash(token)
        async with self._database.system_read() as unit:
            found = await unit.connection.execute(select(setup_links).where(setup_links.c.hash == hashed))
            if found.first() is None or not await self.setup_needed():
                raise SetupLinkInvalid(
                    "This set-up link is not valid any more. The server prints a new one when it starts."
                )
        user = await self._identity.set_up_first(email, password, link_hash=hashed)
        return await self._open(user, client, "setup")

    # --- the trail ------------------------------------------------------------------------------------

    def _audit(self, unit: Unit, user_id: str, action: str, target: str, outcome: str = "succeeded") -> None:
        entry = AuditEntry(
            actor_id=user_id, caller_kind="browser", action=action, target=target, outcome=outcome
        )
        insert_entry(unit, entry, self._clock())

    async def _note(self, user_id: str | None, action: str, target: str, outcome: str) -> None:
        async with self._database.system_write() as unit:
            self._audit(unit, user_id or "", action, target, outcome)


def _signed_out() -> Unauthenticated:
    return Unauthenticated("You are signed out. Sign in again.")
