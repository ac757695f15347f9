"""What the checks find in flows: each code, at its line and column, with what to do."""

from typing import Any

import pytest

from bot import function, handler
from bot.language.expressions.grammar import RESERVED_LIST
from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.gathered import Extensions
from tests.talk import BOT, problems_of


class Gone(LookupError):
    pass


@handler("shop.find", errors=[Gone])
def find(number: int, country: str = "") -> dict[str, Any]:
    return {}


def flow(steps: str, head: str = "") -> str:
    """A flow whose steps begin in line 4, or further down with a head."""
    return f"flow: main\nstart: {{otherwise: true}}\n{head}steps:\n{steps}"


CASES = {
    "a document of no kind": (
        "floww: main\n",
        '1:1: E101 this document begins with "floww" (begin it with "flow: name", "test: what it shows" or "evaluate: what it shows")',
    ),
    "a document without its first line": (
        "steps: {}\n",
        '1:1: E101 this document begins with "steps" (begin it with "flow: name", "test: what it shows" or "evaluate: what it shows")',
    ),
    "a secret in a flow": (
        flow("  a: {say: '{{ secret.KEY }}', then: end}\n"),
        '4:12: E301 no variable "secret" '
        "(only the services of bot.yml know secrets: put it into `headers` or `query` there)",
    ),
    "a text without quotes": (
        flow("  a: {branch: [{if: contact.name == ann, then: end}]}\n"),
        '4:21: E301 no variable "ann" (declare it under vars: ann: {type: text}; a text stands in quotes: "ann")',
    ),
    "a misspelt step": (
        flow("  a: {say: x, then: pya}\n  pay: {say: y, then: end}\n"),
        '4:21: E102 no step "pya" (did you mean "pay"?)',
    ),
    "a step of another flow": (
        flow("  a: {say: x, then: /man}\n"),
        '4:21: E103 no flow "man" (did you mean "main"?)',
    ),
    "a misspelt word among the targets": (
        flow("  a: {say: x, then: ende}\n"),
        '4:21: E102 no step "ende" (did you mean "end"?)',
    ),
    "a misspelt step of a flow": (
        flow("  pay: {say: x, then: /main/pya}\n"),
        '4:23: E102 no step "pya" in flow main (did you mean "pay"?)',
    ),
    "a misspelt key": (
        flow("  a: {say: x, the: end}\n"),
        '4:15: E104 step "a": unknown key "the" (did you mean "then"?)',
    ),
    "a text that cuts itself at a comma": (
        flow("  a: {say: Sorry, no luck.}\n"),
        '4:19: E104 step "a": "no luck." is a key without a value (if it belongs to a text with a comma, put that text in quotes)',
    ),
    "a step without a verb": (
        flow("  a: {sya: x}\n"),
        '4:6: E107 step "a" has no verb, it begins with "sya" (did you mean "say"?)',
    ),
    "two verbs": (
        flow("  a: {say: x, wait: 2h}\n"),
        '4:15: E107 step "a" has two verbs, "say" and "wait" (make two steps of it)',
    ),
    "a question without a word": (
        flow("  a: {ask: {any: [Well?, ' ']}, then: end}\n"),
        '4:26: E105 step "a": ask: there is nothing to ask (write the question)',
    ),
    "a reserved name": (
        flow("  end: {say: x}\n"),
        '4:3: E108 "end" cannot be a step\'s name: `then: end` already leads elsewhere (choose another name)',
    ),
    "a variable that an answer's status hides": (
        flow(
            "  a: {http: GET https://shop.example/x, save: {seen: status}, errors: {else: end}, then: end}\n",
            "vars: {seen: integer, status: text}\n",
        ),
        '3:31: E306 variable "status": at flows/test.yml:5:54 "status" means something else (choose another name for the variable)',
    ),
    "the data of a signal in another place": (
        flow("  a: {say: 'You paid {{ event.amount }}.'}\n"),
        '4:12: E301 no variable "event" (`set` it in a variable: only the transition of the signal itself knows it)',
    ),
    "a bad name": (
        flow("  My-step: {say: x}\n"),
        '4:3: E108 step: "My-step" is no name (write my_step: small letters from a to z, digits and _ only)',
    ),
    "a step that cannot be read and that others lead to": (
        flow("  a: {sya: x}\n  b: {say: y, then: a}\n"),
        '4:6: E107 step "a" has no verb, it begins with "sya" (did you mean "say"?)',
    ),
    "variables under a misspelt key": (
        flow("  a: {say: '{{ name }} {{ age }}', set: {age: 3}, then: end}\n", "var: {name: text, age: integer}\n"),
        '3:1: E104 flow "main": unknown key "var" (did you mean "vars"?)',
    ),
    "a way on that no way out takes": (
        flow("  a: {handoff: sales, closed: end, then: end}\n"),
        '4:42: E123 step "a": "then" has no effect: every outcome has a target of its own (remove it)',
    ),
    "a classify step without exits": (
        flow("  a: {classify: What?, exits: {}, other: end, errors: {else: end}}\n"),
        '4:31: E105 step "a": exits: there is no exit (add one, like done: {when: they have what they need, then: end})',
    ),
    "an exit of the name for no exit": (
        flow("  a: {classify: What?, exits: {none: end}, other: end, errors: {else: end}}\n"),
        '4:32: E108 step "a": an exit "none" is what a model says where no exit fits '
        "(choose another name; `other` is for what fits none)",
    ),
    "an exit that needs what nothing notes": (
        flow(
            "  a: {classify: What?, exits: {b: {needs: [n], then: end}}, other: end, errors: {else: end}}\n",
            "vars: {n: text}\n",
        ),
        '5:32: E123 step "a": exit "b": "needs" where nothing is noted (leave it out, or let an `ai` step ask for it)',
    ),
    "an error that no choice of a model's ends with": (
        flow("  a: {classify: What?, exits: {b: end}, other: end, errors: {turns: end, else: end}}\n"),
        '4:62: E504 step "a": a model has no error "turns" '
        "(write one of timeout, down, quota, refused, unsafe, empty, over_budget, mismatch, failed or else)",
    ),
    "a key of AI turns that says nothing of a choice": (
        flow("  a: {classify: What?, exits: {b: end}, other: end, errors: {else: end}, messages: 2}\n"),
        '4:74: E104 step "a": unknown key "messages" (it belongs to ai, not to classify)',
    ),
    "no target": (
        flow("  a: {say: x, then: 'some where'}\n"),
        '4:21: E110 step "a": then: "some where" is no target '
        "(write a step, /flow, /flow/step, next, again, stay, back, end or route; where a text is to be said, {say: ...})",
    ),
    "no steps": ("flow: main\nsteps: {}\n", '2:8: E105 flow "main" has no steps (add the first one)'),
    "a list where a map is expected": (
        flow("  a: [say]\n"),
        '4:6: E106 step "a": a map of keys is expected (write key: value)',
    ),
    "two forms of choices": (
        flow("  a: {ask: x, buttons: {Y: end}, list: {rows: {Z: end}}}\n"),
        '4:40: E121 step "a": "list" beside "buttons" (keep one of them)',
    ),
    "a branch after else": (
        flow("  a: {branch: [{else: b}, {if: true, then: b}]}\n  b: {say: x, then: end}\n"),
        '4:27: E122 step "a": branch 2 comes after `else` (put `else` last)',
    ),
    "no transition for a signal": (
        flow("  a: {wait: 1h, signals: {paid: []}}\n"),
        '4:33: E105 signal "paid": the list is empty (write {if: event.amount > 9, then: step})',
    ),
    "a reminder where nobody is waited for": (
        flow("  a: {say: x, remind: {after: 1h}}\n"),
        '4:23: E123 step "a": "remind" has no effect: the step waits for no answer (put it on a step that waits for an answer)',
    ),
    "retry beside other": (
        flow("  a: {ask: x, buttons: {Y: end}, retry: {say: z}, other: end}\n"),
        '4:41: E124 step "a": "retry" has no effect beside "other" (keep one: `other` takes every reply that is no answer)',
    ),
    "a retry without else": (
        flow("  a: {ask: x, buttons: {Y: end}, retry: {max: 2}}\n"),
        "4:41: E130 retry has a `max` and no `else` (add else: and a target)",
    ),
    "a hand-over that nobody closes": (
        flow("  a: {handoff: sales}\n"),
        '4:3: E130 step "a" has no `closed`: "closed" leads nowhere (write closed: and a target)',
    ),
    "an error transition without target": (
        flow("  a: {say: x, errors: {else: {say: Oh.}}}\n"),
        "4:30: E131 errors.else leads nowhere (add `then` with a target)",
    ),
    "a loop that never waits": (
        flow("  a: {say: x}\n  b: {say: y, then: a}\n"),
        "4:3: E140 these steps go round without waiting: a -> b -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a loop over a day that comes once": (
        flow("  a: {say: x}\n  b: {wait: 2031-01-01, then: a}\n"),
        "4:3: E140 these steps go round without waiting: a -> b -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a loop over what has passed whenever it is worked out": (
        flow('  a: {say: x}\n  b: {wait: "{{ today }}", then: a}\n'),
        "4:3: E140 these steps go round without waiting: a -> b -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a loop over a time of which it depends on the day whether it has passed": (
        flow("  b: {wait: \"{{ today + days(1 if today | weekday == 'monday' else 0) }}\", then: b}\n"),
        "4:3: E140 these steps go round without waiting: b -> b (let one of them wait for an answer, or bound its visits)",
    ),
    "a loop over two flows": (
        flow("  a: {say: x, then: /two}\n---\nflow: two\nsteps: {b: {branch: [{if: now, then: /main}]}}\n"),
        "4:3: E140 these steps go round without waiting: a -> /two/b -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a value where a step is meant": (
        flow("  a: {ask: x, buttons: {Red: Red, Blue: b}, save: t}\n  b: {say: x}\n", "vars: {t: {type: text}}\n"),
        '5:30: E102 no step "Red" (write the name of a step, in small letters; where a text is meant, {value: Red})',
    ),
    "a step with a capital": (
        flow("  a: {say: x, then: Pay}\n  pay: {say: x}\n"),
        '4:21: E102 no step "Pay" (did you mean "pay"?)',
    ),
    "a step that puts itself again": (
        flow("  a: {branch: [{if: now, then: again}]}\n"),
        "4:3: E140 these steps go round without waiting: a -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a step with a bound that puts itself again, which is no visit": (
        flow("  a: {say: x, then: again, visits: {max: 2, else: end}}\n"),
        "4:3: E140 these steps go round without waiting: a -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a bound on visits that leads into the loop": (
        flow("  a: {say: x, visits: {max: 2, else: a}}\n"),
        "4:3: E140 these steps go round without waiting: a -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a bound on visits of a flow that waits, which leads into the loop": (
        flow("  a: {run: /two, visits: {max: 2, else: {say: x, then: a}}}\n---\nflow: two\nsteps: {c: {ask: y}}\n"),
        "4:3: E140 these steps go round without waiting: a -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a loop over a flow in which visits are bounded, each time anew": (
        flow(
            "  a: {run: /two, then: a}\n---\nflow: two\n"
            "steps: {c: {say: y, then: end, visits: {max: 2, else: d}}, d: {ask: z}}\n"
        ),
        "4:3: E140 these steps go round without waiting: a -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a flow that runs itself": (
        flow("  a: {run: /main}\n"),
        "4:3: E140 these steps go round without waiting: a -> a (let one of them wait for an answer, or bound its visits)",
    ),
    "a loop that hides a variable": (
        flow('  a: {say: "{% for t in l %}{{ t }}{% endfor %}"}\n', "vars: {t: {type: text}, l: {type: list}}\n"),
        '5:12: E306 "t": the loop hides the variable of this name (give the element of the loop another name)',
    ),
    "a loop that hides a definition": (
        flow(
            '  a: {say: "{% for t in l %}{{ t }}{% endfor %}{{ t }}"}\n',
            "vars: {l: {type: list}}\ndefine: {t: l | first}\n",
        ),
        '6:12: E306 "t": the loop hides the definition of this name (give the element of the loop another name)',
    ),
    "a loop that hides what a service has answered": (
        flow(
            '  a: {http: GET https://a.example, errors: {else: {say: "{% for answer in l %}-{% endfor %}", then: end}}}\n',
            "vars: {l: {type: list}}\n",
        ),
        '5:57: E306 "answer": the loop hides the value of this name (give the element of the loop another name)',
    ),
    "a loop that hides what every text knows": (
        flow('  a: {say: "Hi {% for now in [1] %}{{ now }}{% endfor %}"}\n'),
        f'4:12: E306 "now": the name is reserved (give the element of the loop another name: {RESERVED_LIST})',
    ),
    "a value that is saved where nothing comes of it": (
        flow("  a: {wait: 2h, save: t}\n", "vars: {t: {type: text}}\n"),
        '5:17: E104 step "a": unknown key "save" (it belongs to ask, call, http, write, run, not to wait)',
    ),
    "a time-out that hands on no message": (
        flow("  a: {ask: x, timeout: {after: 1h, then: route}}\n"),
        '4:42: E110 timeout: "route" leads nowhere here, there is no message to hand on (write /flow, /flow/step or end)',
    ),
    "a time-out without target": (
        flow("  a: {ask: x, timeout: {say: Bye.}}\n"),
        "4:24: E131 timeout leads nowhere (add `then` with a target)",
    ),
    "a way from a gone step to its next": (
        flow("  a: {ask: x}\n", "defaults: {gone: next}\n"),
        '3:18: E110 gone: "next" leads nowhere here, the step is not there any more (write /flow, /flow/step or end)',
    ),
    "a variable that a flow's defaults set": (
        flow("  a: {ask: x}\n", "defaults: {timeout: {after: 1h, set: {n: 1}, then: end}}\n"),
        '3:39: E301 no variable "n" in flow main (declare it in flow main under vars: n: {type: text})',
    ),
    "a value that another flow keeps": (
        flow("  a: {say: '{{ day }}', then: end}\n")
        + "---\nflow: b\nvars: {day: {type: date, keep: true}}\nsteps: {a: {ask: Day?, save: day}}\n",
        '4:12: E301 no variable "day" (declare it under vars as flow b does, with keep: true)',
    ),
    "a value that another flow keeps, taken back": (
        flow("  a: {say: Bye, clear: day, then: end}\n")
        + "---\nflow: b\nvars: {day: {type: date, keep: true}}\nsteps: {a: {ask: Day?, save: day}}\n",
        '4:24: E301 no variable "day" in flow main (declare it in flow main under vars as flow b does, with keep: true)',
    ),
    "a value that a record keeps": (
        flow("  a: {say: '{{ seats }}', then: end}\n")
        + "---\nflow: b\nshared: day\nvars: {seats: {type: integer, keep: true}}\nsteps: {a: {clear: seats}}\n",
        '4:12: E301 no variable "seats" (declare it under vars: seats: {type: text})',
    ),
    "a target among the values of a set": (
        flow(
            "  a: {ask: x, buttons: {Go: {set: {n: '{{ n + 1 }}', then: b}}}}\n  b: {say: y}\n", "vars: {n: integer}\n"
        ),
        '5:54: E301 no variable "then" in flow main (write it beside these values, not among them, as in '
        "set: {count: 1}, then: end; or declare it in flow main under vars: then: {type: text})",
    ),
    "an other without replies": (
        flow("  a: {template: {name: x, language: en}, other: end}\n"),
        '4:49: E123 step "a": "other" where no reply is waited for (add the `replies`)',
    ),
    "too many sections": (
        flow("  a: {ask: x, list: {sections: {" + ", ".join(f"S{n}: [R{n}]" for n in range(11)) + "}}}\n"),
        '4:21: E401 step "a": more than 10 sections of 10 rows (divide the question)',
    ),
    "a misspelt variable in a template": (
        flow("  a: {say: '{{ nmae }}', then: end}\n", "vars: {name: text}\n"),
        '5:12: E301 no variable "nmae" (did you mean "name"?)',
    ),
    "a misspelt variable to save": (
        flow("  a: {ask: x, save: nmae}\n", "vars: {name: text}\n"),
        '5:21: E301 no variable "nmae" in flow main (did you mean "name"?)',
    ),
    "a misspelt property of the contact": (
        flow("  a: {say: '{{ contact.nam }}', then: end}\n"),
        '4:12: E302 a contact has no "nam" (did you mean "name"?)',
    ),
    "a property of the contact that goes by another name": (
        flow("  a: {say: '{{ contact.phone }}', then: end}\n"),
        '4:12: E302 a contact has no "phone" (a contact has id, name, email, tags; contact.id is the phone number)',
    ),
    "a field of a text of the contact": (
        flow("  a: {say: '{{ contact.name.name }}', then: end}\n"),
        '4:12: E302 contact.name is a text and has no "name" (write contact.name)',
    ),
    "a value in a template's name": (
        flow("  a: {template: {name: 'news_{{ n }}', language: en}, then: end}\n", "vars: {n: text}\n"),
        '5:24: E106 step "a": template: name: no values can stand here, and {{ }} would be sent as it is written '
        "(write it out; if it differs, `branch` to a step for each)",
    ),
    "a value in a team": (
        flow("  a: {handoff: '{{ n }}', closed: end}\n", "vars: {n: text}\n"),
        '5:16: E106 step "a": handoff: no values can stand here, and {{ }} would be sent as it is written '
        "(write it out; if it differs, `branch` to a step for each)",
    ),
    "a choice's value that does not fit": (
        flow("  a: {ask: x, buttons: {Y: {value: red, then: end}}, save: n}\n", "vars: {n: integer}\n"),
        '5:25: E303 "red" does not fit n: it is no number (change the value, or what the variable takes)',
    ),
    "one word for two answers": (
        flow("  a: {ask: x, buttons: {Yes: end, No: {words: [YES!], then: end}}}\n"),
        '4:35: E311 step "a": "YES!" is an answer of "Yes" and of "No" (keep it in one of them)',
    ),
    "two starts by one word": (
        "flow: main\nstart: {words: [hi]}\nsteps: {a: {say: x, then: end}}\n---\n"
        "flow: two\nstart: {words: [Hi!]}\nsteps: {a: {say: x, then: end}}\n",
        '6:17: E312 "Hi!" is taken: it starts flow main (choose another for one of them)',
    ),
    "two flows for everything else": (
        "flow: main\nstart: {otherwise: true}\nsteps: {a: {say: x, then: end}}\n---\n"
        "flow: two\nstart: {otherwise: true}\nsteps: {a: {say: x, then: end}}\n",
        "6:8: E313 `otherwise` is taken: it starts flow main (remove it from one of them)",
    ),
    "two flows of one name": (
        "flow: main\nsteps: {a: {say: x, then: end}}\n---\nflow: main\nsteps: {a: {say: x, then: end}}\n",
        '4:7: E111 a second flow "main", the first is at flows/test.yml:1 (rename one of them)',
    ),
    "four buttons": (
        flow("  a: {ask: x, buttons: {A: end, B: end, C: end, D: end}}\n"),
        '4:49: E401 step "a": buttons: 4 buttons, 3 are allowed (write `options` in place of `buttons`: what does not fit on buttons is shown as a list)',
    ),
    "a button that is too long": (
        flow("  a: {ask: x, buttons: {This title has too many letters: end}}\n"),
        '4:25: E402 step "a": "This title has too many letters" has 31 characters, 20 are allowed (shorten it)',
    ),
    "a button that is too long, and not too long for a list": (
        flow("  a: {ask: x, buttons: {A title of 22 letters!: end}}\n"),
        '4:25: E402 step "a": "A title of 22 letters!" has 22 characters, 20 are allowed '
        "(shorten it, or use a list (24 characters))",
    ),
    "a header on a list": (
        flow("  a: {ask: x, header: H, list: {rows: {A: end}}}\n"),
        '4:23: E403 step "a": a header goes with buttons only (put it in the text)',
    ),
    "a file of a wrong type": (
        flow("  a: {say: x, image: 'https://a.example/x.gif'}\n"),
        '4:22: E404 step "a": image: the gateway takes no .gif as image (use jpg, jpeg, png)',
    ),
    "a template's file of a wrong type": (
        flow("  a: {template: {name: t, language: en, header: {video: 'https://a.example/x.gif'}}}\n"),
        '4:57: E404 step "a": template: header: video: the gateway takes no .gif as video (use mp4)',
    ),
    "no address": (
        flow("  a: {say: x, link: {title: Map, url: 'map.example'}}\n"),
        '4:39: E405 step "a": link: url: "map.example" is no address (write it out, with https://)',
    ),
    "a file of the bot's own as an address": (
        flow("  a: {say: x, document: menu.pdf}\n"),
        '4:25: E405 step "a": document: "menu.pdf" is no address '
        "(write it out, with https://; for a file in the folder files write document: {file: menu.pdf})",
    ),
    "a title twice": (
        flow("  a: {ask: x, buttons: [Yes, Yes]}\n"),
        '4:30: E406 step "a": a second "Yes" (give it another title: those of one message differ)',
    ),
    "a misspelt handler": (
        flow("  a: {call: shop.fnd, with: {number: 1}, errors: {else: end}}\n"),
        '4:13: E501 step "a": no handler "shop.fnd" (did you mean "shop.find"?)',
    ),
    "a misspelt argument": (
        flow("  a: {call: shop.find, with: {number: 1, contry: x}, errors: {else: end}}\n"),
        '4:42: E502 step "a": handler "shop.find" has no argument "contry" (did you mean "country"?)',
    ),
    "a missing argument": (
        flow("  a: {call: shop.find, errors: {else: end}}\n"),
        '4:13: E503 step "a": handler "shop.find" needs the argument "number" (add it under `with`: number)',
    ),
    "an error that the handler does not declare": (
        flow("  a: {call: shop.find, with: {number: 1}, errors: {Gnoe: end, else: end}}\n"),
        '4:52: E504 step "a": handler "shop.find" declares no error "Gnoe" (did you mean "Gone"?)',
    ),
    "a call whose failure leads nowhere": (
        flow("  a: {call: shop.find, with: {number: 1}}\n"),
        '4:3: E130 step "a" has no `errors.else`: a failure of this step leads nowhere (add errors: {else: end}, or another target)',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_where_it_is(name: str) -> None:
    text, expected = CASES[name]
    assert problems_of(text, handlers={"find": find}) == [f"flows/test.yml:{expected}"]


OF_THE_BOT = {
    "an unknown time zone": (
        BOT + "timezone: Asia/Jakrata\n",
        '3:11: E109 no time zone "Asia/Jakrata" (write one like Asia/Jakarta or UTC)',
    ),
    "an unknown choice": (
        "name: T\ndefaults: {old_taps: explian, timeout: {after: 1h, then: end}}\n",
        '2:22: E109 bot: defaults: old_taps: "explian" is not known (did you mean "explain"?)',
    ),
    "a step's name where no flow is": (
        BOT + "words: {menu: a}\n",
        '3:15: E112 "a" is a step, and bot.yml belongs to no flow (write /main/a)',
    ),
    "a word that a choice has": (
        BOT + "words: {yes: end}\n",
        None,
    ),
    "a missing default": (
        "name: T\n",
        None,
    ),
    "a word of opt_out that a choice has": (
        BOT + "opt_out: {words: ['YES!']}\n",
        None,
    ),
    "a word of opt_out that a word of the bot is": (
        BOT + "opt_out: {words: [stop]}\nwords: {Stop: end}\n",
        '4:9: E312 word "Stop" of the bot is a word of `opt_out`, which comes first (choose another word for one of them)',
    ),
    "a word of opt_out that brings back as well": (
        BOT + "opt_out: {words: [stop, end], back: [start, Stop]}\n",
        '3:45: E312 bot: opt_out: back: "stop" is a word that opts out (choose another word for one of them)',
    ),
    "an opt_out without words": (
        BOT + "opt_out: {say: Bye}\n",
        '3:10: E105 bot: opt_out: "words" is missing (add words:)',
    ),
    "an opt_out that is misspelt": (
        BOT + "opt_out: {words: stop, sya: Bye}\n",
        '3:24: E104 bot: opt_out: unknown key "sya" (did you mean "say"?)',
    ),
    "a second bot": (
        BOT + "---\nname: two\n",
        "4:1: E100 a second document in bot.yml (put flows into files of their own)",
    ),
    "a word that leads to the next step": (
        BOT + "words: {on: next}\n",
        '3:13: E110 word "on": "next" leads nowhere here, a word of the bot stands at no step (write /flow, /flow/step or end)',
    ),
    "a variable of no flow": (
        BOT + "words: {on: {set: {n: 1}, then: end}}\n",
        '3:20: E301 no flow has a variable "n" (declare it under vars of the flows that read it)',
    ),
    "a language that is none": (
        BOT + "languages: [en, English]\n",
        '3:12: E109 bot: languages: "English" is no language code (write codes like en, id or pt-BR)',
    ),
    "a channel that is no number": (
        BOT + "channels: {main: ch_1}\n",
        '3:18: E109 bot: channels: "main" is no number (write the channel\'s number with its country code, then its id: 6281234567890: chn_1)',
    ),
}
ELSEWHERE = {
    "a word of opt_out that a choice has": '4:25: E312 step "a": "Yes" is a word of `opt_out`, which comes '
    "first (choose another word for one of them)",
    "a word that a choice has": '4:25: E312 step "a": "Yes" is a word of the bot, which comes first '
    "(choose another word for one of them)",
    "a missing default": '4:3: E130 step "a" has no `timeout`: it waits for ever when no answer comes '
    "(add timeout: {after: 20h, then: end} here or under `defaults`)",
}


@pytest.mark.parametrize("name", OF_THE_BOT)
def test_it_is_found_in_the_bots_own_file(name: str) -> None:
    bot, expected = OF_THE_BOT[name]
    place = f"bot.yml:{expected}" if expected else f"flows/test.yml:{ELSEWHERE[name]}"
    assert problems_of(flow("  a: {ask: x, buttons: {Yes: end}}\n"), bot) == [place]


@pytest.mark.parametrize(
    ("flows", "expected"),
    [
        (
            "flow: main\nstart: {words: [Stop!]}\nsteps: {a: {say: x}}\n",
            '2:17: E312 "Stop!" is taken: it is a word of `opt_out` (choose another for one of them)',
        ),
        (
            "flow: main\nwords: {stop: end}\nsteps: {a: {say: x}}\n",
            '2:9: E312 word "stop" of flow main is a word of `opt_out`, which comes first '
            "(choose another word for one of them)",
        ),
        (
            "flow: main\nsteps: {a: {template: {name: x, language: en}, replies: {Go on: end, Stop: end}}}\n",
            '2:76: E312 step "a": "Stop" is a word of `opt_out`, which comes first '
            "(choose another word for one of them)",
        ),
        ("flow: main\nstart: {words: [start]}\nsteps: {a: {say: x}}\n", None),
    ],
)
def test_what_opt_out_takes_from_a_flow_is_found(flows: str, expected: str | None) -> None:
    found = problems_of(flows, BOT + "opt_out: {words: [stop], back: [start]}\n")
    assert found == ([] if expected is None else [f"flows/test.yml:{expected}"])


def test_all_problems_of_all_files_are_found_at_once_and_sorted() -> None:
    found = problems_of(flow("  a: {say: '{{ x }}', then: b}\n  c: {sya: x}\n"), BOT + "timezone: X\n")
    assert [line.split(" ")[0] + " " + line.split(" ")[1] for line in found] == [
        "bot.yml:3:11: E109",
        "flows/test.yml:4:12: E301",
        "flows/test.yml:4:29: E102",
        "flows/test.yml:5:6: E107",
    ]


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ("flow: two\nsteps: {a: {say: 'x}}\n", "E002"),
        ("flow: two\nsteps: {a: {say: Now: go}}\n", "E007"),
        ("flwo: two\nsteps: {a: {say: x}}\n", "E101"),
        ("flow: two\nsteps: {a: {say: \0}}\n", "E001"),
    ],
)
def test_a_file_that_cannot_be_read_is_the_only_problem_where_others_lead_into_its_flow(
    broken: str, expected: str
) -> None:
    leading = flow("  a: {run: /two}\n  b: {say: x, then: /two/c}\n")
    sources = [
        Source("bot.yml", (BOT + "words: {two: {set: {n: 1}, then: /two}}\n").encode()),
        Source("flows/main.yml", leading.encode()),
        Source("flows/two.yml", broken.encode()),
    ]
    assert [(problem.path, problem.code) for problem in load(sources, Extensions()).problems] == [
        ("flows/two.yml", expected)
    ]


ALTERED = {  # what stands in a flow, and what to write: the code is in quotes where it is a text for sure
    "01234": ("1234", '"01234"'),
    "1.10": ("1.1", '"1.10"'),
    "0x1F": ("31", '"0x1F"'),
    "0o17": ("15", '"0o17"'),
    "12e03": ("12000", '"12e03"'),
    "+62": ("62", '"+62"'),
    ".5": ("0.5", '".5"'),
    "1.": ("1", '"1."'),
    "0.30000000000000000001": ("0.3", '"0.30000000000000000001"'),
}


def altered_at(document: str, written: str) -> str:
    before = document[: document.rindex(written)]
    read, fix = ALTERED[written]
    place = f"{before.count(chr(10)) + 1}:{len(before.rpartition(chr(10))[2]) + 1}"
    return f"flows/test.yml:{place}: E007 YAML reads {written} as the number {read} (put it in quotes: {fix})"


@pytest.mark.parametrize("written", ALTERED)
def test_a_text_of_which_yaml_makes_a_number_is_to_be_quoted(written: str) -> None:
    document = flow("  a: {say: x}\n", f"vars: {{x: {{type: text, value: {written}}}}}\n")
    assert problems_of(document) == [altered_at(document, written)]


@pytest.mark.parametrize(
    "where",
    [
        "vars: {x: {type: choice, of: [HERE], value: HERE}}\nsteps: {a: {say: x}}",
        "vars: {x: {type: text}}\nsteps: {a: {set: {x: HERE}}}",
        "vars: {x: {type: text}}\nsteps: {a: {ask: y, buttons: {z: {set: {x: HERE}}}}}",
        "vars: {x: {type: text}}\nsteps: {a: {ask: y, options: {z: {value: HERE}}, save: x}}",
        "vars: {x: {type: text}}\nsteps: {a: {run: /two, with: {x: HERE}}}\n---\nflow: two\nvars: {x: {type: text}}\n"
        "steps: {a: {say: x}}",
        "vars: {x: {type: text}}\nsteps: {a: {say: y, schedule: {flow: main, after: 1h, with: {x: HERE}}}}",
        'steps: {a: {http: "GET https://api.example", query: {x: HERE}, errors: {else: end}}}',
        'steps: {a: {http: "POST https://api.example", form: {x: HERE}, errors: {else: end}}}',
    ],
)
def test_so_it_is_wherever_a_text_is_meant(where: str) -> None:
    document = f"flow: main\nstart: {{otherwise: true}}\n{where.replace('HERE', '01234')}\n"
    assert problems_of(document) == [altered_at(document, "01234")]


@pytest.mark.parametrize("name", ["list", "object"])
def test_where_a_number_may_be_meant_both_are_shown_and_a_price_is_no_problem(name: str) -> None:
    value = {"list": "[{price: 8.50, code: 01}]", "object": "{price: 8.50, code: 01}"}[name]
    (found,) = problems_of(flow("  a: {say: x}\n", f"vars: {{x: {{type: {name}, value: {value}}}}}\n"))
    assert found.endswith(
        'E007 YAML reads 01 as the number 1 (put it in quotes: "01"; if the number is meant, write 1)'
    )
    (found,) = problems_of(
        flow('  a: {http: "POST https://api.example", json: {price: 8.50, code: 01}, errors: {else: end}}\n')
    )
    assert found.endswith(
        'E007 YAML reads 01 as the number 1 (put it in quotes: "01"; if the number is meant, write 1)'
    )


def test_an_argument_is_a_number_where_the_handler_says_so() -> None:
    call = flow("  a: {call: shop.find, with: {number: HERE, country: x}, errors: {else: end}}\n")
    assert problems_of(call.replace("HERE", "0x1F"), handlers={"find": find}) == []
    (found,) = problems_of(call.replace("HERE", "1").replace("x}", "007}"), handlers={"find": find})
    assert found.endswith('E007 YAML reads 007 as the number 7 (put it in quotes: "007")')


@pytest.mark.parametrize(
    "written",
    [
        "5",
        "-12",
        "1.5",
        "0",
        "yes",
        "no",
        "on",
        "NO",
        "2030-05-12",
        "12:30",
        "1_000",
        "0b11",
        "1.2.3",
        "'01'",
        '"1.10"',
    ],
)
def test_a_text_that_stays_what_is_written_needs_no_quotes(written: str) -> None:
    head = f"vars: {{x: {{type: text, value: {written}}}}}\n"
    steps = f"  a: {{set: {{x: {written}}}}}\n  b: {{ask: y, options: {{{written}: {{value: {written}}}}}, save: x}}\n"
    assert problems_of(flow(steps, head)) == []


@pytest.mark.parametrize("written", ["01234", "1.10", "0x1F", "12e03", "3.20"])
def test_titles_words_keys_and_numbers_are_what_is_written(written: str) -> None:
    head = f"words: {{9{written}: {{say: x}}}}\nvars: {{n: {{type: number, value: {written}}}}}\n"
    steps = f"  a: {{set: {{n: {written}}}}}\n  b: {{ask: y, options: [{written}, z]}}\n"
    sources = [Source("bot.yml", BOT.encode()), Source("flows/test.yml", flow(steps, head).encode())]
    library = load(sources, Extensions()).library
    assert library is not None
    main = library.flows["main"]
    assert [word.text for word in main.words.values()] == [f"9{written}"]
    assert next(iter(main.steps["b"].facts.answers)).text == written


def test_a_null_where_a_text_is_needed_may_be_one_that_wants_quotes() -> None:
    assert problems_of(flow("  a: {ask: y, options: [~, z]}\n")) == [
        'flows/test.yml:4:25: E105 step "a": options: a text is missing (if it is a text, put it in quotes: "~")'
    ]


def test_a_bot_without_files_says_what_is_missing() -> None:
    assert [str(problem) for problem in load([], Extensions()).problems] == [
        "bot.yml:1:1: E100 bot.yml is empty or missing (write the bot's name into it: name: My bot)",
    ]


LOOPS = {
    "a flow that waits is run in a circle": (
        "  a: {run: /two}\n  b: {say: x, then: a}\n---\nflow: two\nsteps: {c: {ask: y}}\n"
    ),
    "a failing text leads to where it came from": "  a: {say: x, errors: {else: /main}}\n  b: {ask: y}\n",
    "a day that is worked out": '  a: {say: x}\n  b: {wait: "{{ today + days(1) }}", then: a}\n',
    "visits bound it": "  a: {say: x, visits: {max: 2, else: end}}\n  b: {say: y, then: a}\n",
}


@pytest.mark.parametrize("name", LOOPS)
def test_it_is_no_loop_without_a_wait(name: str) -> None:
    assert problems_of(flow(LOOPS[name])) == []


def test_a_loop_hides_no_function_of_the_bots_own_python() -> None:
    @function("price")
    def price(of: str) -> int:
        return 1

    text = flow('  a: {say: "{% for price in [1] %}{{ price }}{% endfor %}"}\n')
    what = '"price": the loop hides the function of this name in the bot\'s Python'
    fix = "give the element of the loop another name"
    assert problems_of(text, handlers={"price": price}) == [f"flows/test.yml:4:12: E306 {what} ({fix})"]


def test_a_variable_that_a_signals_data_hide_is_refused_where_it_is_declared() -> None:
    steps = "  a: {wait: 2h, signals: {paid: {if: event.amount > 3, then: end}}, then: end}\n"
    bot = BOT + "signals: {paid: {amount: number}}\n"
    assert problems_of(flow(steps, "vars: {event: {type: object}}\n"), bot) == [
        'flows/test.yml:3:15: E306 variable "event": at flows/test.yml:5:38 "event" means something else '
        "(choose another name for the variable)"
    ]
