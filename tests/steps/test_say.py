"""What `say` sends, and where it leads."""

from bot.core.messages import LinkButton, MediaMessage
from tests.talk import Talk

FLOW = """
flow: main
start: {otherwise: true}
steps:
  a: {say: "Hi {{ contact.name }}!"}
  b: {say: The menu., image: "https://a.example/menu.png"}
  c: {say: More is there., link: {title: Look, url: "https://a.example"}, then: end}
"""


def test_each_says_its_text_with_what_belongs_to_it_and_goes_on_by_itself() -> None:
    talk = Talk(FLOW, name="Ann")
    talk.user("x")
    hello, photo, link = talk.sent
    assert hello.body == "Hi Ann!"  # type: ignore[union-attr]
    assert isinstance(photo, MediaMessage) and photo.caption == "The menu."
    assert isinstance(link, LinkButton) and link.url == "https://a.example"
    assert talk.at is None


def test_a_text_that_fails_leads_where_its_errors_do() -> None:
    talk = Talk(FLOW.replace('{{ contact.name }}!"', '{{ 1 / 0 }}", errors: {else: c}'))
    assert talk.user("x") == [["More is there.", "Look", "https://a.example"]]
