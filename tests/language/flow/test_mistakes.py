"""Mistakes that people make, in bots that work: each is one problem, where it was made, with what to write instead."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.gathered import Extensions
from bot.loading.folder import Folder, read_folder
from bot.loading.program import load_handlers
from tests.searches import search, some, tries

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = {
    "shop": "flows/track_order.yml",
    "shop's main": "flows/main.yml",
    "shop's assistant": "flows/assistant.yml",
    "clinic": "flows/book.yml",
    "clinic's bot": "bot.yml",
    "helpline": "flows/main.yml",
    "helpline's bot": "bot.yml",
    "helpline's talk": "flows/talk.yml",
    "helpline's call": "flows/call_back.yml",
    "basket's bot": "bot.yml",
}


@cache
def example(name: str) -> tuple[Folder, Extensions]:
    folder = read_folder(EXAMPLES / name)
    return folder, load_handlers(folder)[0]


def problems(where: str, right: str, wrong: str) -> list[str]:
    """What is found with the first of some texts written otherwise."""
    folder, extensions = example(where.split("'")[0])
    texts = {source.path: source.text.decode() for source in folder.sources}
    assert right in texts[FILES[where]]
    texts[FILES[where]] = texts[FILES[where]].replace(right, wrong, 1)
    sources = [Source(path, text.encode()) for path, text in texts.items()]
    return [str(problem) for problem in load(sources, extensions, folder.documents).problems]


BOT = "name: Cafe\ndefaults: {timeout: {after: 20h, then: end}}\n"


def problems_of(flow: str, bot: str = BOT) -> list[str]:
    """What is found in a bot of one flow."""
    sources = [Source("bot.yml", bot.encode()), Source("flow.yml", flow.encode())]
    return [str(problem) for problem in load(sources, Extensions()).problems]


TARGETS = "write a step, /flow, /flow/step, next, again, stay, back, end or route"
SAID = f"{TARGETS}; where a text is to be said, {{say: ...}}"
Mistake = tuple[str, str, str, str]

SHORT: dict[str, Mistake] = {
    "a retry that is a text": (
        "clinic",
        "retry: {say: Please give a day within the next 60 days.}",
        "retry: Please give a day within the next 60 days.",
        '37:12: E106 step "day": retry: a map of keys is expected '
        "(write retry: {say: Please give a day within the next 60 days.})",
    ),
    "a retry that is a number": (
        "clinic",
        "retry: {say: Please give a day within the next 60 days.}",
        "retry: 3",
        '37:12: E106 step "day": retry: a map of keys is expected (write retry: {max: 3, else: end})',
    ),
    "a retry of nothing": (
        "clinic",
        "retry: {say: Please give a day within the next 60 days.}",
        "retry:",
        '37:11: E106 step "day": retry: a map of keys is expected (write retry: {say: Please try again.})',
    ),
    "a time-out that is a duration": (
        "clinic",
        "timeout: {after: 26h, then: nudge}",
        "timeout: 26h",
        '39:14: E106 step "day": timeout: a map of keys is expected (write timeout: {after: 26h, then: end})',
    ),
    "a time-out that is a target": (
        "clinic",
        "timeout: {after: 26h, then: nudge}",
        "timeout: /desk",
        '39:14: E106 step "day": timeout: a map of keys is expected (write timeout: {after: 20h, then: /desk})',
    ),
    "a time-out of the whole bot that is a duration": (
        "clinic's bot",
        "timeout: {after: 20h, then: end}",
        "timeout: 12h",
        "6:12: E106 bot: defaults: timeout: a map of keys is expected (write timeout: {after: 12h, then: end})",
    ),
    "a reminder that is a text": (
        "clinic",
        'remind: {after: 1h, say: "Which day suits you?"}',
        "remind: Which day suits you?",
        '38:13: E106 step "day": remind: a map of keys is expected (write remind: {after: 2h, say: Which day suits you?})',
    ),
    "visits that are a number": (
        "clinic",
        "visits: {max: 5, else: /desk}",
        "visits: 5",
        '40:13: E106 step "day": visits: a map of keys is expected (write visits: {max: 5, else: end})',
    ),
    "errors that are a target": (
        "clinic",
        "errors: {else: /desk}",
        "errors: /desk",
        '46:13: E106 step "find": errors: a map of keys is expected (write errors: {else: /desk})',
    ),
    "errors that are a transition": (
        "clinic",
        "errors: {else: /desk}",
        "errors: {say: Sorry, then: /desk}",
        '46:26: E104 step "find": errors: "then" is the name of no failure (write errors: {else: {..., then: ...}})',
    ),
    "a schedule that is a flow": (
        "shop",
        "    save: order_no",
        "    schedule: /main\n    save: order_no",
        '14:15: E106 step "number": schedule: a map of keys is expected (write schedule: {flow: its_name, after: 2h})',
    ),
    "a time that comes again without its `at`": (
        "shop",
        "    save: order_no",
        "    schedule: {flow: main, every: monday 9:00}\n    save: order_no",
        '14:35: E106 step "number": schedule: every: "monday 9:00" is no time that comes again '
        '(did you mean "monday at 9:00"?)',
    ),
    "a time that comes again without its clock": (
        "shop",
        "    save: order_no",
        "    schedule: {flow: main, every: 2h}\n    save: order_no",
        '14:35: E106 step "number": schedule: every: "2h" is no time that comes again '
        "(write one like day at 9:00, mon at 9:00, mon-fri at 9:00, or five fields of cron like 0 9 1 * *)",
    ),
    "a template that is a name": (
        "clinic",
        'template: {name: visit_tomorrow, language: en, body: ["{{ slot.time }}"]}',
        "template: visit_tomorrow",
        '95:15: E106 step "remind": template: a map of keys is expected (write template: {name: its_name, language: en})',
    ),
    "a start that is a list of words": (
        "shop's main",
        "start:\n  words: [hi, hello]\n  otherwise: true",
        "start: [hi, hello]",
        '3:8: E106 flow "main": start: a map of keys is expected (write start: {words: [hi, hello]})',
    ),
    "several words without brackets": (
        "shop's main",
        "words: [hi, hello]",
        "words: hi, hello",
        '4:10: E106 flow "main": start: words: "hi, hello" is one text '
        "(write [hi, hello] where several are meant, else put it in quotes)",
    ),
    "a list of one wording": (
        "shop",
        "say: I can't find {{ order_no }}.",
        "say: [I cannot find it., It is not there.]",
        '39:10: E106 step "unknown": say: a text is expected, YAML reads a list here '
        "(write one text in quotes, or {any: [...]}, of which one is sent each time)",
    ),
}

TARGETS_WRONG: dict[str, Mistake] = {
    "a branch that leads to a text": (
        "shop",
        "then: shipped}",
        "then: Go to shipped}",
        f'26:46: E110 step "where": branch 1: then: "Go to shipped" is no target ({SAID})',
    ),
    "a branch that leads to a transition": (
        "shop",
        "{else: packing}",
        "{else: {say: We are packing., then: more}}",
        f'27:16: E110 step "where": branch 2: else: a target is expected, YAML reads a map here ({TARGETS})',
    ),
    "a branch without its if": (
        "shop",
        "{else: packing}",
        "packing",
        '27:9: E106 step "where": branch 2: a map of keys is expected '
        "(write - {if: condition, then: step}, and - {else: step} at its end)",
    ),
    "a branch that is one map": (
        "shop",
        'branch:\n      - {if: order.state == "shipped", then: shipped}\n      - {else: packing}',
        'branch: {if: order.state == "shipped", then: shipped, else: packing}',
        '25:13: E106 step "where": branch: a map is not a list '
        "(write a list: - {if: condition, then: step}, and - {else: step} at its end)",
    ),
    "an else with an if": (
        "shop",
        "{else: packing}",
        "{if: order, else: packing}",
        '27:9: E121 step "where": branch 2: a condition beside `else` (write {if: ..., then: step} or {else: step})',
    ),
    "a button that says something": (
        "shop's main",
        "Our shop: shop",
        "Our shop: We are open every day",
        f'16:17: E110 step "menu": buttons: "Our shop": "We are open every day" is no target ({SAID})',
    ),
    "a step of a flow without its slash": (
        "shop",
        "    then: number",
        "    then: main/menu",
        '40:11: E110 step "unknown": then: "main/menu" is no target (did you mean "/main/menu"?)',
    ),
    "a flow without its slash": (
        "shop's main",
        "Track my order: /track_order",
        "Track my order: track_order",
        '15:23: E102 no step "track_order" (for the flow write /track_order)',
    ),
    "a flow of the bot's without its slash": (
        "clinic's bot",
        "else: /desk",
        "else: desk",
        '5:25: E112 "desk" is a step, and bot.yml belongs to no flow (for the flow write /desk)',
    ),
    "a misspelt end in bot.yml": (
        "clinic's bot",
        "say: Bye!, then: end",
        "say: Bye!, then: ende",
        '3:46: E112 "ende" is a step, and bot.yml belongs to no flow (did you mean "end"?)',
    ),
    "a forgotten target": (
        "shop",
        "    then: number",
        "    then:",
        f'40:10: E110 step "unknown": then: a target is expected, YAML reads nothing here ({TARGETS})',
    ),
    "a step of the name of a target": (
        "shop",
        "then: shipped}\n      - {else: packing}\n\n  shipped:\n",
        "then: again}\n      - {else: packing}\n\n  again:\n",
        '29:3: E108 "again" cannot be a step\'s name: `then: again` already leads elsewhere (choose another name)',
    ),
}

KEYS: dict[str, Mistake] = {
    "vars": ("shop", "vars:", "var:", '7:1: E104 flow "track_order": unknown key "var" (did you mean "vars"?)'),
    "steps": ("shop", "steps:", "step:", '11:1: E104 flow "track_order": unknown key "step" (did you mean "steps"?)'),
    "defaults": ("clinic's bot", "defaults:", "default:", '4:1: E104 bot: unknown key "default" (did you mean "defaults"?)'),
    "hours": ("helpline's bot", "hours:", "hour:", '5:1: E104 bot: unknown key "hour" (did you mean "hours"?)'),
    "http": ("basket's bot", "http:", "https:", '6:1: E104 bot: unknown key "https" (did you mean "http"?)'),
    "secrets": ("basket's bot", "secrets:", "secret:", '5:1: E104 bot: unknown key "secret" (did you mean "secrets"?)'),
    "errors": (
        "shop's assistant",
        "errors: {else: sorry}",
        "error: {else: sorry}",
        '20:5: E104 step "talk": unknown key "error" (did you mean "errors"?)',
    ),
    "a time-out's then": (
        "clinic's bot",
        "after: 20h, then",
        "after: 20h, thn",
        '6:25: E104 bot: defaults: timeout: unknown key "thn" (did you mean "then"?)',
    ),
    "a retry's else": (
        "clinic's bot",
        "max: 3, else",
        "max: 3, esle",
        '5:19: E104 bot: defaults: retry: unknown key "esle" (did you mean "else"?)',
    ),
    "a team": (
        "clinic",
        "{team: frontdesk, say",
        "{temm: frontdesk, say",
        '111:20: E104 step "desk": handoff: unknown key "temm" (did you mean "team"?)',
    ),
    "closed": (
        "clinic",
        "closed: end",
        "close: end",
        '111:242: E104 step "desk": unknown key "close" (did you mean "closed"?)',
    ),
    "rows": ("clinic", "rows: {from", "row: {from", '61:7: E104 step "slot": list: unknown key "row" (did you mean "rows"?)'),
    "from": ("clinic", "{from: slots", "{form: slots", '61:14: E104 step "slot": list: rows: unknown key "form" (did you mean "from"?)'),
    "sections": ("clinic", "sections:", "section:", '28:7: E104 step "service": list: unknown key "section" (did you mean "sections"?)'),
    "a type": ("clinic", "{type: choice", "{tpye: choice", '16:13: E104 variable "service": unknown key "tpye" (did you mean "type"?)'),
    "of": ("clinic", "of: [checkup", "off: [checkup", '16:27: E104 variable "service": unknown key "off" (did you mean "of"?)'),
    "a verb": ("shop", "    ask: Anything", "    aks: Anything", '44:5: E107 step "more" has no verb, it begins with "aks" (did you mean "ask"?)'),
    "a window's template": (
        "clinic's bot",
        "{template: {name",
        "{tempate: {name",
        '7:19: E104 bot: defaults: window_closed: unknown key "tempate" (did you mean "template"?)',
    ),
    "a flow": ("shop", "flow: track_order", "flwo: track_order", '1:1: E101 this document begins with "flwo" (begin it with "flow: name", "test: what it shows" or "evaluate: what it shows")'),
}  # fmt: skip

TEXTS: dict[str, Mistake] = {
    "commas between braces": (
        "helpline's bot",
        '{say: "Write urgent if it cannot wait, menu to begin again, or stop.", then: again}',
        "{say: Write urgent if it cannot wait, menu to begin again, or stop., then: again}",
        '12:47: E104 word "help": "menu to begin again" is a key without a value '
        "(if it belongs to a text with a comma, put that text in quotes)",
    ),
    "a colon": (
        "shop",
        "ask: Anything else?",
        "ask: Anything else: yes or no?",
        '44:10: E007 a text without quotes has ": " in it (put the whole text in quotes)',
    ),
    "a colon in bot.yml": (
        "clinic's bot",
        "say: Bye!,",
        "say: Bye: now,",
        '3:34: E007 inside "{" a text with any of : { } [ ] needs quotes (put the whole text in quotes)',
    ),
    "a value at the beginning": (
        "shop",
        "say: I can't find {{ order_no }}.",
        "say: {{ order_no }} is not there.",
        "39:10: E007 a text that begins with {{ has no quotes (put the whole text in quotes)",
    ),
    "stars around it": (
        "shop",
        "ask: Anything else?",
        "ask: *Anything else?*",
        '44:10: E005 "*Anything" is an alias to YAML, which flow files do not have '
        "(if it is a text, quote it; else write the value out wherever it is used)",
    ),
    "an apostrophe in quotes": (
        "shop",
        "say: I can't find {{ order_no }}.",
        "say: 'I can't find {{ order_no }}.'",
        "39:10: E007 the text goes on after its closing quote "
        "(put the whole text in quotes; where one is a part of it, use the others around it)",
    ),
    "no space behind the colon": (
        "shop",
        "    then: number",
        "    then:number",
        "40:10: E002 no space behind the colon of a key (write a space there)",
    ),
    "a step that is indented like the keys of another": (
        "shop",
        "  unknown:\n",
        "    unknown:\n",
        '38:5: E006 nothing stands below "unknown", and "say" comes a second time '
        '(indent what belongs to "unknown" further)',
    ),
    "no line between two flows": (
        "helpline",
        "---\nflow: hours",
        "flow: hours",
        '27:1: E006 a second "flow", the first is in line 12 (keep one of them, or put a line of --- between two documents)',
    ),
}

VALUES: dict[str, Mistake] = {
    "a duration of words in bot.yml": (
        "clinic's bot",
        "after: 20h",
        "after: 20 hours",
        '6:20: E106 bot: defaults: timeout: after: "20 hours" is not a duration '
        "(write one like 90s, 10m, 2h30m or 5d, 366d at most)",
    ),
    "a time-out of the bot without a target": (
        "clinic's bot",
        "{after: 20h, then: end}",
        "{after: 20h}",
        "6:12: E131 timeout leads nowhere (add `then` with a target)",
    ),
    "a time-out of the bot without a time": (
        "clinic's bot",
        "{after: 20h, then: end}",
        "{then: end}",
        "6:12: E130 timeout has no `after` (add after: and a duration)",
    ),
    "a bound on retries that leads nowhere": (
        "clinic's bot",
        "{max: 3, else: /desk}",
        "{max: 3}",
        "5:10: E130 retry has a `max` and no `else` (add else: and a target)",
    ),
    "four buttons under a header": (
        "shop's main",
        "Our shop: shop",
        "Our shop: shop\n      Nothing: end",
        '18:7: E401 step "menu": buttons: 4 buttons, 3 are allowed (write `options` in place of `buttons`: what does not fit on buttons is shown as a list)',
    ),
    "arguments that are a text": (
        "shop",
        'with: {number: "{{ order_no }}"}',
        'with: "{{ order_no }}"',
        '20:11: E106 step "look_up": with: a map of keys is expected (write with: {name: value})',
    ),
    "a choice of nothing": (
        "clinic",
        "{type: choice, of: [checkup, cleaning]}",
        "{type: choice}",
        '16:12: E105 variable "service": "of" is missing (add of:)',
    ),
    "variables that are a list": (
        "shop",
        "  order_no: {type: text, pattern: '[A-Z]{2}\\d{6}', example: AB123456}\n  order: {type: object}",
        "  - order_no: text\n  - order",
        '8:3: E106 flow "track_order": vars: a map of keys is expected (write vars: {order_no: {type: text}})',
    ),
    "an exit without a target": (
        "shop's assistant",
        "{when: they have what they need, then: end}",
        "{when: they have what they need}",
        "18:13: E131 exits.done leads nowhere (add `then` with a target)",
    ),
}
CAFE = """flow: order
start: {words: [order]}
vars: {drink: {type: text}, n: {type: integer, value: 1}}
steps:
  hello: {say: Welcome!}
  drink:
    ask: What would you like?
    buttons: {Tea: {value: tea}, Coffee: {value: coffee}}
    save: drink
    retry: {max: 2, else: bye}
  count: {set: {n: "{{ n + 1 }}"}}
  bye: {say: "{{ drink | default('Nothing') }}, {{ n }}.", then: end}
