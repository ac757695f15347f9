"""W305: values that never fit what they are for."""

from typing import Any

import pytest

from bot.checker.graph import Graph
from bot.checker.rules.misfits import find_misfits
from bot.language.python.decorators import handler
from tests.checker.proved import BOT, only
from tests.talk import library_of

HEAD = """
flow: a
start: {words: [a]}
vars: {n: integer, p: number, t: text, b: boolean, d: date, l: list, o: object, m: media, c: {type: choice, of: [A, B]}}
steps:
"""


@handler("slot")
def slot() -> Any:
    return None


@handler("find")
def find(number: str, count: int | None = None, found: list[str] | None = None) -> list[str]:
    return []


def reported(step: str, *flows: str) -> list[str]:
    """The findings about this step, without its name."""
    library = library_of("\n---\n".join([f"{HEAD}  x: {step}", *flows]), BOT, {"find": find})
    return [finding.what.partition(": ")[2] for finding in find_misfits(Graph(library))]


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("n", "{{ l }}", 'a list never fits "n", which is of type integer'),
        ("n", "about {{ p }}", 'a text never fits "n", which is of type integer'),
        ("d", "on {{ d }}", 'a text never fits "d", which is of type date'),
        ("t", "{{ b }}", 'true or false never fits "t", which is of type text'),
        ("d", "{{ n }}", 'a number never fits "d", which is of type date'),
        ("l", "{{ t }}", 'a text never fits "l", which is of type list'),
        ("l", "{{ l | join }}", 'a text never fits "l", which is of type list'),
        ("o", "{{ l | length }}", 'a number never fits "o", which is of type object'),
        ("p", "{{ d + days(1) }}", 'a date never fits "p", which is of type number'),
        ("b", "{{ today }}", 'a date never fits "b", which is of type boolean'),
        ("n", "{{ t }}", ""),
        ("n", "{{ n / 2 }}", ""),
        ("t", "{{ n }} cups", ""),
        ("t", "{{ d }}", ""),
        ("d", "{{ now }}", ""),
        ("d", "{{ o.day }}", ""),
        ("n", "{{ n }}{{ n }}", ""),
        ("l", "{{ l | append(1) }}", ""),
        ("b", "{{ n > 3 }}", ""),
        ("c", "{{ t }}", ""),
    ],
)
def test_a_variable_gets(name: str, value: str, what: str) -> None:
    assert reported(f"{{set: {{{name}: '{value}'}}}}") == ([what] if what else [])


def test_it_is_found_wherever_a_value_is_given() -> None:
    child = "flow: c\nvars: {x: integer, y: list}\nsteps: {s: {say: S}}"
    steps = [
        "{ask: Q, options: {A: {value: '{{ l }}'}}, save: n}",
        "{ask: Q, options: {A: {set: {n: '{{ l }}'}, then: end}}}",
        "{ask: Q, words: {w: {set: {n: '{{ l }}'}}}}",
        "{run: /c, with: {x: '{{ l }}'}}",
        "{run: /c, save: {n: y}}",
        "{say: Q, schedule: {flow: c, after: 1h, with: {x: '{{ l }}'}}}",
        "{set: {n: ['{{ t }}']}}",
        "{call: find, with: {number: '{{ t }}'}, save: n}",
    ]
    assert [len(reported(step, child)) for step in steps] == [1] * len(steps)


def test_a_handlers_argument_takes_what_its_annotation_says() -> None:
    assert reported("{call: find, with: {number: '{{ n }}'}, save: l}") == [
        "a number never fits the argument, which takes a text"
    ]
    assert reported("{call: find, with: {number: '{{ t }}', count: '{{ l }}'}, save: l}") == [
        "a list never fits the argument, which takes a number"
    ]
    assert reported("{call: find, with: {number: '{{ o.a }}', count: '{{ t }}', found: '{{ l }}'}, save: l}") == []


@pytest.mark.parametrize(
    "text", ['{{ "Total " + n }}', "{{ n + t }}", "{{ t | date }}", "{{ l | round }}", "{{ d + 1 }}", '{{ n < "3" }}']
)
def test_a_text_that_can_never_be_worked_out(text: str) -> None:
    (what,) = reported(f"{{say: '{text}'}}")
    assert what.startswith("this text always fails: ")


