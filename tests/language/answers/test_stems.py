"""The words of a text, and what they have in common."""

import pytest

from bot.language.answers.stems import language_of, stems, words


def test_words_are_in_small_letters_and_one_with_a_hyphen_is_another_too() -> None:
    assert words("Wi-Fi? Don't!") == ["wi", "fi", "dont", "wifi"]
    assert words("वापसी 退货") == ["वापसी", "退", "货", "退货"]


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", "cancel cancelled cancellation"),
        ("id", "bukunya buku"),
        ("es", "devolución devoluciones devolucion"),
        ("pt", "reserva reservas reservar"),
        ("fr", "annuler annulé annules"),
        ("de", "Bestellung Bestellungen"),
        ("it", "prenotazione prenotazioni"),
        ("nl", "annulering annuleringen"),
        ("tr", "kitap kitaplar"),
        ("ru", "доставка доставки доставку"),
        ("ar", "كتاب الكتاب"),
        ("hi", "लड़का लड़के"),
    ],
)
def test_the_forms_of_a_word_have_a_stem_in_common(language: str, forms: str) -> None:
    assert set.intersection(*({*stems(word.lower(), language)} for word in forms.split()))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("We are open on Sundays.", "en"),
        ("Kami buka dari jam sembilan untuk semua tamu.", "id"),
        ("Wir haben am Sonntag nicht geöffnet.", "de"),
        ("Nous sommes ouverts le dimanche.", "fr"),
        ("Мы открыты и в воскресенье.", "ru"),
        ("一二三", "en"),
        ("", "en"),
    ],
)
def test_a_text_is_in_the_language_of_its_most_usual_words(text: str, language: str) -> None:
    assert language_of(text) == language
