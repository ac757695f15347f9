"""What the bot says of its own accord."""

import pytest

from bot.language.expressions.templates import Template
from bot.language.source.languages import CONTACT_LANGUAGE, OWN_WORDINGS, TITLES, VALUES, WORDINGS, built_in, wording
from bot.language.source.problems import Mark

BUTTON_TITLE = 20
LANGUAGES = WORDINGS["yes"].keys()


@pytest.mark.parametrize("name", WORDINGS)
def test_a_wording_is_built_in_for_every_language(name: str) -> None:
    assert WORDINGS[name].keys() == LANGUAGES
    assert all(WORDINGS[name].values())


@pytest.mark.parametrize("name", sorted(TITLES))
def test_a_title_fits_a_button_in_every_language(name: str) -> None:
    assert [text for text in WORDINGS[name].values() if len(text) > BUTTON_TITLE] == []


def test_yes_and_no_differ_in_every_language() -> None:
    assert all(WORDINGS["yes"][language] != WORDINGS["no"][language] for language in LANGUAGES)


@pytest.mark.parametrize(
    ("language", "text"), [(None, "Yes"), ("en", "Yes"), ("de", "Ja"), ("pt-BR", "Sim"), ("sw", "Yes")]
)
def test_a_wording_is_in_the_contacts_language_or_in_english(language: str | None, text: str) -> None:
    assert wording({CONTACT_LANGUAGE: language} if language else {}, "yes") == text


def test_the_bots_own_wording_comes_first_and_sees_what_texts_see() -> None:
    own = {"yes": Template.plain("Aye", Mark("bot.yml", 1, 1))}
    assert wording({CONTACT_LANGUAGE: "de", OWN_WORDINGS: own}, "yes") == "Aye"
    assert wording({CONTACT_LANGUAGE: "de", OWN_WORDINGS: own}, "no") == "Nein"


@pytest.mark.parametrize("name", WORDINGS)
def test_what_is_put_in_is_put_in(name: str) -> None:
    values = dict.fromkeys(VALUES[name], "order")
    assert all("{" not in wording({CONTACT_LANGUAGE: language}, name, **values) for language in LANGUAGES)


def test_a_language_without_its_country_stands_in_for_one_with_it() -> None:
    assert (built_in("no", "es-MX"), built_in("no", "xx")) == ("No", None)
