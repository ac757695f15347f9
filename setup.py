"""What pyproject.toml cannot say: the pages of docs, which `bot explain` and `bot mcp` show, are a part of the package."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DOCS = Path(__file__).parent / "docs"


class BuildWithPages(build_py):
    """Copies the pages into the package. An editable installation reads them where they are."""

    def run(self) -> None:
        """Called by setuptools."""
        super().run()
        if not self.editable_mode:
            for page in DOCS.rglob("*.md"):
                copy = Path(self.build_lib, "bot", "cli", "docs", page.relative_to(DOCS))
                self.mkpath(str(copy.parent))
                self.copy_file(str(page), str(copy))


setup(cmdclass={"build_py": BuildWithPages})
