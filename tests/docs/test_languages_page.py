"""The texts on docs/language/languages.md are all those that are built in, in English."""

import yaml

from bot.language.source.languages import WORDINGS
from tests.docs.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "language" / "languages.md"


def test_the_page_shows_all_built_in_texts_as_they_are() -> None:
    (bot,) = blocks(PAGE, "yaml bot")
    shown = yaml.load(bot.partition("\nwordings:")[2], yaml.BaseLoader)
    assert {name: text.replace("{{ ", "{").replace(" }}", "}") for name, text in shown.items()} == {
        name: texts["en"] for name, texts in WORDINGS.items()
    }
