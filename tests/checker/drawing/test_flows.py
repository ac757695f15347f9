"""The content of the drawing of a flow."""

from tests.checker.drawing.drawn import boxes, flow, lines

BAR = """
flow: order
start: {words: [order, book]}
vars: {size: {type: text}, price: {type: object}}
steps:
  size: {ask: "Which size, {{ contact.name | default('you') }}?", options: {Small: price, Large: price, Tell me more: again, None: end}}
  price: {http: "GET https://bar.example/prices", save: price, errors: {404: size, else: /person}}
  dear: {branch: [{if: price.euros > 9, then: sorry}, {else: next}]}
  ready: {wait: 10m}
  done: {say: It is ready., schedule: {flow: rate, after: 1h}, then: rate}
  rate: {run: /rate, expired: end}
  sorry: {say: "{% if size %}{{ size }}{% endif %} costs more today.", then: back}
"""
RATE = "flow: rate\nsteps: {stars: {ask: How many stars?, save: stars}}\nvars: {stars: {type: text}}"
PERSON = "flow: person\nsteps: {over: {handoff: team, closed: end}}"


def test_a_step_is_drawn_by_what_happens_there() -> None:
    assert boxes(flow("order", BAR, RATE, PERSON)) == [
        "start order, book",
        "asks size: ask, Which size, {contact.name}?",
        "calls price: http, GET https://bar.example/prices",
        "works out dear: branch",
        "waits ready: wait, 10m",
        "says done: say, It is ready.",
        "calls rate: run, /rate",
        "says sorry: say, {size} costs more today.",
        "end end",
        "flow person",
        "flow rate",
        "end end",
        "flow rate",
        "end back",
    ]


def test_lines_say_what_leads_there() -> None:
    assert lines(flow("order", BAR, RATE, PERSON)) == [
        "order, book -> size",
        "size -> price (Small, Large)",
        "size -> size (Tell me more)",
        "size -> end (None)",
        "price -> dear",
        "price ~> person (errors.else)",
        "price ~> size (errors.404)",
        "dear -> sorry (if price.euros > 9)",
        "dear -> ready (else)",
        "ready -> done",
        "done -> rate",
        "done .> rate (schedules)",
        "rate -> sorry",
        "rate ~> end (expired)",
        "rate .> rate (runs)",
        "sorry -> back",
    ]


QUIET = """
flow: quiet
start: {otherwise: true}
words: {help: {say: Write., then: again}}
vars: {name: {type: text}}
steps:
  own: {ask: Who?, save: name, timeout: {after: 2h, then: bye}, retry: {max: 2, else: bye}, words: {skip it: bye}}
  inherits: {ask: Who?, save: name, remind: {after: 1h, say: Still there?}}
  bye: {say: Bye., then: end}
"""


def test_what_every_step_has_is_left_out() -> None:
    assert lines(flow("quiet", QUIET)) == [
        "any other message -> own",
        "own -> inherits",
        "own ~> bye (retry.else, timeout, word skip it)",
        "inherits -> bye",
        "bye -> end",
    ]


def test_where_any_step_may_lead_to_is_said_there_once() -> None:
    text = QUIET.replace(
        "words: {help: {say: Write., then: again}}",
        "words: {enough: bye}\ndefaults: {timeout: {after: 1h, then: late}}",
    )
    text += "  late: {say: 'Too late.', then: end}\n"
    drawn = lines(flow("quiet", text))
    assert "word enough at any step -> bye" in drawn
    assert "timeout at any step -> late" in drawn
    assert not any("at any step" in line for line in lines(flow("quiet", text, everything=True)))


def test_everything_is_drawn_where_that_is_wanted() -> None:
    drawn = lines(flow("quiet", QUIET, everything=True))
    assert "inherits ~> end (timeout)" in drawn
    assert any(line.startswith("inherits ~> inherits (retry, remind, word help") for line in drawn)


def test_a_word_for_what_is_no_choice_stands_where_others_have_names() -> None:
    text = "flow: a\nstart: {words: [a]}\nvars: {x: {type: text}}\nsteps:\n  q: {ask: Q?, buttons: {One: end}, save: x, accepts: text}\n  r: {say: R, then: end}"
    assert lines(flow("a", text))[1:3] == ["q -> end (One)", "q -> r (otherwise)"]


def test_what_comes_in_from_elsewhere_stands_at_the_step_it_leads_to() -> None:
    other = "flow: other\nstart: {words: [b], event: contact.created}\nsteps: {x: {say: X, then: /order/dear}, y: {run: /order}}"
    drawn = flow("order", BAR, RATE, PERSON, other)
    assert boxes(drawn)[0] == "start order, book: run by other/y"
    assert "from other/x -> dear" in lines(drawn)
    assert boxes(flow("other", BAR, RATE, PERSON, other))[0] == "start b: contact.created"


def test_a_flow_for_another_contact_and_signals_have_lines() -> None:
    bot = "name: Test\ndefaults: {timeout: {after: 20h, then: end}}\nsignals: {taken: {}}"
    asks = (
        "flow: asks\nstart: {words: [a]}\nsteps:\n  s: {start: /rate, contact: '6281234567890'}\n"
        "  w: {wait: 1h, signals: {taken: {say: Yes!, then: end}}, then: end}"
    )
    assert {"s .> rate (starts for another contact)", "w ~> end (signal taken)"} <= {
        *lines(flow("asks", asks, RATE, bot=bot))
    }
    assert boxes(flow("rate", RATE, asks, bot=bot))[0] == "start started by asks/s"


def test_a_flow_that_only_programs_start_says_so() -> None:
    assert boxes(flow("rate", RATE))[0] == "start bot start"


def test_what_is_found_is_marked_at_its_step() -> None:
    drawn = flow("a", "flow: a\nstart: {words: [a]}\nsteps:\n  x: {say: X, then: end}\n  lost: {say: Lost.}")
    assert [(box.title, [flag.code for flag in box.flags]) for box in drawn.boxes if box.flags] == [("lost", ["W101"])]