"""
USUAL: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a verb, misspelt": (
        "{say: Welcome!}",
        "{sya: Welcome!}",
        ('5:10: E107 step "hello" has no verb, it begins with "sya" (did you mean "say"?)',),
    ),
    "a key, misspelt": (
        "save: drink",
        "sav: drink",
        ('9:5: E104 step "drink": unknown key "sav" (did you mean "save"?)',),
    ),
    "a step, misspelt": ("else: bye", "else: bey", ('10:27: E102 no step "bey" (did you mean "bye"?)',)),
    "a field of the contact as a variable": (
        "{{ drink |",
        "{{ name |",
        ('12:14: E301 no variable "name" (write contact.name, or declare it under vars: name: {type: text})',),
    ),
    "the text of an error": (
        "{{ drink |",
        "{{ error.message |",
        (
            '12:14: E301 no variable "error" (write the text here: a flow knows only the kind of an error, under `errors` of its step)',
        ),
    ),
    "a variable, misspelt": ("{{ drink |", "{{ drnk |", ('12:14: E301 no variable "drnk" (did you mean "drink"?)',)),
    "an option of a step that is not indented": (
        "    save: drink\n    retry",
        "  save: drink\n  retry",
        (
            '9:3: E106 "save" stands beside step "drink", and not below it (indent it further: it belongs to step "drink")',
        ),
    ),
    "a step whose keys are not indented": (
        "    ask: What would you like?\n    buttons: {Tea: {value: tea}, Coffee: {value: coffee}}\n    save: drink\n    retry",
        "  ask: What would you like?\n  buttons: {Tea: {value: tea}, Coffee: {value: coffee}}\n  save: drink\n  retry",
        (
            '7:3: E106 "ask" stands beside step "drink", and not below it (indent it further: it belongs to step "drink")',
        ),
    ),
    "a step that is indented like the keys of another": (
        "  count: {set",
        "    more:\n    branch: [{if: n > 1, then: count}, {else: bye}]\n  count: {set",
        ('11:5: E106 step "more" stands among the keys of step "drink" (indent its name like that one\'s)',),
    ),
    "a verb where a step's name is missing": (
        CAFE[CAFE.index("  hello") :],
        "  say: Hello!\n  then: end\n",
        (
            '5:3: E106 "say" stands where the name of a step is expected (give the step a name, and indent what belongs to it: first: {say: ...})',
        ),
    ),
    "steps that are a list": (
        CAFE[CAFE.index("  hello") :],
        "  - hello: {say: Hello!}\n  - bye: {say: Bye!, then: end}\n",
        (
            '5:3: E106 flow "order": steps: a map of keys is expected, this is a list '
            "(leave out the dashes or brackets: steps: {hello: ..., bye: ...})",
        ),
    ),
    "steps without names": (
        CAFE[CAFE.index("  hello") :],
        "  - say: Hello!\n  - say: Bye!\n",
        (
            '5:3: E106 flow "order": steps: a map of keys is expected '
            "(write steps: {name: {say: ...}}, with a name for each step in place of its dash)",
        ),
    ),
    "buttons that are a list of maps": (
        "{Tea: {value: tea}, Coffee: {value: coffee}}",
        "[{Tea: {value: tea}}, {Coffee: {value: coffee}}]",
        (
            '8:14: E106 step "drink": buttons: a map of keys is expected, this is a list '
            "(leave out the dashes or brackets: buttons: {Tea: ..., Coffee: ...})",
        ),
    ),
    "a set that is a list": (
        '{set: {n: "{{ n + 1 }}"}}',
        "{set: [n: 5]}",
        (
            '11:16: E106 step "count": set: a map of keys is expected, this is a list (leave out the dashes or brackets: set: {n: 5})',
        ),
    ),
    "a retry that is a list": (
        "{max: 2, else: bye}",
        "[max: 2, else: bye]",
        (
            '10:12: E106 step "drink": retry: a map of keys is expected, this is a list '
            "(leave out the dashes or brackets: retry: {max: 2, else: bye})",
        ),
    ),
    "a start that is a list": (
        "{words: [order]}",
        "[order, coffee]",
        ('2:8: E106 flow "order": start: a map of keys is expected (write start: {words: [order, coffee]})',),
    ),
    "a key of start, misspelt": (
        "{words: [order]}",
        "{wrods: [order], otherwise: ture}",
        (
            '2:9: E104 flow "order": start: unknown key "wrods" (did you mean "words"?)',
            '2:36: E106 flow "order": start: otherwise: "ture" is not true or false (write true or false)',
        ),
    ),
    "a start that is not true": (
        "{words: [order]}",
        "{otherwise: ture}",
        ('2:20: E106 flow "order": start: otherwise: "ture" is not true or false (write true or false)',),
    ),
    "a button's title that is too long": (
        "Coffee: {",
        "A large cup of coffee: {",
        (
            '8:34: E402 step "drink": "A large cup of coffee" has 21 characters, 20 are allowed (shorten it, or use a list (24 characters))',
        ),
    ),
    "several transitions for one word": (
        "    save: drink\n",
        "    save: drink\n    words: {menu: [{if: n > 1, then: bye}, {then: count}]}\n",
        (
            '10:19: E106 word "menu": one transition is expected, this is a list '
            "(write one, and let it lead to a `branch` that tells the cases apart)",
        ),
    ),
    "a flow that is not there": ("else: bye", "else: /ordr", ('10:27: E103 no flow "ordr" (did you mean "order"?)',)),
    "a flow for a step": ("else: bye", "else: order", ('10:27: E102 no step "order" (for the flow write /order)',)),
    "a step with the slash of a flow": (
        "else: bye",
        "else: /bye",
        ('10:27: E103 no flow "bye" (for the step of this flow write bye)',),
    ),
    "an address for a step": (
        "{Tea: {value: tea}, Coffee: {value: coffee}}",
        "{Tea: {value: tea}, Our shop: 'https://cafe.example'}",
        (
            '8:44: E110 step "drink": buttons: "Our shop": "https://cafe.example" is no target '
            "(a target is a step or a flow; `link` of a `say` opens an address)",
        ),
    ),
    "a key as other tools call it": (
        "retry: {max: 2, else: bye}",
        "goto: bye",
        ('10:5: E104 step "drink": unknown key "goto" (did you mean "then"?)',),
    ),
    "choices as other tools call them": (
        "buttons: {",
        "choices: {",
        ('8:5: E104 step "drink": unknown key "choices" (did you mean "options"?)',),
    ),
    "a verb as other tools call it": (
        "{say: Welcome!}",
        "{text: Welcome!}",
        ('5:10: E107 step "hello" has no verb, it begins with "text" (did you mean "say"?)',),
    ),
    "a condition without its verb": (
        '{set: {n: "{{ n + 1 }}"}}',
        "{if: n > 1, then: bye}",
        (
            '11:10: E107 step "count" has no verb, it begins with "if" (write branch: [{if: ..., then: ...}, {else: ...}])',
        ),
    ),
    "a type as other tools call it": (
        "{type: text}",
        "{type: string}",
        ('3:22: E304 variable "drink": no type "string" (did you mean "text"?)',),
    ),
    "the texts of a choice as other tools call them": (
        "{type: text}",
        "{type: choice, options: [tea, coffee]}",
        ('3:30: E104 variable "drink": unknown key "options" (did you mean "of"?)',),
    ),
    "a variable that must be given, as other tools say it": (
        "{type: text}",
        "{type: text, required: true}",
        ('3:28: E104 variable "drink": unknown key "required" (did you mean "needed"?)',),
    ),
    "the bound of a day, as numbers have it": (
        "{type: text}",
        "{type: date, min: today}",
        ('3:28: E104 variable "drink": unknown key "min" (did you mean "after"?)',),
    ),
    "a first value as other tools call it": (
        "{type: text}",
        "{type: text, default: tea}",
        ('3:28: E104 variable "drink": unknown key "default" (did you mean "value"?)',),
    ),
    "values that are written as targets": (
        "{Tea: {value: tea}, Coffee: {value: coffee}}",
        "{Tea: tea, Coffee: coffee}",
        (
            '8:20: E102 no step "tea" (where it is the value to be saved, write {value: tea}; else add the step to flow order)',
            '8:33: E102 no step "coffee" '
            "(where it is the value to be saved, write {value: coffee}; else add the step to flow order)",
        ),
    ),
    "an answer of a service whose fields are read, and no variable for it": (
        '  count: {set: {n: "{{ n + 1 }}"}}\n',
        '  get: {http: GET https://cafe.example/a, save: got, errors: {else: next}}\n  tell: {say: "{{ got.sum }}"}\n',
        (
            '11:49: E301 step "get": save: no variable "got" (declare it under vars: got: {type: object})',
            '12:15: E301 no variable "got" (declare it under vars: got: {type: object})',
        ),
    ),
    "a step that only leads on": (
        '{set: {n: "{{ n + 1 }}"}}',
        "{then: bye}",
        (
            '11:10: E107 step "count" has no verb, it begins with "then" (leave it out, and lead there from the steps before it)',
        ),
    ),
    "a picture without its verb": (
        "{say: Welcome!}",
        "{image: 'https://cafe.example/a.jpg'}",
        ('5:10: E107 step "hello" has no verb, it begins with "image" (add say: to which "image" belongs)',),
    ),
    "an option without a verb": (
        "  hello: {say: Welcome!}",
        "  hello: {save: drink}",
        (
            '5:10: E107 step "hello" has no verb, it begins with "save" (write one of say, ask, template, call, http, ai, '
            "classify, write, branch, set, clear, tag, untag, cancel, schedule, run, wait, draft, handoff, start, signal)",
        ),
    ),
    "two verbs": (
        "    ask: What would you like?",
        "    say: Welcome.\n    ask: What would you like?",
        ('8:5: E107 step "drink" has two verbs, "say" and "ask" (make two steps of it)',),
    ),
    "a question that is a list": (
        "ask: What would you like?",
        "ask: [What would you like?]",
        (
            '7:10: E106 step "drink": ask: a text is expected, YAML reads a list here '
            "(write one text in quotes, or {any: [...]}, of which one is sent each time)",
        ),
    ),
    "a name with capitals and spaces": (
        "flow: order",
        "flow: Order Coffee",
        (
            '1:7: E108 this document: flow: "Order Coffee" is no name (write order_coffee: small letters from a to z, digits and _ only)',
        ),
    ),
    "a variable in braces": (
        "save: drink",
        "save: '{{ drink }}'",
        (
            '9:11: E108 step "drink": save: "{{ drink }}" is no name (write drink: small letters from a to z, digits and _ only)',
        ),
    ),
    "a condition that is not closed": (
        "{{ n }}.",
        "{% if n %}",
        ("12:14: E201 this text cannot be read: {% if %} is not closed (write {% endif %} where it ends)",),
    ),
    "a condition that is closed otherwise": (
        "{{ n }}.",
        "{% if n %}.{% end %}",
        ("12:14: E201 this text cannot be read: {% if %} is not closed (write {% endif %} where it ends)",),
    ),
    "a quote that is closed by the next one": (
        "    ask: What would you like?\n    buttons: {Tea: {value: tea}, Coffee: {value: coffee}}\n",
        '    ask: "What would you like?\n    header: "Drinks"\n',
        ("7:10: E002 the quote that opens here is never closed (close it)",),
    ),
    "a tab": (
        "    save: drink",
        "\tsave: drink",
        ("9:1: E002 a tab where the indentation is (indent with spaces)",),
    ),
    "a slot that is no step": (
        "vars: {",
        "slots: [drnk]\nvars: {",
        ('3:9: E102 slots: no step "drnk" in flow order (did you mean "drink"?)',),
    ),
    "a slot whose variable is not right": (
        "vars: {drink: {type: text}",
        "slots: [drink]\nvars: {drink: {type: txt}",
        ('4:22: E304 variable "drink": no type "txt" (did you mean "text"?)',),
    ),
    "a step that is not indented": (
        "  count: {set",
        "more:\n    say: More.\n  count: {set",
        (
            "13:3: E002 this line fits neither the lines above nor their indentation "
            '(align it with the keys that it belongs to, or indent "more:" above further)',
        ),
    ),
}
"""The usual mistakes of somebody who begins: what is written otherwise in `CAFE`, and what is found."""


@pytest.mark.parametrize("name", USUAL)
def test_the_usual_mistakes_of_a_beginner_have_fixes_for_their_case(name: str) -> None:
    right, wrong, expected = USUAL[name]
    assert right in CAFE
    assert problems_of(CAFE.replace(right, wrong, 1)) == [f"flow.yml:{each}" for each in expected]


TYPED: dict[str, tuple[str, str]] = {
    "letters with marks in a name": ("  begrüßung: {say: Hallo}", '5:3: E108 step: "begrüßung" is no name (write begruessung: small letters from a to z, digits and _ only)'),
    "no space behind a step": ("  hello:{say: Hi, then: end}", "5:9: E002 no space behind the colon of a key (write a space there)"),
    "no space behind a step in braces": ("  hello:{say: Hi}", '5:3: E108 step: "hello:{say" is no name (write a space behind the colon)'),
    "no space behind a dash": ("  hello:\n    branch:\n      -{if: n, then: end}", "7:8: E002 no space behind the dash (write a space there)"),
    "no comma before a key": ("  hello: {say: Hi there then: end}", '5:16: E007 inside "{" a text with any of : { } [ ] needs quotes (put the whole text in quotes; or: if "then" is a key, put a comma before it)'),
    "no comma behind a quote": ('  hello: {say: "Hi" then: end}', '5:16: E007 the text goes on after its closing quote (if "then" is a key, put a comma before it)'),
    "a quote in braces that the next one closes": ('  hello: {say: "Hi, then: bye}\n  bye: {say: "Bye"}', "5:16: E002 the quote that opens here is never closed (close it)"),
    "curly quotes around a comma": ("  hello: {say: “Hi, there”}", '5:21: E104 step "hello": "there”" is a key without a value (write straight quotes in place of curly ones)'),
    "curly quotes around a colon": ("  hello:\n    say: „Hi: there“", '6:10: E007 a text without quotes has ": " in it (write straight quotes in place of curly ones)'),
    "an equals sign": ("  hello: {say = Hi}", '5:10: E107 step "hello" has no verb, it begins with "say = Hi" (write a colon and a space in place of =)'),
    "a space that does not break": ("  hello: {say:\u00a0Hi}", '5:10: E107 step "hello" has no verb, it begins with "say:\u00a0Hi" (write a plain space in place of one that does not break)'),
    "a wide colon": ("  hello： {say: Hi}", '5:3: E108 step: "hello： {say" is no name (write a plain colon and a space in place of the wide one)'),
    "a comment of another language": ("  // greets\n  hello: {say: Hi}", '5:3: E002 a line that is neither "key: value" nor "- item" (a comment begins with #)'),
    "a key of another verb": ("  hello: {say: Hi, buttons: [A]}", '5:29: E106 step "hello": buttons: titles alone lead nowhere, because a say does not wait (for a question write ask in place of say; for taps at any time {A: step} and valid: 7d)'),
    "a text beside a hand-over": ("  hello: {handoff: desk, say: Wait, closed: end}", '5:26: E107 step "hello" has two verbs, "handoff" and "say" (write handoff: {..., say: ...})'),
    "one choice": ("  hello: {ask: Which?, options: Red}", '5:33: E106 step "hello": options: choices are expected (write [Red], or {Red: target})'),
    "titles in braces": ("  hello: {ask: Which?, options: {Red, Blue}}", '5:33: E106 step "hello": options: no title has a target (write [Red, Blue]: titles alone stand in square brackets)'),
    "a target of another tool": ("  hello: {say: Hi, then: exit}", '5:26: E102 no step "exit" (did you mean "end"?)'),
    "a target in capitals": ("  hello: {say: Hi, then: END}", '5:26: E102 no step "END" (did you mean "end"?)'),
    "an address without its method": ("  hello: {http: 'https://cafe.example/a', errors: {else: end}}", '5:17: E109 step "hello": "https://cafe.example/a" is no method (write the method before the address: GET https://cafe.example/a)'),
    "a method as a key": ("  hello: {http: {get: 'https://cafe.example/a'}, errors: {else: end}}", '5:17: E106 step "hello": http: a text is expected, this is a map (write the method and the address: http: GET https://host/path)'),
    "a calculation without braces": ("  hello: {set: {n: n + 1}}", '5:17: E303 "n + 1" does not fit n: it is no number (write "{{ n + 1 }}" if it is to be calculated)'),
    "yes as a value": ("  hello: {set: {b: yes}}", '5:17: E303 "yes" does not fit b: a text is not true or false (write true or false)'),
    "yes in a condition": ("  hello: {branch: [{if: b == yes, then: end}]}", '5:25: E301 no variable "yes" (write true or false; a text stands in quotes: "yes")'),
    "an arrow in a condition": ("  hello: {branch: [{if: n => 3, then: end}]}", '5:25: E202 this expression cannot be read: "=" is not expected here (write >= for at least)'),
    "three signs in a condition": ("  hello: {branch: [{if: n !== 3, then: end}]}", "5:25: E202 this expression cannot be read: unexpected '=' (write == to compare, or !=)"),
    "is before a number": ("  hello: {branch: [{if: n is 3, then: end}]}", "5:25: E202 this expression cannot be read: expected token 'name', got 'integer' (write == or != to compare)"),
    "curly quotes in a condition": ("  hello: {branch: [{if: s == “a”, then: end}]}", "5:25: E202 this expression cannot be read: unexpected char '“' at 5 (write straight quotes in place of curly ones)"),
    "a condition on a step": ("  hello: {say: Hi, if: n > 3}", '5:20: E104 step "hello": unknown key "if" (there is branch, a step of its own)'),
    "an example's marks": ("```", "5:1: E002 a line of ``` stands around an example, and is no part of it (leave it out, and the one at the end, too)"),
    "else if": ("  hello: {say: '{% if n %}a{% else if b %}c{% endif %}'}", "5:16: E201 this text cannot be read: expected token 'end of statement block', got 'if' (write {% elif %} in place of {% else if %})"),
    "an end without a beginning": ("  hello: {say: '{% endif %}'}", "5:16: E201 this text cannot be read: Encountered unknown tag 'endif' (leave it out, or write the {% if %} or {% for %} before it)"),
    "a question mark for a condition": ("  hello: {say: '{{ n ? 1 : 2 }}'}", "5:16: E201 this text cannot be read: unexpected char '?' at 5 (write {{ \"one\" if condition else \"other\" }})"),
    "a capital within a name": ("  sayHello: {say: Hi}", '5:3: E108 step: "sayHello" is no name (write say_hello: small letters from a to z, digits and _ only)'),
    "a time of day for opening hours": ("  hello: {wait: {until: 9:00}}", "5:25: E115 no opening hours \"9:00\" (for a time of day write wait: '{{ today | at(\"9:00\") }}')"),
    "a reminder after the time-out": ("  hello: {ask: Hi?, remind: {after: 21h}}", '5:29: E123 step "hello": "remind" has no effect: the time-out comes first, after 20h (write a shorter `after` there, or a longer one at the time-out)'),
    "a reminder after no time": ("  hello: {ask: Hi?, remind: {after: soon}}", '5:37: E106 step "hello": remind: after: "soon" is not a duration (write one like 90s, 10m, 2h30m or 5d, 366d at most)'),
    "a reminder after the step's own time-out": ("  hello: {ask: Hi?, remind: {after: 2h}, timeout: {after: 90m, then: end}}", '5:29: E123 step "hello": "remind" has no effect: the time-out comes first, after 1h 30m (write a shorter `after` there, or a longer one at the time-out)'),
    "arguments of another tool": ("  hello: {run: /a, args: {n: 1}}", '5:20: E104 step "hello": unknown key "args" (did you mean "with"?)'),
    "a text as a target": ("  hello: {ask: Hi?, other: Pardon}", '5:28: E102 no step "Pardon" (write the name of a step, in small letters; where a text is meant, {say: Pardon})'),
    "the element without braces": ("  hello: {run: /a, each: '[1]', with: {n: it}}", '5:40: E303 "it" does not fit n: it is no number (write "{{ it }}" if it is to be calculated)'),
    "a value that is called": ("  hello: {say: '{{ today() }}'}", '5:16: E204 no function "today" (write today without brackets)'),
    "a key that is indented too far": ("  hello:\n    say: Hi\n      then: end", "7:11: E002 a key is not expected here (align the line with the keys that it belongs to)"),
}  # fmt: skip
"""Mistakes of the hand: what is written below `steps`, and what is found."""


@pytest.mark.parametrize("name", TYPED)
def test_a_mistake_of_the_hand_has_a_fix_for_its_case(name: str) -> None:
    steps, expected = TYPED[name]
    found = problems_of(f"flow: a\nstart: {{words: [a]}}\nvars: {{n: integer, s: text, b: boolean}}\nsteps:\n{steps}\n")
    assert found == [f"flow.yml:{expected}"]


@pytest.mark.parametrize(
    ("bot", "flow", "expected"),
    [
        (f"{BOT}timezone: Berlin\n", CAFE, 'bot.yml:3:11: E109 no time zone "Berlin" (did you mean "Europe/Berlin"?)'),
        (BOT.replace("defaults: {", "defaults: {remind: {after: 1d}, "), CAFE, 'bot.yml:2:20: E123 bot: defaults: "remind" has no effect: the time-out comes first, after 20h (write a shorter `after` there, or a longer one at the time-out)'),
        (f"{BOT}languages: en, de\n", CAFE, 'bot.yml:3:12: E106 bot: languages: "en, de" is one text (write [en, de] where several are meant, else put it in quotes)'),
        (f"{BOT}hours: {{mon-fri: 9:00-18:00}}\n", CAFE, 'bot.yml:3:9: E104 hours: "mon-fri" stands where a name of opening hours is expected (name them: hours: {shop: {mon-fri: "9:00-18:00"}})'),
        (f"{BOT}hours: {{shop: {{mon-fri: 9:00-18:00, sat: closed}}}}\n", CAFE, 'bot.yml:3:42: E106 hours "shop": "closed" is not from when to when (leave the day out: it is closed then)'),
        (f"{BOT}words: [menu]\n", CAFE, "bot.yml:3:8: E106 bot: words: a map of keys is expected (write words: {menu: /main})"),
        (f"{BOT}words: {{menu: main}}\n", CAFE, 'bot.yml:3:15: E112 "main" is a step, and bot.yml belongs to no flow (write /main for a flow, /flow/main for a step of one)'),
        (f"{BOT}http: {{crm: https://crm.example}}\n", CAFE, 'bot.yml:3:13: E106 service "crm": a map of keys is expected (write crm: {base: https://host/path})'),
        (f"{BOT}secrets: {{KEY: abc}}\n", CAFE, "bot.yml:3:10: E106 bot: secrets: a list of names is expected, without their values (write secrets: [KEY]; the values stand in the environment or in .env)"),
        (BOT, CAFE.replace("n: {type: integer", "k: 5, n: {type: integer"), 'E304 variable "k": no type "5" (write k: {type: number, value: 5})'),
        (BOT, CAFE.replace("n: {type: integer", "k: {type: boolean, value: yes}, n: {type: integer"), 'E303 variable "k": its value does not fit: a text is not true or false (write true or false)'),
        (BOT, CAFE.replace("n: {type: integer", 'k: {type: integer, min: "1"}, n: {type: integer'), 'E106 variable "k": min: "1" is not a number (write it without the quotes)'),
        (BOT, "Flow: a\nsteps: {a: {say: A}}\n", 'flow.yml:1:1: E101 this document begins with "Flow" (write "flow" in small letters)'),
        ("- name: Cafe\n", CAFE, "bot.yml:1:1: E101 this document is no map of keys (begin it with the bot's name: name: My bot)"),
    ],
)  # fmt: skip
def test_a_mistake_above_the_steps_has_a_fix_for_its_case(bot: str, flow: str, expected: str) -> None:
    assert problems_of(flow, bot)[0].endswith(expected)


def test_a_reminder_at_the_time_of_the_time_out_comes_and_an_inherited_one_need_not() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  hello: {ask: Hi?, REST}\n"
    assert problems_of(flow.replace("REST", "remind: {after: 20h}")) == []
    reminding = BOT.replace("defaults: {", "defaults: {remind: {after: 2h}, ")
    assert problems_of(flow.replace("REST", "timeout: {after: 1h, then: end}"), reminding) == []


def test_steps_that_are_not_indented_are_one_problem() -> None:
    head, steps = CAFE.split("steps:\n")
    level = "".join(f"{line[2:]}\n" for line in steps.splitlines())
    what = 'flow.yml:4:1: E106 flow "order": nothing stands below "steps" (indent the steps further: hello, drink, count, bye)'
    assert problems_of(f"{head}steps:\n{level}") == [what]


def test_a_reserved_name_that_is_read_is_no_variable_to_declare() -> None:
    (what,) = problems_of(CAFE.replace("{{ n }}", "{{ self }}"))
    assert what.startswith(
        'flow.yml:12:14: E301 no variable "self" (choose another name: reserved are and, came_from, '
    )


def planted(text: str, mistake: str) -> Iterator[tuple[str, str]]:
    """A file's text with the mistake in place of one value or behind it, for each value in turn, and what it was."""
    for document in yaml.compose_all(text, Loader=yaml.CBaseLoader):
        for node in _values(document):
            start, end = node.start_mark.index, node.end_mark.index
            behind = text[start:end].removesuffix(text[start:end].lstrip()[-1:])
            if node.style in ("'", '"'):
                yield text[:start] + f"{behind} {mistake}{node.style}" + text[end:], node.value
            yield text[:start] + f"'{mistake}'" + ("\n" if node.style == "|" else "") + text[end:], node.value


