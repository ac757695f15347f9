"""The content of the drawing of a bot."""

from tests.checker.drawing.drawn import boxes, lines, overview

BOT = """
name: Cafe
words: {menu: /main, stop: end}
defaults: {timeout: {after: 1h, then: /main}, errors: {else: end}}
"""
MAIN = """
flow: main
about: Finds out what somebody wants.
start: {words: [hi, hello], otherwise: true}
steps:
  menu: {ask: What?, buttons: {Order: /order, Table: /table}}
"""
ORDER = """
flow: order
interrupted: resume
vars: {day: {type: text}}
words: {table instead: /table}
steps:
  day: {run: /day, save: {day: day}}
  done: {say: Done., schedule: {flow: main, after: 1h}, then: end}
"""
DAY = "flow: day\nvars: {day: {type: text}}\nsteps: {day: {ask: Which day?, save: day}}"
TABLE = (
    "flow: table\nstart: {words: [table]}\nsteps: {which: {ask: Which?, buttons: {Big: end}, words: {small: /order}}}"
)
FILES = MAIN, ORDER, DAY, TABLE


def test_a_flow_says_what_it_is_about_and_what_starts_it() -> None:
    assert boxes(overview(*FILES, bot=BOT)) == [
        "start at any time",
        "flow main: Finds out what somebody wants., ▶ hi, hello, any other message, interrupted: drop",
        "flow order: interrupted: resume",
        "flow day",
        "flow table: ▶ table",
    ]


def test_lines_are_words_ways_over_runs_and_plans() -> None:
    assert lines(overview(*FILES, bot=BOT)) == [
        "at any time ~> main (menu)",
        "main -> order (Order)",
        "main -> table (Table)",
        "order .> day (runs)",
        "order .> main (schedules)",
        "table ~> order (word small)",
    ]


def test_with_everything_there_are_inherited_ways_and_interruptions() -> None:
    drawn = lines(overview(*FILES, bot=BOT, everything=True))
    assert {"order .> main (schedules, interrupted by)", "order .> table (interrupted by)"} <= {*drawn}
    assert any(line.startswith("day ~> main (timeout") for line in drawn)


def test_a_flow_has_the_marks_of_all_its_steps_and_a_file_its_own() -> None:
    bot = BOT + "# allow W501: it is so\n"
    lost = "flow: lost\nstart: {words: [x]}\nsteps:\n  a: {say: A, then: end}\n  b: {say: B}\n  c: {say: C}"
    drawn = overview("flow: main\nsteps: {a: {say: A, then: end}}", lost, bot=bot)
    assert [(box.title, [flag.code for flag in box.flags]) for box in drawn.boxes if box.flags] == [
        ("at any time", ["W001"]),
        ("lost", ["W101"]),
    ]
