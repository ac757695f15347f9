from bot.language.flow.library import template_uses
from bot.runtime.template_check import misfits
from bot.services.gateway.gateway_account import TemplateInfo
from tests.talk import library_of

FLOW = """
flow: main
start: {otherwise: true}
steps:
  hello: {template: {name: hello, language: en, body: [a]}, errors: {else: end}}
  offer:
    template: {name: offer, language: en, header: {image: "https://a.example/1.png"}, body: [a, b], buttons: [x]}
    replies: {"Yes": end, "No": end}
    timeout: {after: 1h, then: end}
    window_closed: {template: {name: reengage, language: en, body: [a]}}
"""
ALL = frozenset({"HEADER", "BODY", "FOOTER", "BUTTONS"})


def found(flow: str, *listed: TemplateInfo) -> list[tuple[int, str, bool]]:
    uses = template_uses(library_of(flow))
    return [(misfit.mark.line, f"{misfit.what} ({misfit.fix})", misfit.certain) for misfit in misfits(uses, listed)]


def info(name: str, *components: str, language: str = "en", status: str = "APPROVED") -> TemplateInfo:
    return TemplateInfo(name, language, "UTILITY", status, components or ("BODY",))


HELLO, OFFER, REENGAGE = info("hello"), info("offer", "HEADER", "BODY", "BUTTONS"), info("reengage")


def test_templates_that_fit_are_no_trouble() -> None:
    assert found(FLOW, HELLO, OFFER, REENGAGE) == []


def test_a_template_that_is_not_in_the_list_may_be_misspelt() -> None:
    assert found(FLOW, info("helo"), OFFER, REENGAGE) == [
        (5, 'template "hello" is not in the gateway\'s list (did you mean "helo"?)', True)
    ]
    (only,) = found(FLOW, OFFER, info("hello"))
    assert only[1] == 'template "reengage" is not in the gateway\'s list (`bot templates` lists those there are)'


def test_a_template_has_the_languages_that_the_list_says() -> None:
    assert found(FLOW, info("hello", language="de"), info("hello", language="id"), OFFER, REENGAGE) == [
        (5, 'template "hello" has no language "en" (it has de, id)', True)
    ]


def test_only_what_is_approved_can_be_sent() -> None:
    assert found(FLOW, HELLO, OFFER, info("reengage", status="PENDING")) == [
        (10, 'template "reengage" (en) is PENDING (only an APPROVED one can be sent)', True)
    ]


def test_a_list_that_shows_no_status_and_no_components_speaks_against_nothing() -> None:
    assert found(FLOW, HELLO, OFFER, TemplateInfo("reengage", "en")) == []


def test_a_component_that_a_flow_fills_has_to_be_there() -> None:
    assert found(FLOW, HELLO, info("offer", "BODY", "FOOTER"), REENGAGE) == [
        (6, 'template "offer" (en) has no BUTTONS, which is filled here (it has BODY, FOOTER)', True),
        (6, 'template "offer" (en) has no HEADER, which is filled here (it has BODY, FOOTER)', True),
    ]


def test_a_header_that_nobody_fills_may_need_no_filling() -> None:
    ((line, what, certain),) = found(FLOW, info("hello", "HEADER", "BODY"), OFFER, REENGAGE)
    assert (line, certain) == (5, False)
    assert what.startswith('template "hello" (en) has a HEADER, which is not filled here')


def test_two_places_that_fill_one_template_differently_cannot_both_be_right() -> None:
    flow = FLOW + "  second: {template: {name: hello, language: en, body: [a, b]}, errors: {else: end}}\n"
    assert found(flow, HELLO, OFFER, REENGAGE) == [
        (
            11,
            'template "hello" (en) gets no header, 2 in the body, but no header, 1 in the body at flows/test.yml:5 '
            "(one of the two will be refused: compare both with the template)",
            True,
        )
    ]


def test_an_inherited_template_is_a_problem_only_where_it_is_written() -> None:
    bot = "name: T\ndefaults: {window_closed: {template: {name: reengage, language: en}}}\n"
    flow = "\n".join(FLOW.splitlines()[:-1])  # without its own
    uses = template_uses(library_of(flow, bot=bot))
    assert [(str(use.mark), use.notice.name) for use in uses] == [
        ("bot.yml:2:38", "reengage"),
        ("flows/test.yml:5:3", "hello"),
        ("flows/test.yml:6:3", "offer"),
    ]