def _values(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    for item in node.value if isinstance(node, yaml.CollectionNode) else ():
        yield from _values(item[1] if isinstance(item, tuple) else item)


@search
@pytest.mark.parametrize(
    "name", ["cakes", "basket", "form", "help_centre", "dispatch", "course", "survey"][: tries(1, 7)]
)
def test_one_mistake_in_any_value_is_one_problem(name: str) -> None:
    folder, extensions = example(name)
    texts = {source.path: source.text.decode() for source in folder.sources}
    several = {}
    for path in (each for each in texts if not each.startswith(("tests/", "locales/"))):
        for text, value in some(5, planted(texts[path], "{{ 1 + }}")):
            sources = [Source(each, (text if each == path else other).encode()) for each, other in texts.items()]
            found = load(sources, extensions, folder.documents).problems
            if len(found) > 1:
                several[path, value] = found
    assert several == {}


ALL = {**SHORT, **TARGETS_WRONG, **{f"{name}, misspelt": found for name, found in KEYS.items()}, **TEXTS, **VALUES}


@pytest.mark.parametrize("name", ALL)
def test_it_is_one_problem_with_what_to_write(name: str) -> None:
    where, right, wrong, expected = ALL[name]
    assert problems(where, right, wrong) == [f"{FILES[where]}:{expected}"]