@pytest.mark.parametrize(
    "text", ['{{ "Total " ~ n }}', "{{ n + 1 }}", "{{ o.day | date }}", "{{ d - today }}", "{{ l + l }}"]
)
def test_a_text_that_may_be_worked_out(text: str) -> None:
    assert reported(f"{{say: '{text}'}}") == []


def test_a_definition_that_always_fails_is_found_once_where_it_stands() -> None:
    flow = HEAD.replace("steps:", "define: {half: t / 2, all: half + n, may: n + 1}\nsteps:")
    library = library_of(f"{flow}  x: {{say: '{{{{ all }}}}'}}\n  y: {{say: '{{{{ may }}}} {{{{ half }}}}'}}", BOT)
    (finding,) = find_misfits(Graph(library))
    assert (finding.line, finding.column) == (5, 16)
    assert finding.what == 'step "x": definition "half" always fails: "t" is a text'


def test_what_is_inherited_is_found_once() -> None:
    flow = HEAD.replace("steps:", "defaults: {remind: {after: 1h, say: '{{ t | date }}'}}\nsteps:")
    library = library_of(f"{flow}  x: {{ask: X}}\n  y: {{ask: Y}}", BOT)
    assert len({(finding.line, finding.column) for finding in find_misfits(Graph(library))}) == 1


@pytest.mark.parametrize("text", ["{{ t.name }}", "{{ d.hour }}", "{{ l.first }}", '{{ t["name"] }}', "{{ n.x or 1 }}"])
def test_a_field_that_no_value_of_the_type_has(text: str) -> None:
    (what,) = reported(f"{{say: '{text}', then: end}}")
    assert what.startswith("this text always fails: ")


@pytest.mark.parametrize(
    "text",
    [
        "{{ d.year }}",
        "{{ o.name }}",
        "{{ l[0] }}",
        "{{ t[:1] }}",
        "{{ m.kind }}",
        "{{ now.hour }}",
        "{{ t.x | default(1) }}",
    ],
)
def test_a_field_that_a_value_of_the_type_has(text: str) -> None:
    assert reported(f"{{say: '{text}', then: end}}") == []


def test_the_fix_names_the_field_and_not_another_fault() -> None:
    library = library_of(f"{HEAD}  x: {{say: '{{{{ d.hour }}}} {{{{ d.year }}}}', then: end}}", BOT, {"find": find})
    (finding,) = find_misfits(Graph(library))
    assert finding.fix == "leave out .hour: d has no such field"


SLOTS = """
flow: a
start: {words: [a]}
vars: {slots: {type: list}, slot: {type: object}, other: {type: object}, at: datetime}
steps:
  get: {http: "GET https://desk.example/slots", save: {slots: answer.slots}, errors: {else: end}}
  pick: {ask: When?, options: {from: slots, title: "{{ it.name }}"}, save: slot, errors: {else: end}}
  x: STEP
"""
UNDECLARED = '"slot.starts" is a text: a service sends no days and times'


def about_slots(step: str, old: str = "", new: str = "") -> list[str]:
    library = library_of(SLOTS.replace(old, new).replace("STEP", step), BOT, {"slot": slot})
    return [finding.what.partition(": ")[2] for finding in find_misfits(Graph(library))]


