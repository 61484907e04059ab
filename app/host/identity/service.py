"""Accounts and their bearer tokens: the one place that turns a header into a `Principal`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
import structlog
from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from app.errors import IdentityLost, InvalidParams, NotFound, SetupLinkInvalid, Unauthenticated
from app.host.audit import insert_entry
from app.host.identity.passwords import Passwords, check_strength
from app.host.identity.tokens import HINT_CHARACTERS, TokenKind, make_token, token_hash, token_kind
from app.protocol.column_types import from_ms, to_ms
from app.protocol.identity import CORE_SCOPES, Principal
from app.protocol.ids import TokenId, UserId, new_id
from app.protocol.ports import AuditEntry
from app.storage.database import Database, Unit
from app.storage.statement import Statement
from app.storage.tables import setup_links, tokens, users

DEFAULT_EXPIRY_DAYS = 90
MAX_EXPIRY_DAYS = 3650
USED_WRITE_INTERVAL_S = 60.0
"""How often the times of last use are written: they are for people, who look at days."""

log = structlog.get_logger()

_EMAIL = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,255}")

_BY_HASH_SQL = (
    "SELECT t.id, t.kind, t.scopes, t.app_id, t.expires_at, t.revoked_at, u.id, u.email, u.status,"
    " u.is_operator, (SELECT {packages} FROM package_switches w"
    " WHERE w.owner_id = u.id AND NOT w.enabled)"
    " FROM tokens t JOIN users u ON u.id = t.owner_id WHERE t.hash = :hash"
)
# On the path of every request, so one statement without a transaction. It brings along which packages
# the user has switched off, since a run's snapshot needs that next.
_BY_HASH = Statement(
    _BY_HASH_SQL.format(packages="json_group_array(w.package)"),
    postgresql=_BY_HASH_SQL.format(packages="json_agg(w.package)::text"),
)

_RECALL_SQL = (
    "SELECT u.email, u.status, t.id, t.scopes, t.expires_at, t.revoked_at,"
    " (SELECT {packages} FROM package_switches w WHERE w.owner_id = u.id AND NOT w.enabled)"
    " FROM users u LEFT JOIN tokens t ON t.id = :token AND t.owner_id = u.id WHERE u.id = :owner"
)
_RECALL = Statement(
    _RECALL_SQL.format(packages="json_group_array(w.package)"),
    postgresql=_RECALL_SQL.format(packages="json_agg(w.package)::text"),
)


@dataclass(frozen=True, slots=True)
class User:
    id: str
    email: str
    is_operator: bool
    status: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as lists show it; the token itself is never kept."""

    id: str
    owner_id: str
    kind: TokenKind
    hint: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


