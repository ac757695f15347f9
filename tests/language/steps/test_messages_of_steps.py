"""What each kind of step sends."""

from typing import Any

import pytest

from bot.core.messages import (
    Buttons,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    TemplateMessage,
    TextMessage,
    violations,
)
from bot.language.steps import KINDS
from tests.talk import BOT, Talk

VARS = "vars: {n: {type: integer, value: 3}, far: {type: number, value: 10.5}, url: {type: text, value: 'https://a.example/x.pdf'}}\n"


def sent(step: str, name: str | None = "Ann") -> list[Message]:
    talk = Talk(f"flow: main\nstart: {{otherwise: true}}\n{VARS}steps:\n  s: {step}\n", name=name)
    talk.user("x")
    assert [violation for message in talk.sent for violation in violations(message)] == []
    return talk.sent


SENT: dict[str, tuple[str, list[Message]]] = {
    "a text": ("{say: 'Hi {{ contact.name }}, {{ n }}.', then: end}", [TextMessage("Hi Ann, 3.")]),
    "nothing for an empty text": ("{say: '{% if n > 5 %}Many.{% endif %}', then: end}", []),
    "a link": (
        "{say: Here., link: {title: Map, url: 'https://a.example/{{ n }}'}, header: H, footer: F, then: end}",
        [LinkButton("Here.", "Map", "https://a.example/3", "H", "F")],
    ),
    "an image with its caption": (
        "{say: Our garden., image: 'https://a.example/x.jpg', then: end}",
        [MediaMessage("image", "https://a.example/x.jpg", "Our garden.")],
    ),
    "an audio file after its text": (
        "{say: Listen., audio: 'https://a.example/x.mp3', then: end}",
        [TextMessage("Listen."), MediaMessage("audio", "https://a.example/x.mp3")],
    ),
    "a file without words": (
        "{say: , video: 'https://a.example/x.mp4', then: end}",
        [MediaMessage("video", "https://a.example/x.mp4")],
    ),
    "a document with its name": (
        "{say: , document: {link: '{{ url }}', filename: 'menu {{ n }}.pdf'}, then: end}",
        [MediaMessage("document", "https://a.example/x.pdf", None, "menu 3.pdf")],
    ),
    "a place": (
        "{say: , location: {latitude: '{{ far }}', longitude: -9.1, name: Café}, then: end}",
        [LocationMessage(10.5, -9.1, "Café")],
    ),
    "a text that is too long, shortened": (
        "{say: '{% for i in [1,2,3,4,5] %}{{ \"" + "x" * 1000 + "\" }}{% endfor %}', then: end}",
        [TextMessage("x" * 4095 + "…")],
    ),
    "a template": (
        "{template: {name: t, language: en, header: Hello, body: ['{{ n }}', b], buttons: [code]}, then: end}",
        [
            TemplateMessage(
                "t",
                "en",
                {"type": "text", "text": "Hello"},
                ({"type": "text", "text": "3"}, {"type": "text", "text": "b"}),
                (),
                ((0, "code"),),
            )
        ],
    ),
    "a template with an image": (
        "{template: {name: t, language: en, header: {image: 'https://a.example/x.png'}}, then: end}",
        [TemplateMessage("t", "en", {"type": "image", "image": {"link": "https://a.example/x.png"}})],
    ),
}


@pytest.mark.parametrize("name", SENT)
def test_a_step_sends(name: str) -> None:
    step, expected = SENT[name]
    assert sent(step) == expected


def test_options_are_buttons_where_they_fit_and_a_list_where_they_do_not() -> None:
    assert isinstance(sent("{ask: Well?, options: [Yes, No]}")[0], Buttons)
    assert isinstance(sent("{ask: Well?, options: [A, B, C, D]}")[0], ListMessage)
    assert isinstance(sent("{ask: Well?, options: [This is twenty-one chr]}")[0], ListMessage)


def test_a_list_shows_its_sections_with_descriptions_and_a_footer() -> None:
    (message,) = sent("""
    ask: Which?
    footer: Prices include tax.
    list: {button: Open, sections: {Hot: {Tea: {about: Black, then: end}}, Cold: {Juice: end}}}""")
    assert isinstance(message, ListMessage)
    assert (message.button, message.footer) == ("Open", "Prices include tax.")
    assert [
        (section.title, [(row.title, row.description) for row in section.rows]) for section in message.sections
    ] == [
        ("Hot", [("Tea", "Black")]),
        ("Cold", [("Juice", None)]),
    ]


