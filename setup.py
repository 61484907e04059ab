"""Everything else is in pyproject.toml; this ships the built page, where a checkout has one."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

BUILT = Path(__file__).parent / "web" / "dist"


class BuildWithPage(build_py):
    def run(self) -> None:
        super().run()
        if BUILT.is_dir() and not self.editable_mode:
            target = Path(self.build_lib) / "app" / "web_dist"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(BUILT, target)


setup(cmdclass={"build_py": BuildWithPage})