class IdentityService:
    """Accounts, tokens and sign-in.

    Args:
        database: where users and tokens are.
        clock: the present moment, UTC.
        package_scopes: `NAMESPACE:read` and `NAMESPACE:write` of the packages there are now.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Callable[[], datetime],
        package_scopes: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._database = database
        self._clock = clock
        self._package_scopes = package_scopes
        self._passwords = Passwords()
        self._used: dict[str, int] = {}
        self._writer: asyncio.Task[None] | None = None

    # --- who is calling ---------------------------------------------------------------------------

    async def authenticate(self, authorization: str | None) -> Principal:
        """The principal of an `Authorization` header, with one query and no write.

        Raises:
            Unauthenticated: no token, not one of ours, expired, revoked, or its user is disabled.
        """
        if not authorization:
            raise Unauthenticated("Send your token as `Authorization: Bearer deskmate_u_…`.")
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or token_kind(token) is None:
            raise _refused()
        rows = await self._database.lookup(_BY_HASH, {"hash": token_hash(token)})
        if not rows:
            raise _refused()
        (token_id, kind, scopes, app_id, expires_at, revoked_at) = tuple(rows[0])[:6]
        (user_id, email, status, is_operator, switched_off) = tuple(rows[0])[6:]
        now = to_ms(self._clock())
        if revoked_at is not None or expires_at <= now or status != "active":
            raise _refused()
        if kind == "operator" and not is_operator:
            raise _refused()  # the right was taken away after the token was made
        self._used[token_id] = now
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_used_for_ever(), name="token-last-used")
        return Principal(
            user_id=UserId(user_id),
            kind="operator" if kind == "operator" else "app" if app_id else "api",
            scopes=frozenset(orjson.loads(scopes)),
            email=email,
            token_id=TokenId(token_id),
            app_id=app_id,
            switched_off=frozenset(orjson.loads(switched_off or "[]")),
            # A user's token never carries an operator's rights, whoever made it (least privilege, W3).
            is_operator=kind == "operator",
        )

    async def recall(self, owner_id: str, facts: Mapping[str, Any]) -> Principal:
        """The principal of stored facts (`Principal.facts`), as far as their rights still exist now.

        For work that goes on without a request: a token's scopes are read again, never widened.

        Raises:
            IdentityLost: the account is gone or disabled, or the token was revoked or has expired.
        """
        values = {"owner": owner_id, "token": facts.get("token_id") or ""}
        rows = await self._database.lookup(_RECALL, values)
        if not rows:
            raise IdentityLost("The user is no longer there.")
        email, status, token_id, scopes, expires_at, revoked_at, switched_off = tuple(rows[0])
        if status != "active":
            raise IdentityLost("This account has been disabled.")
        granted = frozenset(facts.get("scopes", ()))
        if facts.get("token_id"):
            if token_id is None or revoked_at is not None or expires_at <= to_ms(self._clock()):
                raise IdentityLost("The token that this was asked for with has been revoked or has expired.")
            still = frozenset(orjson.loads(scopes))
            granted = granted if "*" in still else still if "*" in granted else granted & still
        return Principal(
            user_id=UserId(owner_id),
            kind="worker",
            scopes=granted,
            email=email,
            token_id=TokenId(facts["token_id"]) if facts.get("token_id") else None,
            app_id=facts.get("app_id"),
            switched_off=frozenset(orjson.loads(switched_off or "[]")),
        )

    # --- accounts ---------------------------------------------------------------------------------

    async def add_user(self, email: str, password: str | None = None, *, operator: bool = False) -> User:
        """Raises InvalidParams: bad address or password, or there is such a user."""
        email = normal_email(email)
        hashed: str | None = None
        if password is not None:
            check_strength(password)
            hashed = await self._passwords.hash(password)
        user = User(new_id("usr"), email, operator, "active", self._clock())
        try:
            async with self._database.system_write() as unit:
                await unit.connection.execute(
                    insert(users).values(
                        id=user.id,
                        email=email,
                        password_hash=hashed,
                        is_operator=operator,
                        status="active",
                        created_at=user.created_at,
                    )
                )
                await self._audit(unit, user.id, "user.add", user.id)
        except IntegrityError as error:
            raise InvalidParams(f"There is a user {email} already.") from error
        return user

    async def find_user(self, email: str) -> User:
        """Raises NotFound."""
        async with self._database.system_read() as unit:
            user = await self._user_by_email(unit, normal_email(email))
        if user is None:
            raise NotFound(f"There is no user {email}.")
        return user

    async def first_user(self) -> User | None:
        """The oldest account; None in an empty installation."""
        async with self._database.system_read() as unit:
            oldest = select(users).order_by(users.c.created_at, users.c.id).limit(1)
            row = (await unit.connection.execute(oldest)).one_or_none()
        return None if row is None else _user(row)

    async def check_password(self, email: str, password: str) -> User | None:
        """The active user of these, or None; wrong password and unknown user take the same time."""
        async with self._database.system_read() as unit:
            row = (
                await unit.connection.execute(select(users).where(users.c.email == email.strip().lower()))
            ).one_or_none()
        right = await self._passwords.verify(None if row is None else row.password_hash, password)
        return _user(row) if right and row is not None and row.status == "active" else None

    async def set_password(self, user_id: str, password: str) -> None:
        """Raises InvalidParams."""
        check_strength(password)
        hashed = await self._passwords.hash(password)
        async with self._database.system_write() as unit:
            await unit.connection.execute(
                update(users).where(users.c.id == user_id).values(password_hash=hashed)
            )
            await self._audit(unit, user_id, "password.change", user_id)

    async def set_up_first(self, email: str, password: str, *, link_hash: str) -> User:
        """The account that a set-up link makes: a new one, or one without a password that is there.

        The link is spent in the same transaction. Raises InvalidParams, SetupLinkInvalid.
        """
        email = normal_email(email)
        check_strength(password)
        hashed = await self._passwords.hash(password)
        user = User(new_id("usr"), email, True, "active", self._clock())
        async with self._database.system_write() as unit:
            spent = await unit.connection.execute(delete(setup_links).where(setup_links.c.hash == link_hash))
            if not spent.rowcount:
                raise SetupLinkInvalid("This set-up link was used already. Sign in instead.")
            there = await self._user_by_email(unit, email)
            if there is None:
                await unit.connection.execute(
                    insert(users).values(
                        id=user.id,
                        email=email,
                        password_hash=hashed,
                        is_operator=True,
                        status="active",
                        created_at=user.created_at,
                    )
                )
            else:
                user = there
                await unit.connection.execute(
                    update(users).where(users.c.id == there.id).values(password_hash=hashed, is_operator=True)
                )
            await self._audit(unit, user.id, "setup", user.id)
        return user

    async def set_status(self, user_id: str, *, active: bool) -> None:
        """Disabling ends all of the user's tokens at once: each request asks for the status."""
        async with self._database.system_write() as unit:
            await unit.connection.execute(
                update(users).where(users.c.id == user_id).values(status="active" if active else "disabled")
            )
            await self._audit(unit, user_id, "user.enable" if active else "user.disable", user_id)

    # --- tokens -----------------------------------------------------------------------------------

    def valid_scopes(self) -> tuple[str, ...]:
        return CORE_SCOPES + tuple(sorted(set(self._package_scopes())))

    def check_scopes(self, scopes: Iterable[str]) -> tuple[str, ...]:
        """Raises InvalidParams with the scopes that exist."""
        wanted = tuple(sorted(set(scopes)))
        known = self.valid_scopes()
        unknown = [scope for scope in wanted if scope != "*" and scope not in known]
        if unknown:
            raise InvalidParams(
                f"Unknown scope {', '.join(unknown)}. Valid ones: {', '.join(known)}, or '*' for all."
            )
        if not wanted:
            raise InvalidParams(
                f"A token needs at least one scope. Valid ones: {', '.join(known)}, or '*' for all."
            )
        return wanted

    async def create_token(
        self,
        email: str,
        scopes: Iterable[str] = (),
        *,
        expires_days: int = DEFAULT_EXPIRY_DAYS,
        operator: bool = False,
        name: str = "",
        app_id: str | None = None,
    ) -> tuple[str, TokenRow]:
        """A new token, to be shown once, and its row. An operator's token has no user scopes.

        Raises:
            NotFound: no such user.
            InvalidParams: unknown scope, bad expiry, or an operator token for somebody who is not one.
        """
        granted = () if operator else self.check_scopes(scopes)
        if not 1 <= expires_days <= MAX_EXPIRY_DAYS:
            raise InvalidParams(f"A token lives between 1 and {MAX_EXPIRY_DAYS} days.")
        user = await self.find_user(email)
        if operator and not user.is_operator:
            raise InvalidParams(f"{email} is not an operator.")
        token = make_token("operator" if operator else "user")
        now = self._clock()
        row = TokenRow(
            id=new_id("tok"),
            owner_id=user.id,
            kind="operator" if operator else "user",
            hint=token[:HINT_CHARACTERS],
            name=name[:120],
            scopes=granted,
            created_at=now,
            expires_at=now + timedelta(days=expires_days),
        )
        async with self._database.system_write() as unit:
            await unit.connection.execute(
                insert(tokens).values(
                    id=row.id,
                    owner_id=row.owner_id,
                    kind=row.kind,
                    hash=token_hash(token),
                    hint=row.hint,
                    name=row.name,
                    scopes=list(granted),
                    app_id=app_id,
                    created_at=row.created_at,
                    expires_at=row.expires_at,
                )
            )
            await self._audit(unit, user.id, "token.create", row.id)
        return token, row

    async def list_tokens(self, user_id: str) -> Sequence[TokenRow]:
        async with self._database.tenant_read(user_id) as unit:
            rows = await unit.connection.execute(
                select(tokens)
                .where(tokens.c.owner_id == user_id)
                .order_by(tokens.c.created_at.desc(), tokens.c.id)
            )
            return [_token(row) for row in rows]

    async def revoke_token(self, user_id: str, token_id: str) -> None:
        """At once and for good; revoking twice is no error. Raises NotFound."""
        async with self._database.system_write() as unit:
            mine = (tokens.c.id == token_id) & (tokens.c.owner_id == user_id)
            row = (await unit.connection.execute(select(tokens.c.revoked_at).where(mine))).one_or_none()
            if row is None:
                raise NotFound
            if row.revoked_at is None:
                await unit.connection.execute(update(tokens).where(mine).values(revoked_at=self._clock()))
                await self._audit(unit, user_id, "token.revoke", token_id)

    # --- time of last use ---------------------------------------------------------------------------

    async def aclose(self) -> None:
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
            self._writer = None
        await self.write_used()

    async def write_used(self) -> None:
        """One statement for all tokens used since the last time; never part of a request."""
        used, self._used = self._used, {}
        if not used:
            return
        statement = (
            tokens.update().where(tokens.c.id == bindparam("token")).values(last_used_at=bindparam("used_at"))
        )
        async with self._database.system_write() as unit:
            await unit.connection.execute(
                statement, [{"token": token, "used_at": from_ms(at)} for token, at in sorted(used.items())]
            )

    async def _write_used_for_ever(self) -> None:
        while True:
            await asyncio.sleep(USED_WRITE_INTERVAL_S)
            try:
                await self.write_used()
            except Exception:
                # A lost time of last use is not worth a stopped timer.
                log.exception("times of last use could not be written")

    async def _user_by_email(self, unit: Unit, email: str) -> User | None:
        row = (await unit.connection.execute(select(users).where(users.c.email == email))).one_or_none()
        return None if row is None else _user(row)

    async def _audit(self, unit: Unit, user_id: str, action: str, target: str) -> None:
        entry = AuditEntry(
            actor_id=user_id, caller_kind="operator", action=action, target=target, outcome="succeeded"
        )
        insert_entry(unit, entry, self._clock())


def normal_email(email: str) -> str:
    """Lower case and trimmed. Raises InvalidParams where it cannot be an address."""
    email = email.strip().lower()
    if not _EMAIL.fullmatch(email):
        raise InvalidParams("That is not an e-mail address.")
    return email


def _refused() -> Unauthenticated:
    """One answer for every bad token: which of them it was is nobody's business."""
    return Unauthenticated("The token is not valid: it is unknown, expired or revoked.")


def _user(row: Any) -> User:
    return User(row.id, row.email, row.is_operator, row.status, row.created_at)


def _token(row: Any) -> TokenRow:
    return TokenRow(
        id=row.id,
        owner_id=row.owner_id,
        kind=row.kind,
        hint=row.hint,
        name=row.name,
        scopes=tuple(row.scopes),
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )
