"""Languages: their codes (``en``, ``pt-BR``), and the texts of the bot's buttons and notices, built in for 12 of them.

A bot's own `wordings` come before the built-in ones.
"""

from collections.abc import Mapping
from typing import Any

ENGLISH = "en"
"""The language of a bot that names none. It is understood beside every other language."""


def without_country(language: str) -> str:
    """``pt`` for ``pt-BR``."""
    return language.partition("-")[0]


WORDINGS: dict[str, dict[str, str]] = {
    "yes": {
        "en": "Yes", "id": "Ya", "es": "Sí", "pt": "Sim", "fr": "Oui", "de": "Ja", "it": "Sì", "nl": "Ja",
        "tr": "Evet", "ru": "Да", "ar": "نعم", "hi": "हाँ",
    },
    "no": {
        "en": "No", "id": "Tidak", "es": "No", "pt": "Não", "fr": "Non", "de": "Nein", "it": "No", "nl": "Nee",
        "tr": "Hayır", "ru": "Нет", "ar": "لا", "hi": "नहीं",
    },
    "go_on": {
        "en": "Go on with {flow}?", "id": "Lanjutkan yang tadi?", "es": "¿Seguimos donde estábamos?",
        "pt": "Continuamos de onde paramos?", "fr": "On reprend où on en était ?", "de": "Dort weitermachen, wo wir waren?",
        "it": "Riprendiamo da dove eravamo?", "nl": "Verdergaan waar we waren?", "tr": "Kaldığımız yerden devam edelim mi?",
        "ru": "Продолжим с того места?", "ar": "هل نتابع من حيث توقفنا؟", "hi": "जहाँ थे, वहीं से आगे बढ़ें?",
    },
    "old_tap": {
        "en": "That was an earlier question.", "id": "Itu pertanyaan sebelumnya.", "es": "Esa era una pregunta anterior.",
        "pt": "Essa era uma pergunta anterior.", "fr": "C'était une question précédente.",
        "de": "Das war eine frühere Frage.", "it": "Quella era una domanda precedente.",
        "nl": "Dat was een eerdere vraag.", "tr": "Bu önceki bir soruydu.", "ru": "Это был предыдущий вопрос.",
        "ar": "كان ذلك سؤالا سابقا.", "hi": "वह पहले का सवाल था।",
    },
    "did_you_mean": {
        "en": "Did you mean one of these?", "id": "Apakah maksud Anda salah satu dari ini?", "es": "¿Te refieres a alguna de estas opciones?",
        "pt": "Quis dizer uma destas opções?", "fr": "Vouliez-vous dire l'une de ces options ?",
        "de": "Meinen Sie eines davon?", "it": "Intendi una di queste opzioni?", "nl": "Bedoel je een van deze?",
        "tr": "Bunlardan birini mi demek istediniz?", "ru": "Вы имели в виду что-то из этого?",
        "ar": "هل تقصد أحد هذه الخيارات؟", "hi": "क्या आपका मतलब इनमें से एक है?",
    },
    "did_you_mean_this": {
        "en": "Did you mean {value}?", "id": "Maksud Anda {value}?", "es": "¿Quiere decir {value}?", "pt": "Quis dizer {value}?",
        "fr": "Vous voulez dire {value} ?", "de": "Meinen Sie {value}?", "it": "Intende {value}?", "nl": "Bedoelt u {value}?",
        "tr": "{value} mi demek istediniz?", "ru": "Вы имеете в виду {value}?", "ar": "هل تقصد {value}؟", "hi": "क्या आपका मतलब {value} है?",
    },
    "none_of_these": {
        "en": "None of these", "id": "Bukan semuanya", "es": "Ninguna de estas", "pt": "Nenhuma destas", "fr": "Aucune de celles-ci",
        "de": "Nichts davon", "it": "Nessuna di queste", "nl": "Geen van deze", "tr": "Hiçbiri", "ru": "Ничего из этого",
        "ar": "لا شيء من هذه", "hi": "इनमें से कोई नहीं",
    },
    "choose": {
        "en": "Choose", "id": "Pilih", "es": "Elegir", "pt": "Escolher", "fr": "Choisir", "de": "Auswählen",
        "it": "Scegli", "nl": "Kiezen", "tr": "Seç", "ru": "Выбрать", "ar": "اختر", "hi": "चुनें",
    },
    "more": {
        "en": "More …", "id": "Lainnya …", "es": "Más …", "pt": "Mais …", "fr": "Plus …", "de": "Mehr …", "it": "Altro …",
        "nl": "Meer …", "tr": "Daha fazla …", "ru": "Ещё …", "ar": "المزيد …", "hi": "और …",
    },
    "back": {
        "en": "Back", "id": "Kembali", "es": "Atrás", "pt": "Voltar", "fr": "Retour", "de": "Zurück", "it": "Indietro",
        "nl": "Terug", "tr": "Geri", "ru": "Назад", "ar": "رجوع", "hi": "वापस",
    },
    "done": {
        "en": "Done", "id": "Selesai", "es": "Listo", "pt": "Pronto", "fr": "Terminé", "de": "Fertig", "it": "Fatto",
        "nl": "Klaar", "tr": "Tamam", "ru": "Готово", "ar": "تم", "hi": "हो गया",
    },
}  # fmt: skip
"""By name, then by language. A title of a button has 20 characters at most."""

