"""Typical mistakes, each made in one of the bots that come with the project, are found at their line."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bot.cli.shared.check_report import report_on
from bot.language.flow.documents import Source
from bot.language.source.problems import CODES
from bot.loading.folder import Folder, read_folder
from tests.searches import over

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_REPORTS = 2


@dataclass(frozen=True)
class Mistake:
    """In a bot's file one text is written in place of another. It is found where ``at`` stands then, or the new text."""

    file: str
    text: str
    mistaken: str
    code: str
    at: str = ""


MISTAKES = {
    # problems
    "a target is misspelt": Mistake(
        "basket/flows/order.yml", "{else: street}", "{else: steret}", "E102"),
    "a flow is misspelt": Mistake("basket/flows/shop.yml", "then: /order}}", "then: /ordr}}", "E103"),
    "an option is misspelt": Mistake("feedback/flows/feedback.yml", "remind: {after", "remnid: {after", "E104"),
    "a text with a comma lost its quotes": Mistake(
        "survey/flows/survey.yml", '"A number from 0 to 10, please."', "A number from 0 to 10, please.", "E104"),
    "a locale speaks of a step that was renamed": Mistake(
        "quiz/locales/es.yml", "  enough:\n", "  enought:\n", "E104"),
    "a key is written twice": Mistake(
        "feedback/flows/feedback.yml", "save: stars\n", "save: stars\n    save: again\n", "E006", "save: again\n    remind"),
    "a template lost its quotes": Mistake(
        "quiz/flows/quiz.yml", 'say: "{{ question.right[language] }} was the answer."',
        "say: {{ question.right[language] }}", "E007"),
    "a quote is not closed": Mistake(
        "helpline/flows/talk.yml", "Shall we call you then?'", "Shall we call you then?", "E002", "    ask: 'Nobody"),
    "a step has a target's name": Mistake("survey/flows/survey.yml", "  right:\n    ask: |", "  next:\n    ask: |", "E108"),
    "a hand-over is never closed": Mistake(
        "clinic/flows/book.yml", "call 112.{% endif %}'}, closed: end}", "call 112.{% endif %}'}}", "E130"),
    "two steps go round": Mistake("shop/flows/main.yml", "then: menu\n", "then: shop\n", "E140", "  shop:\n"),
    "opening hours are misspelt": Mistake(
        "helpline/flows/talk.yml", '{if: open("line")', '{if: open("lien")', "E115"),
    "what is cancelled has another name": Mistake(
        "helpline/flows/call_back.yml", 'us.", cancel: call,', 'us.", cancel: calls,', "E116"),
    "braces do not match": Mistake(
        "survey/flows/survey.yml", "{{ answered | date }}", "{{ answered | date }", "E201"),
    "a comparison has one sign": Mistake("quiz/flows/quiz.yml", "answer == question.right", "answer = question.right", "E202"),
    "a filter is misspelt": Mistake("survey/flows/survey.yml", "| at('10:00')", "| att('10:00')", "E204"),
    "a variable is misspelt": Mistake("basket/flows/order.yml", "save: code\n", "save: cdoe\n", "E301"),
    "a value is none of its variable's": Mistake("shop/flows/language.yml", "{value: en}", "{value: eng}", "E303"),
    "bounds are swapped": Mistake("feedback/flows/feedback.yml", "min: 0, max: 100000", "min: 100000, max: 0", "E307"),
    "two choices have one word": Mistake("quiz/flows/quiz.yml", "words: [spanish]", "words: [english]", "E311"),
    "two flows start by one word": Mistake("shop/flows/track_order.yml", "words: [track,", "words: [hi,", "E312"),
    "a button is too long": Mistake(
        "clinic/flows/book.yml", "{Confirm: reserve", "{Confirm this appointment: reserve", "E402"),
    "an address is not whole": Mistake("shop/flows/main.yml", '"https://shop.example/map"', "shop.example/map", "E405"),
    "a tool is misspelt": Mistake("shop/flows/assistant.yml", "tools: [orders.find]", "tools: [order.find]", "E501"),
    "an error is misspelt": Mistake("shop/flows/track_order.yml", "{NotFound: unknown", "{NotFuond: unknown", "E504"),
    "a variable is misspelt in a definition": Mistake("basket/flows/order.yml", "total: (goods", "total: (godos", "E301"),
    "a service is misspelt": Mistake("basket/flows/order.yml", "POST pay:/links", "POST pey:/links", "E508"),
    "a secret is misspelt": Mistake("basket/bot.yml", "secret.PAY_KEY", "secret.PAY_KYE", "E509"),
    "a line of a test is misspelt": Mistake("quiz/tests/quiz.yml", "- user: hey\n", "- usr: hey\n", "E601"),
    # findings
    "a choice leads to another's step": Mistake(
        "form/flows/form.yml", "Throw it away: thrown_away", "Throw it away: given_up", "W101", "  thrown_away:"),
    "a condition leads to the next step": Mistake(
        "quiz/flows/quiz.yml", "{if: answer == question.right, then: high_five}", "{if: answer == question.right, then: solution}",
        "W101", "  high_five:"),
    "a condition leads where the others do": Mistake(
        "survey/flows/survey.yml", "{if: answered, then: welcome_back}", "{if: answered, then: hello}", "W101",
        "  welcome_back:"),
    "silence leads past a step": Mistake(
        "helpline/flows/talk.yml", "{after: 10m, then: nobody}", "{after: 10m, then: safe}", "W101",
        '  nobody:\n    say: "We have'),
    "a time-out says something the day after": Mistake(
        "quiz/bot.yml", "timeout: {after: 20h", "timeout: {after: 30h", "W501"),
    "no template stands in": Mistake(
        "feedback/bot.yml", "  window_closed: {template: {name: how_was_it, language: en}}\n", "", "W501", "  timeout:"),
    "an answer of a service is not saved": Mistake(
        "basket/flows/order.yml", "    save: payment\n", "", "W301", "    link: {title"),
    "a handler's result is not saved": Mistake(
        "shop/flows/track_order.yml", "    save: order\n", "", "W301", "      - {if: order.state"),
    "a number is compared with a text": Mistake(
        "feedback/flows/feedback.yml", "{if: stars >= 4, then", '{if: stars == "4", then', "W303"),
    "an order is asked for between a number and a text": Mistake(
        "feedback/flows/feedback.yml", "{if: stars >= 4, then", '{if: stars >= "4", then', "W303"),
    "a text goes into a number": Mistake(
        "quiz/flows/quiz.yml", '{score: "{{ points | sum }}"}', '{score: "{{ points | sum }} points"}', "W305"),
    "a choice is not saved": Mistake("clinic/flows/book.yml", "    save: slot\n", "", "W301", '    ask: "{{ service }} on'),
    "a choice leads past a question": Mistake(
        "feedback/flows/feedback.yml", "Please do: call_me", "Please do: noted", "W301", '    say: "We will call you'),
    "a time is not noted": Mistake(
        "form/flows/form.yml", '    set: {filled_at: "{{ now }}"}\n', "", "W301", "    headers: {Idempotency-Key"),
    "a flow that starts later is not given what it says": Mistake(
        "clinic/flows/book.yml", ', with: {slot: "{{ slot }}"}', "", "W308", '["{{ slot.time }}"]'),
    "a text has a number sign in it": Mistake(
        "form/flows/question.yml", 'ask: "{{ asked }}"\n    save: text', "ask: Question #2\n    save: text", "W003"),
    "a value is written as in another tool": Mistake(
        "form/flows/question.yml", 'ask: "{{ asked }}"\n    save: text', 'ask: "{asked}"\n    save: text', "W004"),
    "an allowance was left behind": Mistake(
        "form/flows/form.yml", "  later:\n", "  later:  # allow W501: they know\n", "W001"),
}  # fmt: skip


