"""Takes one safeguard out of a copy of the code at a time: the test that guards it has to fail there.

A test that passes with and without the line it is there for guards nothing. Each patch names text that
must stand in the code exactly once, so a changed safeguard is a loud failure here, and not a silent pass.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.databases import NoPostgres, connect_to_server
from tests.support.server_process import ROOT

COPIED = ("app", "capabilities", "migrations", "tests", "workers")
EVENT_LOG = "tests/integration/host/test_event_log.py"
RECOVERY = "tests/integration/host/test_recovery.py"
PACKAGE_TX = "tests/integration/storage/test_package_tx.py"
EFFECTS = "tests/integration/catalog/test_gate_effects.py"


@dataclass(frozen=True)
class Mutation:
    file: str
    swaps: tuple[tuple[str, str], ...]
    """(text that stands there once, what comes instead)."""
    guard: str
    """The smallest test that must notice."""


MUTATIONS: dict[str, Mutation] = {
    "the event log writes without a look at the fence, on PostgreSQL": Mutation(
        "app/host/event_log/postgres.py",
        (("  WHERE r.fence = w.fence AND r.status IN", "  WHERE r.status IN"),),
        f"{EVENT_LOG}::test_a_run_under_an_old_fence_writes_nothing_and_learns_that_it_is_lost[postgresql]",
    ),
    "the event log writes without a look at the fence, on SQLite": Mutation(
        "app/host/event_log/sqlite.py",
        (("WHERE id = ? AND fence = ? AND", "WHERE id = ? AND ? > 0 AND"),),
        f"{EVENT_LOG}::test_a_run_under_an_old_fence_writes_nothing_and_learns_that_it_is_lost[sqlite]",
    ),
    "a call is made without a look at the fence": Mutation(
        "app/host/authority.py",
        (("if fence != run.fence or run_status not in", "if run_status not in"),),
        f"{RECOVERY}::test_a_call_under_an_old_fence_may_not[sqlite]",
    ),
    "packages read, change and delete by key without the owner": Mutation(
        "app/storage/package_tx.py",
        (("return [] if entity.owner is None else [entity.owner == self._principal.user_id]", "return []"),),
        f"{PACKAGE_TX}::test_update_and_delete_reach_the_callers_rows_only[sqlite]",
    ),
    "packages select without the owner": Mutation(
        "app/storage/package_tx.py",
        (("checked.where(*filters)", "checked"),),
        f"{PACKAGE_TX}::test_select_get_and_count_see_the_callers_rows_only[sqlite]",
    ),
    "a run's call made again has a fresh effect key": Mutation(
        "app/catalog/effects.py",
        (('f"run:{invocation.run.run_id}:{invocation.call_id}"', 'new_id("eff")'),),
        f"{EFFECTS}::test_a_run_call_made_again_gives_the_recorded_result[sqlite]",
    ),
    "a caller's own key is not looked at": Mutation(
        "app/catalog/effects.py",
        (('f"api:{capability}:{invocation.idempotency_key}"', 'new_id("eff")'),),
        f"{EFFECTS}::test_a_callers_key_holds_for_one_capability_and_owner[sqlite]",
    ),
    "readers are woken before the commit": Mutation(
        "app/host/event_log/writer.py",
        (
            ("                log.publish(rows)\n", "                pass\n"),
            (
                '        crash_point("before_event_commit")\n',
                '        for log, rows in sealed:\n            log.publish(rows)\n        crash_point("before_event_commit")\n',
            ),
        ),
        f"{EVENT_LOG}::test_no_reader_gets_a_line_before_its_commit[sqlite]",
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code and its tests, to be broken."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
    for path in (*ROOT.glob("*.toml"), *ROOT.glob("*.ini")):
        shutil.copy2(path, folder)
    found = _run(folder, "-c", "import app; print(app.__file__)")
    assert Path(found.stdout.strip()).is_relative_to(folder), "the copy's own code is what runs there"
    return folder


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


def _test(folder: Path, *guards: str) -> subprocess.CompletedProcess[str]:
    options = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis")
    return _run(folder, "-m", "pytest", *options, *guards)


async def _needs_postgres(guard: str) -> None:
    if "[postgresql" in guard:
        try:
            await (await connect_to_server()).close()
        except NoPostgres as error:
            pytest.skip(f"NOT TESTED ON POSTGRESQL: {error}")


async def test_the_guards_pass_where_nothing_is_missing(copy: Path) -> None:
    done = _test(copy, *sorted({mutation.guard for mutation in MUTATIONS.values()}))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "passed" in done.stdout


@pytest.mark.parametrize("name", MUTATIONS)
async def test_a_safeguard_that_is_taken_out_is_missed(copy: Path, name: str) -> None:
    mutation = MUTATIONS[name]
    await _needs_postgres(mutation.guard)
    path = copy / mutation.file
    whole = path.read_text()
    broken = whole
    for old, new in mutation.swaps:
        assert broken.count(old) == 1, (
            f"{mutation.file} holds {old!r} {broken.count(old)} times: the safeguard has changed, "
            "so bring this mutation up to date"
        )
        broken = broken.replace(old, new)
    try:
        path.write_text(broken)
        done = _test(copy, mutation.guard)
    finally:
        path.write_text(whole)
    assert done.returncode == 1, (
        f"{mutation.guard} did not notice\n{done.stdout[-3000:]}{done.stderr[-1000:]}"
    )
    assert f"FAILED {mutation.guard}" in done.stdout, done.stdout[-3000:]