SORRY = {
    "en": "Sorry, I can't answer that right now.", "id": "Maaf, saya belum bisa menjawabnya sekarang.",
    "es": "Lo siento, ahora mismo no puedo responder.", "pt": "Desculpe, não consigo responder agora.",
    "fr": "Je ne peux malheureusement pas répondre pour le moment.", "de": "Entschuldigung, das kann ich gerade nicht beantworten.",
    "it": "Mi dispiace, in questo momento non posso rispondere.", "nl": "Sorry, daar kan ik nu geen antwoord op geven.",
    "tr": "Üzgünüm, şu anda buna yanıt veremiyorum.", "ru": "Извините, сейчас я не могу на это ответить.",
    "ar": "عذرا، لا أستطيع الإجابة عن ذلك الآن.", "hi": "क्षमा करें, अभी इसका उत्तर नहीं दिया जा सकता।",
}  # fmt: skip
"""The text that is sent when a model fails and the flow has no text for that.

A bot writes its own under `ai`, not `wordings`.
"""

SENTENCES = ("go_on", "old_tap", "did_you_mean", "did_you_mean_this", "sorry")
"""Those that are no titles: they may be as long as a message."""
VALUES = {"go_on": frozenset({"flow"}), "did_you_mean_this": frozenset({"value"})}
"""The values in wordings."""
_BUILT_IN = {**WORDINGS, "sorry": SORRY}


def wording(scope: Mapping[str, Any], name: str, **values: str) -> str:
    """One of `OWN_WORDINGS`, or ``sorry``, in the contact's language, with ``values`` put in: the bot's own, the
    built-in one, the English one. Raises `TemplateFailed` where the bot's own cannot be rendered.
    """
    own = scope.get(OWN_WORDINGS, {}).get(name)
    if own is not None:
        text: str = own.render({**scope, **values})
        return text
    known = built_in(name, scope.get(CONTACT_LANGUAGE) or ENGLISH)
    return (known or _BUILT_IN[name][ENGLISH]).format(**values)


def built_in(name: str, language: str) -> str | None:
    """One of `OWN_WORDINGS`, or ``sorry``, as it is built in for a language, or for it without its country."""
    known = _BUILT_IN[name]
    return known.get(language) or known.get(without_country(language))


CONTACT_LANGUAGE = " language"  # the contact's language as a code such as en or pt-BR; it may be missing


OWN_WORDINGS = " wordings"  # the bot's own wordings in place of the built-in ones, by name; it may be missing
