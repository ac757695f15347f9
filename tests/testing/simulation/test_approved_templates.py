"""The templates that flows name, as the emulated gateway has them."""

from bot.testing.emulator import MessageTemplate, TemplateButton
from bot.testing.simulation.approved_templates import approved_templates
from tests.talk import library_of

FLOWS = """
flow: main
start: {otherwise: true}
steps:
  plain: {template: {name: hello, language: en, body: [a, b]}, errors: {else: end}}
  asking:
    template: {name: offer, language: en, header: {image: "https://a.example/1.png"}, body: [a], buttons: [x]}
    replies: {"Yes": end, "No": end}
    window_closed: {template: {name: offer, language: en, body: [a]}}
  german: {template: {name: hello, language: de, header: Hallo}, errors: {else: end}}
"""


def test_each_name_and_language_is_registered_with_all_that_any_step_fills_in() -> None:
    found = {(template.name, template.language): template for template in approved_templates(library_of(FLOWS))}
    assert found["hello", "en"] == MessageTemplate("hello", "en", body="{{1}} {{2}}")
    assert found["hello", "de"] == MessageTemplate("hello", "de", header="{{1}}")
    offer = found["offer", "en"]
    assert (offer.body, offer.header_media, offer.status) == ("{{1}}", "image", "APPROVED")
    assert offer.buttons == (
        TemplateButton("quick_reply", "Yes"),
        TemplateButton("quick_reply", "No"),
        TemplateButton("url", "Link 2", "https://template.example/{{1}}"),
    )
    assert len(found) == 3
