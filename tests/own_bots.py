"""The bots of this project as folders: those that come with it, and those that the blocks of a page make up."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from bot.cli.shared.new_folder import FILES
from bot.language.flow.documents import Source
from bot.loading.folder import Folder, read_folder
from tests.docs.test_bots import BOTS
from tests.docs.test_docs import BOT, HANDLER, OF_THE_LANGUAGE, ROOT

STARTERS = sorted(file.parent for file in FILES.glob("*/bot.yml"))
PAGES = (*OF_THE_LANGUAGE, ROOT / "docs" / "python.md", ROOT / "docs" / "testing.md")
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@cache
def own_bots() -> tuple[Folder, ...]:
    """All of them, in the language of their flows."""
    return (*map(_in_one_language, (*BOTS, *STARTERS)), *map(_of_page, PAGES))


def _in_one_language(path: Path) -> Folder:
    folder = read_folder(path)
    return replace(folder, sources=tuple(file for file in folder.sources if not file.path.startswith("locales/")))


def _of_page(page: Path) -> Folder:
    text = page.read_text().partition("\n## The gateway\n")[0]  # what follows there is no bot's own Python
    found = [(name.split(), block) for name, block in _BLOCK.findall(text)]
    bots = [block for name, block in found if name == ["yaml", "bot"]] or [BOT]
    flows = [block for name, block in found if name == ["yaml"]]
    code = [block for name, block in found if name in (["python"], ["python", "handlers.py"])]
    sources = [Source("bot.yml", bots[0].encode())]
    sources += [Source(f"{number}.yml", flow.encode()) for number, flow in enumerate(flows)]
    documents = [
        Source(name[1], block.encode())
        for name, block in found
        if name[:1] in (["md"], ["txt"], ["json"]) and len(name) > 1
    ]
    return Folder(
        page, tuple(sources), (Source("handlers.py", "\n".join([HANDLER, *code]).encode()),), tuple(documents)
    )
