"""Sentences that name a choice and say its opposite, or ask for it: none is taken for the choice."""

from pathlib import Path

import pytest

from tests.talk import Talk

ROWS = [
    line.split("\t")
    for line in Path(__file__).with_name("opposites.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
BOT = "name: Test\nlanguages: [LANGUAGE]\ndefaults: {timeout: {after: 20h, then: end}}\n"
FLOW = """\
flow: main
start: {otherwise: true}
vars: {answer: TYPE}
steps:
  question: {ask: "How was it?"KEYS, save: answer}
  done: {say: "Noted: {{ answer }}", then: end}
"""
RATINGS = {
    "en": "5 excellent, perfect, loved it; 4 good, nice; 3 okay; 2 bad, cold, not good; 1 terrible, awful",
    "de": "5 perfekt, super; 4 gut, nett, schön; 2 schlecht, kalt",
    "es": "5 excelente, perfecto; 4 bueno, bien, amable; 2 malo, frío",
    "fr": "5 parfait, génial; 4 bon, bien, sympa; 2 mauvais, froid",
    "it": "5 ottimo, perfetto; 4 buono, bello, gentile; 2 cattivo, freddo",
    "pt": "5 excelente, perfeito; 4 bom, boa, legal; 2 ruim, frio",
    "nl": "5 geweldig, perfect; 4 goed, leuk, aardig; 2 slecht, koud",
    "id": "5 sempurna, hebat; 4 bagus, enak, ramah; 2 buruk, dingin",
    "tr": "5 harika, süper; 4 iyi, güzel, hoş, iyiydi; 2 kötü, soğuk",
    "ru": "5 отлично, супер; 4 хорошо, хороший, приятно; 2 плохо, холодно",
    "ar": "5 ممتاز, رائع; 4 جيد, لطيف, حلو; 2 سيئ, بارد",
    "hi": "5 शानदार, बहुत अच्छा; 4 अच्छा, अच्छी; 2 खराब, बुरा",
}
MENU = "tea tea; coffee coffee; cake cake"
LIKED = "people staff, service; place room, music; choice menu, food"
ORDER = """\
flow: order
start: {words: [order, bestellen, pedir, commander, ordinare, заказать, sipariş, pesan], match: anywhere}
steps: {start: {say: "Noted: order", then: end}}
---
flow: other
start: {otherwise: true}
steps: {start: {say: "What?", then: end}}
"""


def answered(language: str, question: str, text: str) -> str:
    """The value that is saved, ``marked`` for one of several, or - where the question is asked again."""
    talk = Talk(bot_that_asks(question, language), BOT.replace("LANGUAGE", language))
    talk.checks = False  # which takes each turn twice
    if question != "words":
        talk.user("xyzzy")
    (said, *_) = talk.user(text)
    if talk.session.frame is not None and talk.session.frame.step_state.get("picked"):
        return "marked"
    return str(said).removeprefix("Noted: ") if str(said).startswith("Noted") else "-"


def bot_that_asks(question: str, language: str) -> str:
    if question == "words":
        return ORDER
    listed = {"visit": RATINGS[language], "menu": MENU, "many": LIKED}.get(question)
    if listed is None:
        return FLOW.replace("KEYS", "").replace("TYPE", question)
    rows = [row.strip().split(" ", 1) for row in listed.split(";")]
    choices = ", ".join(f"Row {value}: {{value: {value}, words: [{words}]}}" for value, words in rows)
    keys = f", match: anywhere, list: {{button: Go, rows: {{{choices}}}}}" + ", many: true" * (question == "many")
    return FLOW.replace("KEYS", keys).replace("TYPE", {"visit": "integer", "menu": "text"}.get(question, "list"))


@pytest.mark.parametrize("language", RATINGS)
def test_a_choice_is_not_taken_from_a_sentence_that_says_its_opposite(language: str) -> None:
    rows = [row for row in ROWS if row[0] == language]
    found = [(text, answered(language, question, text)) for _, question, text, _ in rows]
    assert found == [(text, right) for _, _, text, right in rows]