@cache
def original(bot: str) -> Folder:
    return read_folder(EXAMPLES / bot)


def with_mistake(mistake: Mistake) -> tuple[Folder, str, int]:
    """The bot with the mistake in it; the file's path in it, and the line at which it is to be found."""
    bot, _, path = mistake.file.partition("/")
    folder = original(bot)
    (source,) = (source for source in folder.sources if source.path == path)
    text = source.text.decode()
    assert text.count(mistake.text) == 1, "the text to replace stands in the file once"
    text = text.replace(mistake.text, mistake.mistaken)
    line = text[: text.index(mistake.at or mistake.mistaken)].count("\n") + 1
    sources = tuple(Source(path, text.encode()) if each is source else each for each in folder.sources)
    return replace(folder, sources=sources), path, line


@over(16, "name", MISTAKES)
def test_it_is_found_at_its_line_among_few_reports(name: str) -> None:
    mistake = MISTAKES[name]
    folder, path, line = with_mistake(mistake)
    found = [entry.found for entry in report_on(folder).entries]
    assert (mistake.code, path, line) in [(each.code, each.path, each.line) for each in found], list(map(str, found))
    same = [each for each in found if each.code in (mistake.code, *CODES)]
    assert len(same) <= MOST_REPORTS, list(map(str, found))


@over(3, "bot", sorted({mistake.file.partition("/")[0] for mistake in MISTAKES.values()}))
def test_without_the_mistake_nothing_is_found(bot: str) -> None:
    codes = {mistake.code for mistake in MISTAKES.values()}
    found = (entry.found for entry in report_on(original(bot)).entries)
    assert [str(each) for each in found if each.code in codes] == []