def made(values: list[Any], form: str = "list: {rows: {from: items}}") -> Message:
    talk = Talk(f"""
flow: main
start: {{otherwise: true}}
vars: {{items: {{type: list, value: {values}}}, got: {{type: text}}}}
steps: {{q: {{ask: Which?, {form}, save: got}}, r: {{say: "{{{{ got }}}}", then: end}}}}
""")
    talk.user("x")
    assert violations(talk.sent[0]) == []
    return talk.sent[0]


def titles(message: Message) -> list[list[str]]:
    if isinstance(message, Buttons):
        return [[button.title for button in message.buttons]]
    assert isinstance(message, ListMessage)
    return [[row.title for row in section.rows] for section in message.sections]


def test_rows_made_at_run_time_are_ten_on_a_page() -> None:
    assert titles(made([f"row {n}" for n in range(10)])) == [[f"row {n}" for n in range(10)]]
    assert titles(made([f"row {n}" for n in range(25)])) == [[*(f"row {n}" for n in range(9)), "More …"]]


def test_titles_made_at_run_time_are_made_unique_and_short() -> None:
    assert titles(made(["same", "same", "x" * 30])) == [["same", "same (2)", "x" * 23 + "…"]]


def test_half_a_character_in_a_title_made_at_run_time_is_shown_like_any_other() -> None:
    talk = Talk("""
flow: main
vars: {items: {type: list}}
steps: {q: {ask: Which?, list: {rows: {from: items}}, then: end}}
""")
    talk.start("main", items=["\ud83d", "b"])
    assert titles(talk.sent[0]) == [["\ud83d", "b"]]


def test_what_a_list_has_beyond_the_choices_that_are_shown_is_not_worked_out() -> None:
    rows = "list: {rows: {from: items, title: '{{ it ~ 1 / it }}'}}"
    assert titles(made([*range(1, 101), 0], rows))[0][:2] == ["11", "20.5"]


def test_three_buttons_made_at_run_time_are_buttons_and_four_are_a_list() -> None:
    assert titles(made(["a", "b", "c"], "buttons: {from: items}")) == [["a", "b", "c"]]
    assert isinstance(made(["a", "b", "c", "d"], "buttons: {from: items}"), ListMessage)


def test_an_empty_list_to_choose_from_is_a_failure_that_the_flow_can_take() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {items: {type: list}}
steps:
  q: {ask: Which?, list: {rows: {from: items}}, errors: {else: none_left}}
  none_left: {say: Nothing left., then: end}
""")
    assert talk.user("x") == ["Nothing left."]


def test_a_message_that_the_gateway_would_refuse_takes_the_way_of_failures() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {url: {type: text, value: nowhere}}
steps:
  q: {say: Here., link: {title: Map, url: "{{ url }}"}, errors: {failed: sorry, else: end}}
  sorry: {say: No map., then: end}
""")
    assert talk.user("x") == ["No map."]


def test_the_template_for_a_closed_window_travels_with_every_message_but_templates() -> None:
    bot = BOT.replace("}}", '}, window_closed: {template: {name: back, language: en, body: ["{{ n }}"]}}}')
    bot = bot.replace("{{ n }}", "{{ contact.name }}")
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {s: {say: Hi., then: end}}\n", bot, name="Ann")
    talk.user("x")
    assert talk.turn is not None
    (effect,) = talk.turn.effects
    assert getattr(effect, "instead") == TemplateMessage("back", "en", None, ({"type": "text", "text": "Ann"},))  # noqa: B009


def test_the_nearest_template_for_a_closed_window_is_taken() -> None:
    def notice(name: str) -> str:
        return f"window_closed: {{template: {{name: {name}, language: en}}}}"

    flow = f"""
flow: main
start: {{otherwise: true}}
defaults: {{{notice("flows")}}}
steps:
  near: {{say: Hi., {notice("steps")}}}
  far: {{say: Bye., then: end}}
"""
    talk = Talk(flow, BOT.replace("}}", f"}}, {notice('bots')}}}"))
    talk.user("x")
    assert talk.turn is not None
    instead = [getattr(effect, "instead") for effect in talk.turn.effects]  # noqa: B009
    assert [template.name for template in instead] == ["steps", "flows"]


def test_every_kind_of_step_stands_under_its_verb_and_says_what_it_is() -> None:
    assert {verb: kind.verb for verb, kind in KINDS.items()} == {verb: verb for verb in KINDS}
    assert [kind for kind in KINDS.values() if not (kind.__doc__ and kind.read.__doc__ and kind.enter.__doc__)] == []
