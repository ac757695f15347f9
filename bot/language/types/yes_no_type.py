"""The type boolean, and the words for yes and no in many languages.

The words on the bot's buttons are in `bot.language.source.languages`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot.core.immutable import immutable
from bot.language.expressions.abstract_values import ValueKind
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import normalise
from bot.language.types.variable import Variable, fitting, mismatch

_WORDS: dict[str, tuple[str, str]] = {
    "ar": ("نعم, اي, ايوه, ايوا, أجل, طبعا, تمام", "لا, كلا, لا شكرا"),
    "bn": ("হ্যাঁ, হা, জি", "না, জি না"),
    "cs": ("ano, jo, jasně, a", "ne, n, ne díky"),
    "da": ("ja, j, jo, ja tak", "nej, n, nej tak"),
    "de": ("ja, j, jo, jawohl, klar, gerne, ja bitte, ja gerne, natürlich", "nein, n, ne, nee, nö, nein danke"),
    "el": ("ναι, μάλιστα", "όχι, οχι ευχαριστώ"),
    "en": (
        "yes, y, yeah, yep, yup, yes please, sure, of course, ok, okay, true, 1, 👍",
        "no, n, nope, nah, no thanks, no thank you, false, 0, 👎",
    ),
    "es": ("sí, s, sí por favor, claro, claro que sí, por supuesto, vale, dale, de acuerdo", "no, n, no gracias"),
    "fa": ("بله, آره, بلی, حتما", "نه, خیر, نه ممنون"),
    "fi": ("kyllä, joo, k", "ei, e, ei kiitos"),
    "fr": ("oui, o, ouais, oui merci, d'accord, bien sûr, volontiers", "non, n, non merci"),
    "he": ("כן, בטח, בסדר", "לא, לא תודה"),
    "hi": ("हाँ, हां, जी, जी हाँ, ठीक है, haan, ha", "नहीं, ना, जी नहीं, nahi, nahin"),
    "hu": ("igen, i, persze", "nem, n, nem köszönöm"),
    "id": ("ya, y, iya, ya boleh, boleh, oke, baik, benar, betul, setuju", "tidak, tdk, tak, gak, ga, nggak, enggak, bukan, tidak usah, tidak terima kasih"),
    "it": ("sì, s, certo, va bene, d'accordo, sì grazie", "no, n, no grazie"),
    "ja": ("はい, ええ, うん, お願いします, いいです", "いいえ, いや, ううん, 違います"),
    "ko": ("네, 예, 응, 좋아요", "아니요, 아니오, 아뇨, 아니"),
    "ms": ("ya, ye, boleh, baik, betul", "tidak, tak, bukan, tidak mahu"),
    "nl": ("ja, j, jawel, graag, ja graag, natuurlijk, prima", "nee, n, neen, nee bedankt, nee dank je"),
    "no": ("ja, j, jo, ja takk", "nei, n, nei takk"),
    "pl": ("tak, t, jasne, tak proszę", "nie, n, nie dziękuję"),
    "pt": ("sim, s, claro, com certeza, pode ser, sim por favor", "não, n, não obrigado, não obrigada"),
    "ro": ("da, d, sigur", "nu, n, nu mulțumesc"),
    "ru": ("да, д, ага, конечно, хорошо, ладно", "нет, н, не, неа, нет спасибо"),
    "sv": ("ja, j, jo, japp, ja tack", "nej, n, nej tack"),
    "sw": ("ndiyo, ndio, sawa", "hapana, la"),
    "th": ("ใช่, ค่ะ, ครับ, ได้, ตกลง", "ไม่, ไม่ใช่, ไม่ค่ะ, ไม่ครับ, ไม่เอา"),
    "tr": ("evet, e, tamam, olur, tabii", "hayır, h, yok, hayır teşekkürler"),
    "uk": ("так, т, звісно, добре", "ні, н, ні дякую"),
    "ur": ("جی, جی ہاں, ہاں", "نہیں, جی نہیں"),
    "vi": ("có, vâng, dạ, ừ, đồng ý", "không, không cảm ơn"),
    "zh": ("是, 是的, 对, 好, 好的, 可以, 行, 嗯", "不, 不是, 否, 没有, 不要, 不行, 不用了"),
}  # fmt: skip


def _meanings(yes: str, no: str) -> dict[str, bool]:
    said = {True: yes, False: no}
    return {normalise(word): meaning for meaning, words in said.items() for word in words.split(",")}


_MEANING: Mapping[str, Mapping[str, bool]] = {language: _meanings(*words) for language, words in _WORDS.items()}


def yes_or_no(text: str, language: str | None = None) -> bool | None:
    """True if a text means yes in a language or in English, False if it means no; None if neither."""
    word = normalise(text)
    for spoken in (without_country(language or ENGLISH), ENGLISH):
        if (said := _MEANING.get(spoken, {}).get(word)) is not None:
            return said
    return None


@immutable
class BooleanVariable(Variable):
    """Yes or no.

    ``agreed: boolean``
    """

    type = "boolean"
    kind = ValueKind.BOOLEAN
    made_of = frozenset({ValueKind.BOOLEAN, ValueKind.TEXT, ValueKind.NUMBER})
    example_answers = ("yes", "no")
    values = (True, False)
    takes_every = True

    def _from_text(self, text: str, now: datetime, language: str | None) -> bool:
        return fitting(yes_or_no(text, language), "it is neither yes nor no")

    def _from_value(self, value: Any, now: datetime | None) -> bool:
        if value in (True, "true"):
            return True
        if value in (False, "false"):
            return False
        raise mismatch(value, "true or false")
