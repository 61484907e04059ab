"""Rules that one package must keep on its own (C3, C6). One small rule a function."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from app.catalog.definitions import schema_problems
from app.catalog.faults import Fault
from app.catalog.manifest import HOOKS, NAME, SERVICES
from app.catalog.package import Package
from app.protocol.identity import CORE_SCOPES
from app.sdk import Params

BUILT_IN_NAMESPACE = "catalog"
ID_LIMIT = 64
TITLE_LIMIT = 80
DESCRIPTION_LIMIT = 1024

Rule = Callable[[Package], Iterator[Fault]]


def id_is_the_folder(package: Package) -> Iterator[Fault]:
    if package.folder.name != package.id:
        message = f"the folder is called `{package.folder.name}`."
        yield Fault(package.id, "folder-name", message, f"Rename it to `{package.id}`, or change the id.")


def services_exist(package: Package) -> Iterator[Fault]:
    for service in sorted(set(package.manifest.requires) - SERVICES):
        known = ", ".join(sorted(SERVICES))
        yield Fault(
            package.id, "unknown-service", f"requires unknown service `{service}`.", f"Known: {known}."
        )


def hooks_exist(package: Package) -> Iterator[Fault]:
    for hook in sorted(set(package.manifest.hooks) - HOOKS):
        known = ", ".join(sorted(HOOKS))
        yield Fault(package.id, "unknown-hook", f"names unknown hook `{hook}`.", f"Known: {known}.")


def permissions_exist(package: Package) -> Iterator[Fault]:
    """A permission is a core scope, one of the package's own, or `call:` an entry of a dependency."""
    own = {f"{package.manifest.namespace}:{verb}" for verb in ("read", "write")}
    for permission in sorted(set(package.manifest.permissions)):
        if permission in own or permission in CORE_SCOPES or permission.startswith("call:"):
            continue
        mend = f"Use one of {', '.join((*sorted(own), *CORE_SCOPES))}, or `call:namespace::tool`."
        yield Fault(package.id, "unknown-permission", f"names unknown permission `{permission}`.", mend)


def foreign_scopes_are_permitted(package: Package) -> Iterator[Fault]:
    own = {f"{package.manifest.namespace}:{verb}" for verb in ("read", "write")}
    for definition in package.definitions:
        for scope in definition.scopes:
            if scope not in own and scope not in package.manifest.permissions:
                yield Fault(
                    package.id,
                    "scope-not-permitted",
                    f"`{definition.id}` asks for scope `{scope}`, which is not among its permissions.",
                    f'Add "{scope}" to permissions in manifest.toml, or drop the scope.',
                )
        if not definition.scopes:
            mend = "Leave `scopes` out to take the namespace's own."
            yield Fault(package.id, "no-scope", f"`{definition.id}` asks for no scope at all.", mend)


def config_is_a_schema(package: Package) -> Iterator[Fault]:
    if not package.manifest.config:
        return
    try:
        Draft202012Validator.check_schema(package.manifest.config)
    except SchemaError as error:
        yield Fault(
            package.id,
            "config-schema",
            f"config in manifest.toml is not a JSON Schema: {error.message}.",
            "Write it as JSON Schema 2020-12.",
        )


def namespace_is_not_ours(package: Package) -> Iterator[Fault]:
    if package.manifest.namespace == BUILT_IN_NAMESPACE:
        yield Fault(
            package.id, "namespace-reserved", "takes the built-in namespace `catalog`.", "Choose another."
        )


def entry_names_are_plain(package: Package) -> Iterator[Fault]:
    for entry in package.entries.values():
        if not NAME.fullmatch(entry.name):
            mend = "Use 1 to 32 of a-z, 0-9 and _, starting with a letter."
            yield Fault(package.id, "entry-name", f"entry name `{entry.name}` cannot be used.", mend)


def entry_names_are_short(package: Package) -> Iterator[Fault]:
    for definition in package.definitions:
        if len(definition.id) > ID_LIMIT:
            message = f"`{definition.id}` is longer than {ID_LIMIT} characters."
            yield Fault(package.id, "entry-name", message, "Shorten the entry's or the package's name.")


def entry_names_are_unique(package: Package) -> Iterator[Fault]:
    declared = chain(package.contract.tools, package.contract.commands)
    for name, times in Counter(entry.name for entry in declared).items():
        if times > 1:
            mend = "Rename all but one; a command and a tool may not share a name either."
            yield Fault(package.id, "name-clash", f"declares `{name}` {times} times.", mend)


