"""`pip install .`: the wheel holds all that the service needs, and works away from the checkout."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.support.server_process import ROOT, ServerProcess, clean_environment, free_port

pytestmark = pytest.mark.long

SHIPPED = ("app", "capabilities", "workers", "migrations")
WITHOUT_PYTEST = "import sys; sys.modules['pytest'] = None; from app.cli import main; main(sys.argv[1:])"


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean_environment({"PYTHONPATH": ""}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, as building leaves things behind."""
    source = tmp_path_factory.mktemp("source")
    for name in (*SHIPPED, "requirements"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    target = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", target, ".",
        cwd=source,
    )  # fmt: skip
    (made,) = target.glob("deskmate-*.whl")
    return made


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`deskmate` in an environment of its own, which borrows our copies of the requirements."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", venv, cwd=venv.parent)
    run(venv / "bin" / "python", "-m", "pip", "install", "-q", "--no-deps", wheel, cwd=venv.parent)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin" / "deskmate"


def test_the_wheel_holds_every_file_that_is_no_python(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in SHIPPED
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and "tests" not in path.parts
    }
    assert wanted - held == set()


def test_its_packages_are_sound_without_pytest(program: Path, tmp_path: Path) -> None:
    python = program.with_name("python")
    where = run(python, "-c", "import app; print(app.__file__)", cwd=tmp_path)
    assert str(program.parents[1]) in where
    run(python, "-c", WITHOUT_PYTEST, "capability", "check", cwd=tmp_path)
    assert "mistakes::add" in run(program, "capability", "list", cwd=tmp_path)


async def test_it_serves_on_sqlite_from_any_folder(program: Path, tmp_path: Path) -> None:
    port = free_port()
    server = ServerProcess(
        [str(program), "serve", "--port", str(port), "--first-user", "learner@localhost"],
        env=clean_environment({"DESKMATE_DATA_DIR": str(tmp_path / "data"), "PYTHONPATH": ""}),
        log=tmp_path / "log",
        base_url=f"http://127.0.0.1:{port}",
        cwd=tmp_path,
    )
    try:
        await server.wait_ready()
        await server.wait_for_log("DESKMATE_TOKEN=")
        token = server.log.partition("DESKMATE_TOKEN=")[2].split()[0]
        assert f"{program} chat" in server.log
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=server.base_url, headers=headers, trust_env=False) as http:
            ids = [entry["id"] for entry in (await http.get("/api/v1/capabilities")).json()["capabilities"]]
            session = (await http.post("/api/v1/sessions", json={})).json()["id"]
            body = {"input": [{"type": "text", "text": "hello"}]}
            answer = await http.post(f"/api/v1/sessions/{session}/runs", json=body)
        assert "mistakes::add" in ids
        assert '"status":"completed"' in answer.text.splitlines()[-1]
    finally:
        await asyncio.to_thread(server.close)
