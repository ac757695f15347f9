"""What pyproject.toml cannot say: the pages in docs/checks, which `bot check --explain` shows, are a part of the package."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildWithPages(build_py):
    """Copies the pages into the package. An editable installation reads them where they are."""

    def run(self) -> None:
        """Called by setuptools."""
        super().run()
        if not self.editable_mode:
            folder = Path(self.build_lib, "bot", "cli", "checks")
            self.mkpath(str(folder))
            for page in (ROOT / "docs" / "checks").glob("*.md"):
                self.copy_file(str(page), str(folder / page.name))


setup(cmdclass={"build_py": BuildWithPages})
