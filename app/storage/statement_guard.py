# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# The parts of a Select are only reachable by their private names.
"""Checks the statements and expressions that a package hands to its unit of work.

By allow-list: what is not known to stay inside the package's own tables is refused. So a new feature of
SQLAlchemy is refused until somebody has thought about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from sqlalchemy import Alias, ClauseElement, Column, ColumnElement, Join, Select, Table
from sqlalchemy.sql import elements, operators, visitors
from sqlalchemy.sql.functions import FunctionElement

from app.storage.package_schema import Entity, PackageSchema, Refused, carries_sql

_SELECT_PARTS = frozenset(
    {
        "_raw_columns",
        "_from_obj",
        "_setup_joins",
        "_where_criteria",
        "_order_by_clauses",
        "_limit_clause",
        "_offset_clause",
        "_distinct",
        "_for_update_arg",
        # bookkeeping without meaning of its own
        "_label_style",
        "_propagate_attrs",
        "_annotations",
    }
)

_NODES: tuple[type[ClauseElement], ...] = (
    elements.BinaryExpression,
    elements.BindParameter,
    elements.BooleanClauseList,
    elements.Case,
    elements.ClauseList,
    elements.ExpressionClauseList,
    elements.False_,
    elements.Grouping,
    elements.Null,
    elements.True_,
    elements.Tuple,
    elements.UnaryExpression,
)

_FUNCTIONS = frozenset({"abs", "coalesce", "length", "lower", "trim", "upper"})


def checked_select(schema: PackageSchema, statement: object) -> tuple[Select[Any], Entity, list[Any]]:
    """Returns the statement, its entity, and every FROM element that needs the owner's filter.

    Raises:
        Refused: not a select of exactly one of the package's classes over its own tables.
    """
    if type(statement) is not Select:
        raise Refused("Only select(Class) of a class of the package may be run here.")
    select = cast("Select[Any]", statement)
    for name, _ in Select._traverse_internals:
        if name not in _SELECT_PARTS and getattr(select, name, None):
            raise Refused(f"This select uses a feature ({name.strip('_')}) that packages may not use.")
    if select.get_execution_options() or getattr(select, "_with_options", ()):
        raise Refused("Options on a select are not for packages.")

    described = select.column_descriptions
    if len(described) != 1 or described[0].get("aliased", True):
        raise Refused("Select whole rows of one class: select(Class).")
    entity = schema.entity(described[0]["expr"])

    froms = list(_sources(schema, select.get_final_froms()))
    if entity.table not in froms:
        raise Refused("Select whole rows of one class: select(Class).")
    for part in (*select._where_criteria, *select._order_by_clauses, *_limits(select)):
        check_expression(froms, part)
    return select, entity, froms


def _limits(select: Select[Any]) -> list[ColumnElement[Any]]:
    return [part for part in (select._limit_clause, select._offset_clause) if part is not None]


def _sources(schema: PackageSchema, froms: Iterable[Any]) -> Iterator[Any]:
    """The tables and aliases of tables in FROM, joins taken apart."""
    found: list[Any] = []
    conditions: list[Any] = []
    waiting = list(froms)
    if len(waiting) != 1:
        raise Refused("Every table of a select must be joined to the others.")
    while waiting:
        source = waiting.pop()
        if isinstance(source, Join):
            if source.isouter or source.full:
                # the owner's filter would silently turn it into an inner join
                raise Refused("Outer joins are not for packages: select twice.")
            waiting += [source.left, source.right]
            conditions.append(source.onclause)
        else:
            schema.entity_of_table(table_of(source))
            found.append(table_of(source) if isinstance(source, Table) else source)
    for condition in conditions:
        check_expression(found, condition)
    yield from found


def table_of(source: Any) -> Any:
    """The plain Table below an ORM annotation or an alias; other things are returned as they are."""
    if type(source) is Alias or type(source).__name__ == "AnnotatedAlias":
        return table_of(source.element)
    if isinstance(source, Table):
        return cast("Any", source)._deannotate() if source._annotations else cast("Any", source)
    return source


def check_expression(froms: Iterable[Any], expression: object) -> None:
    """Refuses what is not built from columns of `froms`, values and plain operators.

    Raises:
        Refused: raw SQL, a subquery, a foreign column, an operator or function of one's own.
    """
    sources = list(froms)
    root: Any = expression
    if hasattr(root, "__clause_element__"):
        root = root.__clause_element__()
    if not isinstance(root, ClauseElement):
        raise Refused(f"{type(expression).__name__} is not an SQL expression.")
    for node in visitors.iterate(root):
        _check_node(sources, node)


def _check_node(sources: list[Any], node: Any) -> None:
    if isinstance(node, Column):
        owner: Any = table_of(node.table)
        if not any(owner is source or node.table is source for source in sources):
            raise Refused(f"The column {node.name} is not of a table in this statement.")
        return
    if isinstance(node, FunctionElement):
        name = getattr(cast("Any", node), "name", "")
        if name not in _FUNCTIONS or getattr(cast("Any", node), "packagenames", ()):
            raise Refused(f"The SQL function {name} is not for packages.")
        return
    if not isinstance(node, _NODES):
        raise Refused(f"{type(node).__name__} is not allowed in a package's expression.")
    for name in ("operator", "modifier"):
        # col.op("…") writes its text into the statement as it stands
        if isinstance(getattr(node, name, None), operators.custom_op):
            raise Refused("Operators of one's own are raw SQL and not for packages.")
    if isinstance(node, elements.BindParameter) and (carries_sql(node.type) or node.literal_execute):
        raise Refused("This value's type carries SQL.")
