"""The first wall: whatever a package tries, it stays among its own tables and its caller's rows."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import (
    Integer,
    String,
    UniqueConstraint,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal_column,
    not_,
    or_,
    select,
    text,
    tuple_,
    union,
    update,
)
from sqlalchemy import column as free_column
from sqlalchemy import table as free_table
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, aliased, defer, mapped_column, object_session

from app.errors import ToolForbidden
from app.protocol.identity import Principal
from app.protocol.ids import UserId, new_id
from app.sdk.errors import Conflict
from app.sdk.migration import protect
from app.sdk.tables import OwnedMixin, SharedMixin, package_base
from app.storage.database import Database
from app.storage.package_schema import PackageSchema, Refused
from app.storage.package_tx import PackageTx
from app.storage.tables import users

Base = package_base("notes")
Other = package_base("other")


class Note(OwnedMixin, Base):
    __tablename__ = "entries"
    __table_args__ = (UniqueConstraint("owner_id", "slug", name="uq_notes_slug"),)
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    slug: Mapped[str] = mapped_column(String(64))
    body: Mapped[str] = mapped_column(String(200), default="")
    stars: Mapped[int] = mapped_column(Integer, default=0)


class Tag(OwnedMixin, Base):
    __tablename__ = "tags"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    note_id: Mapped[int] = mapped_column(Integer)
    name: Mapped[str] = mapped_column(String(64))


class Rule(SharedMixin, Base):
    __tablename__ = "rules"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    body: Mapped[str] = mapped_column(String(200))


class Stranger(OwnedMixin, Other):
    __tablename__ = "entries"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)


SCHEMA = PackageSchema(Base)


def principal(user: str, *, operator: bool = False) -> Principal:
    return Principal(
        user_id=UserId(user), kind="api", scopes=frozenset({"*"}), email="a@example.org", is_operator=operator
    )


def tx_of(unit: Any, user: str, *, operator: bool = False) -> PackageTx:
    return PackageTx(unit, schema=SCHEMA, principal=principal(user, operator=operator))


async def make_tables(database: Database) -> None:
    async with database.system_write() as unit:
        for base in (Base, Other):
            await unit.connection.run_sync(base.metadata.create_all)

        def walls(connection: Any) -> None:
            run = Operations(MigrationContext.configure(connection))
            for name in ("pkg_notes_entries", "pkg_notes_tags", "pkg_other_entries"):
                protect(run, name)
            protect(run, "pkg_notes_rules", shared=True)

        if not await unit.connection.run_sync(lambda c: c.info.get("walls", False)):
            await unit.connection.run_sync(walls)


@pytest.fixture(scope="module")
def ready() -> set[str]:
    return set()


@pytest.fixture
async def db(database: Database, ready: set[str]) -> Database:
    if str(database.url) not in ready:
        await make_tables(database)
        ready.add(str(database.url))
    return database


@pytest.fixture
async def alice(db: Database) -> str:
    """A user with one note and one tag; Bob has the like, with the same slug."""
    return await user_with_note(db)


@pytest.fixture
async def bob(db: Database) -> str:
    return await user_with_note(db)


async def user_with_note(db: Database) -> str:
    user = new_id("usr")
    async with db.tenant_write(user) as unit:
        tx = tx_of(unit, user)
        note = Note(slug="first", body=f"secret of {user}")
        await tx.add(note)
        await tx.add(Tag(id=new_id("tag"), note_id=note.id, name="t"))
    return user


async def note_of(db: Database, user: str) -> Note:
    async with db.tenant_read(user) as unit:
        return (await tx_of(unit, user).select(select(Note).where(Note.slug == "first")))[0]


# --- what works ---


async def test_select_get_and_count_see_the_callers_rows_only(db: Database, alice: str, bob: str) -> None:
    foreign = await note_of(db, bob)
    async with db.tenant_read(alice) as unit:
        tx = tx_of(unit, alice)
        assert [note.owner_id for note in await tx.select(select(Note))] == [alice]
        assert await tx.get(Note, foreign.id) is None
        assert await tx.count(Note) == 1
        assert await tx.count(Note, Note.id == foreign.id) == 0
        assert await tx.select(select(Note).where((Note.id == foreign.id) | (Note.stars >= 0))) == [
            await tx.get(Note, (await tx.select(select(Note)))[0].id)
        ]


async def test_a_join_of_own_tables_is_narrowed_on_both_sides(db: Database, alice: str, bob: str) -> None:
    foreign = await note_of(db, bob)
    async with db.tenant_write(alice) as unit:
        # Alice's tag points at Bob's note: the join must not lead there, nor back
        await tx_of(unit, alice).add(Tag(id=new_id("tag"), note_id=foreign.id, name="spy"))
    async with db.tenant_read(alice) as unit:
        tx = tx_of(unit, alice)
        joined = select(Note).join(Tag, Tag.note_id == Note.id).order_by(func.lower(Tag.name), Note.id.desc())
        assert {note.owner_id for note in await tx.select(joined)} == {alice}
        spied = select(Tag).join(Note, Tag.note_id == Note.id).where(Tag.name == "spy")
        assert await tx.select(spied) == []
        again = aliased(Note)
        self_join = select(Note).join(again, again.slug == Note.slug).where(again.id == foreign.id)
        assert await tx.select(self_join) == []


ORDINARY: dict[str, Any] = {
    "in": select(Note).where(Note.slug.in_(["first", "second"])),
    "not in": select(Note).where(Note.slug.not_in(["second"])),
    "like": select(Note).where(Note.slug.icontains("IRS", autoescape=True)),
    "between": select(Note).where(Note.stars.between(0, 9)),
    "or": select(Note).where(or_(Note.slug == "first", and_(Note.stars > 3, not_(Note.body.is_(None))))),
    "functions": select(Note).where(func.lower(Note.slug) == "first", func.coalesce(Note.stars, 0) == 0),
    "case": select(Note).order_by(case((Note.slug == "first", 0), else_=1), Note.id.desc().nulls_last()),
    "arithmetic": select(Note).where(Note.stars + 1 == 1),
    "page": select(Note).limit(5).offset(0),
    "distinct": select(Note).distinct(),
    "locked": select(Note).with_for_update(),
    "tuples": select(Note).where(tuple_(Note.stars, Note.id) > (-1, 0)),
    "from itself": select(Note).select_from(Note),
}


@pytest.mark.parametrize("name", ORDINARY)
async def test_ordinary_selects_work(db: Database, alice: str, bob: str, name: str) -> None:
    async with db.tenant_write(alice) as unit:
        assert [note.owner_id for note in await tx_of(unit, alice).select(ORDINARY[name])] == [alice]


async def test_changed_rows_are_flushed_at_the_end(db: Database, alice: str) -> None:
    async with db.tenant_write(alice) as unit:
        (note,) = await tx_of(unit, alice).select(select(Note))
        note.body = "changed"
    assert (await note_of(db, alice)).body == "changed"


async def test_a_row_added_past_the_orm_is_the_orms_row_all_the_same(db: Database, alice: str) -> None:
    """A plain INSERT is faster than a flush; nobody must see the difference."""
    kept, changed, gone, late = (new_id("tag") for _ in range(4))
    async with db.tenant_write(alice) as unit:
        tx = tx_of(unit, alice)
        rows = {name: Tag(id=name, note_id=7, name="a") for name in (kept, changed, gone)}
        for row in rows.values():
            await tx.add(row)
        rows[changed].name = "b"
        found = {row.id: row.name for row in await tx.select(select(Tag).where(Tag.note_id == 7))}
        assert found == {kept: "a", changed: "b", gone: "a"}
        await tx.delete(rows[gone])
        rows[changed].name = "c"
    async with db.tenant_write(alice) as unit:
        row = Tag(id=late, note_id=7, name="a")
        await tx_of(unit, alice).add(row)
        row.name = "z"  # and nothing else is asked of this unit
    async with db.tenant_read(alice) as unit:
        stored = await tx_of(unit, alice).select(select(Tag).where(Tag.note_id == 7))
    assert {row.id: row.name for row in stored} == {kept: "a", changed: "c", late: "z"}


async def test_defaults_and_constraints_are_those_of_the_orm(db: Database, alice: str) -> None:
    key = 1_000_000 + secrets.randbelow(1_000_000_000)
    async with db.tenant_write(alice) as unit:
        note = Note(id=key, slug="x")
        await tx_of(unit, alice).add(note)
        assert (note.body, note.stars, note.owner_id) == ("", 0, alice)
    with pytest.raises(IntegrityError):
        async with db.tenant_write(alice) as unit:
            await tx_of(unit, alice).add(Note(id=key, slug="y"))


async def test_update_and_delete_reach_the_callers_rows_only(db: Database, alice: str, bob: str) -> None:
    async with db.tenant_write(alice) as unit:
        tx = tx_of(unit, alice)
        assert await tx.update(Note, Note.slug == "first", values={"stars": Note.stars + 5}) == 1
        assert await tx.update(Note, values={"body": "all"}) == 1
        assert await tx.delete_where(Tag) == 1
    assert (await note_of(db, alice)).stars == 5
    foreign = await note_of(db, bob)
    assert (foreign.stars, foreign.body) == (0, f"secret of {bob}")
    async with db.tenant_write(bob) as unit:
        tx = tx_of(unit, bob)
        assert await tx.count(Tag) == 1
        (note,) = await tx.select(select(Note))
        await tx.delete(note)
        assert await tx.count(Note) == 0


async def test_upsert_goes_by_the_callers_key(db: Database, alice: str, bob: str) -> None:
    async with db.tenant_write(alice) as unit:
        tx = tx_of(unit, alice)
        await tx.upsert(Note, {"slug": "first", "body": "upserted"}, key=["slug"])
        await tx.upsert(Note, {"slug": "second", "body": "new", "stars": 0}, key=["slug"])
        assert await tx.count(Note) == 2
    assert (await note_of(db, alice)).body == "upserted"
    assert (await note_of(db, bob)).body == f"secret of {bob}"


async def test_upsert_on_a_foreign_row_is_a_conflict(db: Database, alice: str, bob: str) -> None:
    foreign = await note_of(db, bob)
    with pytest.raises(Conflict):
        async with db.tenant_write(alice) as unit:
            await tx_of(unit, alice).upsert(
                Note, {"id": foreign.id, "slug": "x", "body": "mine", "stars": 0}, key=["id"]
            )
    assert (await note_of(db, bob)).body == f"secret of {bob}"


async def test_shared_rows_are_read_by_all_and_written_by_operators(db: Database, alice: str) -> None:
    rule = new_id("rule")
    operator = new_id("usr")
    async with db.tenant_write(operator) as unit:
        tx = tx_of(unit, operator, operator=True)
        await tx.add(Rule(id=rule, body="be kind"))
        await tx.upsert(Rule, {"id": rule, "body": "be kinder"}, key=["id"])
        assert await tx.update(Rule, Rule.id == rule, values={"body": "be kindest"}) == 1
    async with db.tenant_write(alice) as unit:
        tx = tx_of(unit, alice)
        found = await tx.get(Rule, rule)
        assert found is not None
        assert found.body == "be kindest"
        for attempt in (
            tx.add(Rule(id=new_id("rule"), body="mine")),
            tx.upsert(Rule, {"id": rule, "body": "mine"}, key=["id"]),
            tx.update(Rule, values={"body": "mine"}),
            tx.delete_where(Rule),
            tx.delete(found),
        ):
            with pytest.raises(ToolForbidden):
                await attempt

    async def changed_in_place() -> None:
        async with db.tenant_write(alice) as unit:
            found = await tx_of(unit, alice).get(Rule, rule)
            assert found is not None
            found.body = "mine"

    with pytest.raises(ToolForbidden):
        await changed_in_place()


# --- what does not ---

Foreign = aliased(Note)
CORE = users
LOOSE = free_table("users", free_column("id"), free_column("email"))

ATTEMPTS: dict[str, Any] = {
    "core table": select(CORE),
    "core column beside": select(Note, CORE.c.email),
    "column of a core table": select(CORE.c.email),
    "another package's class": select(Stranger),
    "columns instead of rows": select(Note.body, Note.owner_id),
    "a function of columns": select(func.max(Note.body)),
    "an alias": select(Foreign),
    "a row and a column": select(Note, Note.body),
    "text": text("select * from users"),
    "from text": select(Note).from_statement(text("select * from pkg_notes_entries")),
    "text in where": select(Note).where(text("1 = 1 or true")),
    "literal column": select(Note).where(literal_column("1") == 1),
    "text in order": select(Note).order_by(text("(select email from users)")),
    "an operator of one's own": select(Note).where(Note.body.op("= 'x' OR 1=1 OR body =")("y")),
    "boolean operator of one's own": select(Note).where(Note.body.bool_op("is not null or")("y")),
    "a function": select(Note).where(func.set_config("deskmate.owner", "x", True) == "x"),
    "pg_sleep": select(Note).where(func.pg_sleep(10).is_(None)),
    "scalar subquery": select(Note).where(select(CORE.c.email).limit(1).scalar_subquery() == "a"),
    "in subquery": select(Note).where(Note.owner_id.in_(select(CORE.c.id))),
    "exists": select(Note).where(select(CORE.c.id).exists()),
    "exists of own": select(Note).where(select(Tag.id).where(Tag.note_id == Note.id).exists()),
    "union": union(select(Note), select(Note)),
    "rows from a union": select(Note).from_statement(union(select(Note), select(Note))),
    "cte": select(Note).add_cte(select(CORE).cte("c")),
    "row from a subquery": select(aliased(Note, select(Note).subquery())),
    "join to core": select(Note).join(CORE, CORE.c.id == Note.owner_id),
    "join to a package": select(Note).join(Stranger, Stranger.owner_id == Note.owner_id),
    "join to a subquery": select(Note).join(select(Tag).subquery(), text("true")),
    "join to a lateral": select(Note).join(select(Tag).lateral(), literal_column("true")),
    "join on text": select(Note).join(Tag, text("1 = 1")),
    "outer join": select(Note).outerjoin(Tag, Tag.note_id == Note.id),
    "unjoined class": select(Note).where(Tag.name == "t"),
    "foreign column in where": select(Note).where(CORE.c.email == "a"),
    "foreign column in order": select(Note).order_by(CORE.c.email),
    "from core": select(Note).select_from(CORE),
    "a loose table": select(LOOSE),
    "a loose table joined": select(Note).join(LOOSE, LOOSE.c.id == Note.owner_id),
    "prefix": select(Note).prefix_with("/* x */ body as leak,"),
    "suffix": select(Note).suffix_with("union select * from users"),
    "hint": select(Note).with_hint(Note, "x"),
    "statement hint": select(Note).with_statement_hint("; select 1"),
    "options": select(Note).options(defer(Note.body)),
    "execution options": select(Note).execution_options(schema_translate_map={None: "x"}),
    "group": select(Note).group_by(Note.id),
    "having": select(Note).group_by(Note.id).having(func.count() > 0),
    "literal execute": select(Note).where(Note.body == bindparam("b", "x", literal_execute=True)),
    "cast": select(Note).where(Note.body.cast(Integer) == 1),
    "collation": select(Note).order_by(Note.body.collate('C" desc; --')),
    "update statement": update(Note).values(body="x"),
    "delete statement": delete(Note),
    "a string": "select * from users",
    "the core table itself": CORE,
}


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_select_refuses(db: Database, alice: str, name: str) -> None:
    async with db.tenant_read(alice) as unit:
        with pytest.raises(Refused):
            await tx_of(unit, alice).select(ATTEMPTS[name])


async def test_other_classes_are_refused_everywhere(db: Database, alice: str) -> None:
    async with db.tenant_write(alice) as unit:
        tx = tx_of(unit, alice)
        for thing in (Stranger, CORE, Foreign, Note.__table__, object):
            entity: Any = thing
            for attempt in (
                tx.get(entity, "x"),
                tx.count(entity),
                tx.update(entity, values={"id": "x"}),
                tx.delete_where(entity),
                tx.upsert(entity, {"id": "x"}, key=["id"]),
            ):
                with pytest.raises(Refused):
                    await attempt
        with pytest.raises(Refused):
            await tx.add(Stranger(id="x"))
        with pytest.raises(Refused):
            await tx.add(object())


async def test_conditions_and_values_that_reach_outside_are_refused(db: Database, alice: str) -> None:
    async with db.tenant_write(alice) as unit:
        tx = tx_of(unit, alice)
        leak = select(CORE.c.email).limit(1).scalar_subquery()
        wrong: list[Any] = [CORE.c.email == "a", Tag.name == "t", text("true"), leak == "a", "1 = 1", True]
        for where in wrong:
            for attempt in (
                tx.count(Note, where),
                tx.update(Note, where, values={"body": "x"}),
                tx.delete_where(Note, where),
            ):
                with pytest.raises(Refused):
                    await attempt
        values: list[Any] = [leak, text("1"), literal_column("1"), func.current_user(), Tag.name]
        for value in values:
            with pytest.raises(Refused):
                await tx.update(Note, values={"body": value})
            with pytest.raises(Refused):
                await tx.upsert(Note, {"slug": "first", "body": value}, key=["slug"])
        with pytest.raises(Refused):
            await tx.get(Note, leak)


async def test_rows_cannot_change_hands(db: Database, alice: str, bob: str) -> None:
    async def given_away(tx: PackageTx) -> None:
        await tx.add(Note(slug="gift", owner_id=bob))

    async def updated(tx: PackageTx) -> None:
        await tx.update(Note, values={"owner_id": bob})

    async def upserted(tx: PackageTx) -> None:
        await tx.upsert(Note, {"slug": "first", "owner_id": bob}, key=["slug"])

    async def flushed(tx: PackageTx) -> None:
        (note,) = await tx.select(select(Note))
        note.owner_id = bob
        await tx.count(Note)

    for attempt in (given_away, updated, upserted, flushed):
        with pytest.raises(Refused):
            async with db.tenant_write(alice) as unit:
                await attempt(tx_of(unit, alice))
    async with db.tenant_read(bob) as unit:
        assert await tx_of(unit, bob).count(Note) == 1


async def test_a_foreign_row_cannot_be_attached_or_deleted(db: Database, alice: str, bob: str) -> None:
    foreign = await note_of(db, bob)
    async with db.tenant_write(alice) as unit:
        with pytest.raises(Refused):
            await tx_of(unit, alice).delete(foreign)
    foreign.body = "mine now"
    with pytest.raises(Refused):
        async with db.tenant_write(alice) as unit:
            await tx_of(unit, alice).add(foreign)
    assert (await note_of(db, bob)).body == f"secret of {bob}"


async def test_the_session_behind_a_row_is_no_side_door(db: Database, alice: str, bob: str) -> None:
    foreign = await note_of(db, bob)
    async with db.tenant_read(alice) as unit:
        (note,) = await tx_of(unit, alice).select(select(Note))
        session = object_session(note)
        assert session is not None
        for statement in (select(Note), text("select 1"), select(CORE)):
            with pytest.raises(Refused):
                session.execute(statement)
        with pytest.raises(Refused):
            session.get(Note, foreign.id)
        with pytest.raises(Refused):
            session.query(Note).all()


async def test_a_read_unit_writes_nothing(db: Database, alice: str) -> None:
    async with db.tenant_read(alice) as unit:
        tx = tx_of(unit, alice)
        for attempt in (
            tx.add(Note(slug="n")),
            tx.update(Note, values={"body": "x"}),
            tx.delete_where(Note),
            tx.upsert(Note, {"slug": "x"}, key=["slug"]),
        ):
            with pytest.raises(Refused):
                await attempt


async def test_a_unit_of_another_owner_is_not_taken(db: Database, alice: str, bob: str) -> None:
    async with db.tenant_read(bob) as unit:
        with pytest.raises(ValueError, match="principal"):
            tx_of(unit, alice)
    async with db.system_read() as unit:
        with pytest.raises(ValueError, match="principal"):
            tx_of(unit, alice)
