"""What `schedule`, `cancel`, `wait` and the bot's `hours` may say, and what is said of what they may not."""

import pytest

from tests.talk import BOT, problems_of

OFFICE = BOT + 'hours: {office: {mon-fri: "9:00-18:00"}}\n'
FLOW = "flow: main\nstart: {otherwise: true}\nvars: {day: {type: date}}\nsteps:\n  a: {say: Hi., %s}\n  b: {wait: %s}\n"
OTHER = "---\nflow: reminder\nvars: {slot: {type: text}}\nsteps: {s: {say: '{{ slot }}'}}"


def problems(option: str = "then: b", wait: str = "1h", bot: str = OFFICE) -> list[str]:
    return [problem.split(" ", 1)[1] for problem in problems_of(FLOW % (option, wait) + OTHER, bot)]


@pytest.mark.parametrize(
    "option",
    [
        "schedule: {flow: reminder, after: 2h}",
        "schedule: {flow: /reminder/s, at: '2030-12-24 18:00', past: skip}",
        "schedule: {flow: reminder, at: '2030-12-24 9:00'}",
        "schedule: {flow: reminder, at: '{{ now + hours(2) }}', with: {slot: '9:00'}, busy: interrupt, name: x}",
        "schedule: {flow: reminder, every: mon-fri at 9:00, until: 2030-12-31, busy: skip}",
        "schedule: [{flow: reminder, after: 2h}, {flow: reminder, every: 0 9 * * 1, name: weekly}], cancel: weekly",
        "schedule: {flow: reminder, after: 2h, name: 'visit {{ now }}'}, cancel: [visit 1, anything]",
    ],
)
def test_a_schedule_is_clean(option: str) -> None:
    assert problems(option) == []


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        (
            "schedule: reminder",
            'E106 step "a": schedule: a map of keys is expected (write schedule: {flow: its_name, after: 2h})',
        ),
        ("schedule: {after: 2h}", 'E105 step "a": schedule: "flow" is missing (add flow:)'),
        ("schedule: {flow: remindr, after: 2h}", 'E103 no flow "remindr" (did you mean "reminder"?)'),
        ("schedule: {flow: reminder/t, after: 2h}", 'E110 step "a": schedule: flow: "reminder/t" is no target'),
        ("schedule: {flow: /reminder/t, after: 2h}", 'E102 no step "t" in flow reminder'),
        ("schedule: {flow: reminder}", 'E105 step "a": schedule: when is missing (add one of at, after, every)'),
        (
            "schedule: {flow: reminder, after: 2h, every: day at 9:00}",
            'E121 step "a": schedule: "every" beside "after"',
        ),
        ("schedule: {flow: reminder, after: 2h, past: now}", 'E121 step "a": schedule: "past" without "at" (leave it'),
        (
            "schedule: {flow: reminder, after: 2h, until: 2030-12-31}",
            'E121 step "a": schedule: "until" without "every"',
        ),
        ("schedule: {flow: reminder, after: soon}", 'E106 step "a": schedule: after: "soon" is not a duration'),
        (
            "schedule: {flow: reminder, at: 2030-12-24}",
            'E106 step "a": schedule: at: "2030-12-24" is not a date with a',
        ),
        (
            "schedule: {flow: reminder, at: tomorrow}",
            'E106 step "a": schedule: at: "tomorrow" is not a date with a time',
        ),
        (
            "schedule: {flow: reminder, every: often}",
            'E106 step "a": schedule: every: "often" is no time that comes again',
        ),
        ("schedule: {flow: reminder, after: 2h, busy: wait}", 'E109 step "a": schedule: busy: "wait" is not known'),
        ("schedule: {flow: reminder, after: 2h, with: {slt: x}}", 'E301 no variable "slt" in flow reminder'),
        ("schedule: {flow: reminder, after: 2h, with: {slot: '{{ x }}'}}", 'E301 no variable "x"'),
        ("schedule: {flow: reminder, after: 2h, when: x}", 'E104 step "a": schedule: unknown key "when"'),
        (
            "schedule: {flow: reminder, after: 2h}, cancel: remind",
            'E116 nothing is scheduled as "remind" (did you mean "r',
        ),
        ("cancel: reminder", 'E116 nothing is scheduled as "reminder" (write the name that a step schedules it by'),
    ],
)
def test_a_schedule_that_cannot_be_is_found(option: str, problem: str) -> None:
    found = problems(option)
    assert len(found) == 1 and found[0].startswith(problem), found