def texts_are_there(package: Package) -> Iterator[Fault]:
    for definition in package.definitions:
        if not 1 <= len(definition.title) <= TITLE_LIMIT:
            message = f"the title of `{definition.id}` has {len(definition.title)} characters."
            yield Fault(package.id, "title", message, f"Write 1 to {TITLE_LIMIT}.")
        if not 1 <= len(definition.description) <= DESCRIPTION_LIMIT:
            message = f"the description of `{definition.id}` has {len(definition.description)} characters."
            yield Fault(
                package.id, "description", message, f"Write 1 to {DESCRIPTION_LIMIT}: what it does and when."
            )


def domains_are_declared(package: Package) -> Iterator[Fault]:
    names = {domain.name for domain in package.domains}
    for tool in package.contract.tools:
        if tool.domain not in names:
            mend = f'Add `Domain("{tool.domain}", …)` to the contract, or correct the tool.'
            yield Fault(
                package.id, "unknown-domain", f"`{tool.name}` is in unknown domain `{tool.domain}`.", mend
            )
    for domain in package.domains:
        if not NAME.fullmatch(domain.name) or not domain.description:
            mend = "Use a-z, 0-9 and _ for the name, and say when to load it."
            yield Fault(
                package.id, "domain-form", f"domain `{domain.name}` lacks a name or description.", mend
            )


def parameters_are_closed(package: Package) -> Iterator[Fault]:
    for entry in package.entries.values():
        params: type = entry.params  # what the annotation promises is not checked at run time
        if not issubclass(params, Params):
            message = f"the parameters of `{entry.name}` are not a `Params` model."
            yield Fault(package.id, "schema-missing", message, "Derive the model from app.sdk.Params.")


def schemas_can_be_shown(package: Package) -> Iterator[Fault]:
    for definition in package.definitions:
        for side, schema in (("input", definition.input_schema), ("output", definition.output_schema)):
            for problem in schema_problems(schema):
                message = f"the {side} schema of `{definition.id}` cannot be shown: {problem}."
                mend = "Derive every model from Params or Result, and nest them less deep."
                yield Fault(package.id, "schema-form", message, mend)


def destruction_is_no_reading(package: Package) -> Iterator[Fault]:
    for definition in package.definitions:
        if definition.destructive and definition.effect == "read":
            message = f"`{definition.id}` is destructive, yet its effect is read."
            yield Fault(
                package.id, "destructive-read", message, "Give its real effect, or drop `destructive`."
            )


def limits_are_sane(package: Package) -> Iterator[Fault]:
    for definition in package.definitions:
        if definition.timeout.total_seconds() <= 0 or definition.version < 1:
            message = f"`{definition.id}` has no time limit above zero, or a version below 1."
            yield Fault(package.id, "limits", message, "Give a positive timeout and version.")


def handlers_are_there(package: Package) -> Iterator[Fault]:
    path = package.folder / "handlers.py"
    if not package.entries:
        return
    if not path.is_file():
        yield Fault(
            package.id, "handlers-missing", "has no handlers.py.", "Add one with `register(bind, services)`."
        )
        return
    if not _defines_register(path.read_text("utf-8")):
        yield Fault(
            package.id,
            "register-missing",
            "handlers.py has no `register`.",
            "Define register(bind, services).",
        )


def _defines_register(source: str) -> bool:
    """Looks at the text, because reading a package must not import its handlers."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == "register" for node in tree.body)


def tables_have_a_history(package: Package) -> Iterator[Fault]:
    """What the table classes may be is `PackageSchema`'s business."""
    tables = package.metadata.tables
    if package.schema.package != package.id:
        message = f"tables.py makes its base for `{package.schema.package}`."
        yield Fault(package.id, "table-form", message, f'Write package_base("{package.id}").')
    if tables and "storage" not in package.manifest.requires:
        yield Fault(
            package.id, "storage-undeclared", "has tables but no storage.", 'Add "storage" to requires.'
        )
    if tables and package.migrations is None:
        yield Fault(
            package.id, "migrations-missing", "has tables but no migrations.", "Add a migrations folder."
        )


def skill_domains_exist(package: Package) -> Iterator[Fault]:
    for skill in package.skills:
        for domain in skill.domains:
            if not NAME.fullmatch(domain):
                mend = "Name domains, separated by spaces, in metadata.domains."
                yield Fault(package.id, "skill", f"skill `{skill.name}` names domain `{domain}`.", mend)


RULES: tuple[Rule, ...] = (
    id_is_the_folder,
    services_exist,
    hooks_exist,
    permissions_exist,
    foreign_scopes_are_permitted,
    config_is_a_schema,
    namespace_is_not_ours,
    entry_names_are_plain,
    entry_names_are_short,
    entry_names_are_unique,
    texts_are_there,
    domains_are_declared,
    parameters_are_closed,
    schemas_can_be_shown,
    destruction_is_no_reading,
    limits_are_sane,
    handlers_are_there,
    tables_have_a_history,
    skill_domains_exist,
)