@pytest.mark.parametrize(
    "step",
    [
        '{say: "Booked. Call before {{ slot.starts - hours(24) }}."}',
        '{say: "At {{ slot.starts | time }}"}',
        '{say: "In {{ slot.starts | days_until }} days"}',
        '{branch: [{if: slot.starts < now, then: end}]}',
        '{say: Hi, set: {at: "{{ slot.starts + days(1) }}"}}',
    ],
)  # fmt: skip
def test_a_day_of_a_service_that_is_not_declared_is_a_text(step: str) -> None:
    assert about_slots(step) == [UNDECLARED]
    declared = "slot: {type: object, fields: {starts: datetime}}"
    assert about_slots(step, "slot: {type: object}", declared) == []
    assert about_slots(step, "slots: {type: list}", "slots: {type: list, fields: {starts: datetime}}") == []
    from_python = "  y: {call: slot, save: slot, errors: {else: end}}\n  x: STEP\n"
    assert about_slots(step, "  x: STEP\n", from_python) == [], "Python may give days"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{ slots[0].starts | date }}", True),
        ("{{ (slots | first).starts | date }}", True),
        ("{{ (slots | where(it.free) | find('id', 3)).day.starts | date }}", True),
        ("{{ slot.starts | as_datetime | date }}", False),
        ("{{ slot.price * 3 }} {{ slot.names | join }} {{ slot.at.x }}", False),
        ("{{ other.starts | date }}", False),
    ],
)
def test_parts_of_a_services_data_are_followed(text: str, found: bool) -> None:
    set_other = "  y: {set: {other: \"{{ {} | put('starts', now) }}\"}}\n  x: STEP\n"
    assert bool(about_slots(f'{{say: "{text}"}}', "  x: STEP\n", set_other)) is found


def test_choices_of_a_services_list_are_followed() -> None:
    title = 'title: "{{ it.starts | time }}"'
    assert about_slots("{say: Hi}", 'title: "{{ it.name }}"', title) == [
        '"it.starts" is a text: a service sends no days and times'
    ]
    declared = SLOTS.replace("slots: {type: list}", "slots: {type: list, fields: {starts: datetime}}")
    library = library_of(declared.replace('title: "{{ it.name }}"', title).replace("STEP", "{say: Hi}"), BOT)
    assert list(find_misfits(Graph(library))) == []


@pytest.mark.parametrize(
    "path", ["slot.n.x", "slot.at.place.x", "slots[0].n.x", "(slots | first).n.x", "slot.at.day.x"]
)
def test_a_declared_field_has_no_fields_where_its_type_has_none(path: str) -> None:
    flow = (
        "flow: a\nstart: {words: [a]}\nvars:\n"
        "  slot: {type: object, fields: {n: number, at: {type: object, fields: {place: text, day: date}}}}\n"
        "  slots: {type: list, fields: {n: number}}\n"
        f"steps: {{b: {{say: '{{{{ {path} }}}}'}}}}"
    )
    assert "always fails" in " ".join(only("W305").found(flow))
    assert only("W305").found(flow.replace(path, "slot.at.day.year ~ slot.other.x ~ slots[0].other.x")) == []


def test_the_fix_names_the_field_that_is_too_many() -> None:
    flow = "flow: a\nstart: {words: [a]}\nvars: {slot: {type: object, fields: {n: number}}}\nsteps: {b: {say: '{{ slot.n.x }}'}}"
    (found,) = only("W305").found(flow)
    assert found.endswith("(leave out .x: slot.n has no such field)")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{ o.docter }}", 'object "o" has no declared field "docter"'),
        ("{{ o.place.stret }}", 'object "o.place" has no declared field "stret"'),
        ("{{ o.doctor }}{{ o.place.street }}", ""),
        ("{{ o.notes }}", ""),  # a field that is declared nowhere, and like no other
    ],
)
def test_a_field_that_is_written_like_a_declared_one(text: str, found: str) -> None:
    fields = "{doctor: text, place: {type: object, fields: {street: text}}}"
    library = library_of(
        HEAD.replace("o: object", f"o: {{type: object, fields: {fields}}}") + f"  x: {{say: '{text}'}}"
    )
    assert [each.what.partition(": ")[2] for each in find_misfits(Graph(library))] == ([found] if found else [])


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ('{say: , document: "{{ m }}"}', ["a file is no address"]),
        ('{say: , document: {link: "{{ m }}"}}', ["a file is no address"]),
        ('{say: , document: {file: "{{ m }}"}}', []),
        ('{say: , document: "{{ t }}"}', []),
        ('{say: , document: "{{ m.url }}"}', []),
    ],
)
def test_a_file_in_place_of_an_address(step: str, found: list[str]) -> None:
    assert reported(step) == found
