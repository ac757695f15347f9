"""Words that promise something."""

import pytest

from bot.language.answers.promises import promises_in


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("You get a full refund.", {"refund"}),
        ("Don't worry, you'll get your money back.", {"refund"}),
        ("Delivery is at no cost.", {"free"}),
        ("We can't help, but you get a discount.", {"discount"}),
        ("Sie bekommen Ihr Geld zurück und einen Gutschein.", {"refund", "discount"}),
        ("Le garantizamos el mejor precio.", {"guarantee"}),
        ("Nous vous rembourserons.", {"refund"}),
        ("Terá um desconto.", {"discount"}),
        ("La spedizione è gratuita.", {"free"}),
        ("U krijgt een schadevergoeding.", {"compensation"}),
        ("Ongkirnya gratis.", {"free"}),
        ("Мы дадим вам скидку.", {"discount"}),
        ("Kargo ücretsiz.", {"free"}),
        ("التوصيل مجاني لك.", {"free"}),
        ("आपको छूट मिलेगी।", {"discount"}),
    ],
)
def test_a_promise_is_found_in_twelve_languages(text: str, kinds: set[str]) -> None:
    assert promises_in(text).keys() == kinds


@pytest.mark.parametrize(
    "text",
    [
        "There is no refund.",
        "I can't promise a discount.",
        "Feel free to ask, we have a free table.",
        "Wir geben keinen Rabatt.",
        "No hay reembolso.",
        "Conservi lo scontrino.",
    ],
)
def test_what_is_denied_or_means_something_else_is_no_promise(text: str) -> None:
    assert promises_in(text) == {}