@pytest.mark.parametrize("wait", ["90s", "180d", "2030-12-24", "'2030-12-24 18:00'", "'{{ day }}'", "{until: office}"])
def test_a_wait_is_clean(wait: str) -> None:
    assert problems(wait=wait) == []


@pytest.mark.parametrize(
    ("wait", "problem"),
    [
        ("a while", 'E106 step "b": wait: "a while" is not a duration (write one like 90s, 10m'),
        ("2030-13-24", 'E106 step "b": wait: "2030-13-24" is not a duration'),
        ("'{{ dya }}'", 'E301 no variable "dya" (did you mean "day"?)'),
        ("{until: offce}", 'E115 no opening hours "offce" (did you mean "office"?)'),
        ("{for: 2h}", 'E104 step "b": wait: unknown key "for" (known here: until)'),
        ("{until: office, at: 1}", 'E104 step "b": wait: unknown key "at"'),
    ],
)
def test_a_wait_that_cannot_be_is_found(wait: str, problem: str) -> None:
    found = problems(wait=wait)
    assert found and found[0].startswith(problem), found


@pytest.mark.parametrize(
    "hours",
    [
        '{o: {mon-fri: "9:00-18:00", sat: ["10:00-12:00", "13:00-15:00"], zone: Asia/Jakarta}}',
        '{bar: {"fri, sat": "22:00-4:00", holidays: [2030-12-24, 2030-12-25]}}',
        '{o: {mon: "0:00-24:00", holidays: {2030-12-25: Christmas, 2030-12-24: "9:00-12:00"}}, p: {sun: "9:00–12:00"}}',
    ],
)
def test_opening_hours_are_clean(hours: str) -> None:
    assert problems(bot=f"{BOT}hours: {hours}\n") == []


@pytest.mark.parametrize(
    ("hours", "problem"),
    [
        ("{o: {}}", 'E105 hours "o": it never opens (add mon-fri: "9:00-18:00")'),
        ("{o: {sat: [], holidays: [2030-12-25]}}", 'E105 hours "o": it never opens (add mon-fri: "9:00-18:00")'),
        ('{o: {mo: "9:00-18:00"}}', 'E104 hours "o": "mo" is no day (write days like mon, mon-fri or sat, sun'),
        ('{o: {mon: "9-18"}}', 'E106 hours "o": "9-18" is not from when to when'),
        (
            '{o: {mon: "10:00-14:00, 16:00-20:00"}}',
            'E106 hours "o": "10:00-14:00, 16:00-20:00" is not from when to when (write ["10:00-14:00", "16:00-20:00"])',
        ),
        ('{o: {mon: "9:00-9:00"}}', 'E106 hours "o": "9:00-9:00" is not from when to when'),
        ('{o: {mon-fri: "9:00-18:00", fri: "9:00-12:00"}}', 'E121 hours "o": friday stands twice'),
        ('{o: {mon: "9:00-18:00", zone: Asia/Jkarta}}', 'E109 no time zone "Asia/Jkarta"'),
        ('{o: {mon: "9:00-18:00", holidays: [25.12.]}}', 'E106 holidays: "25.12." is no day (write days like 2030'),
        (
            '{o: {mon: "9:00-18:00", holidays: {2030-12-24: "9-12"}}}',
            'E106 hours "o": holidays: "9-12" is not from when to when',
        ),
        ('{O: {mon: "9:00-18:00"}}', 'E108 hours: "O" is no name'),
    ],
)
def test_opening_hours_that_cannot_be_are_found(hours: str, problem: str) -> None:
    found = problems(bot=f"{BOT}hours: {hours}\n")
    assert len(found) == 1 and found[0].startswith(problem), found


def test_a_condition_that_asks_for_hours_that_are_not_there_is_found() -> None:
    flow = 'flow: main\nstart: {otherwise: true}\nsteps: {a: {branch: [{if: open("ofice"), then: end}, {else: end}]}}'
    assert problems_of(flow, OFFICE) == ['flows/test.yml:3:27: E115 no opening hours "ofice" (did you mean "office"?)']
    assert problems_of(flow) == ['flows/test.yml:3:27: E115 no opening hours "ofice" (add them to bot.yml under hours)']
