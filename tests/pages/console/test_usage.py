"""The view of model usage, in a real Chromium."""

from datetime import timedelta

from playwright.sync_api import expect

from tests.pages.console.client import logged_in
from tests.pages.console.conftest import NOON, Live, Served
from tests.store.store_kit import beside_the_store

CONTACT = "6281234567890"


def use(bot: Live | Served) -> None:
    """Three answers of two models: one of them today, of which the service did not count the tokens."""
    rows = [
        (0, "advice", "acme/one", 900, 100, 1),
        (2, "advice", "acme/one", 200, 20, 0),
        (2, "main", "acme/two", 30, 3, 0),
    ]
    with beside_the_store(bot.console.store) as execute:
        for ago, *used in rows:
            at = (NOON - timedelta(days=ago)).isoformat()
            execute(
                "INSERT INTO usage (at, contact, flow, model, prompt_tokens, completion_tokens, estimated) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (at, CONTACT, *used),
            )


def test_tokens_are_shown_by_day_and_by_model(live: Live) -> None:
    page = live.log_in("olga", "/usage")
    expect(page.locator(".empty")).to_have_text("No model has answered in these days.")
    use(live)
    page.get_by_role("button", name="Show").click()
    expect(page.locator("svg.upright g")).to_have_count(30)
    days = page.locator("tbody tr")
    expect(days).to_have_count(2)
    expect(days.nth(0)).to_contain_text("4 May 2030")
    assert days.nth(0).locator("td").all_inner_texts() == ["2", "230", "23", "253"]
    assert days.nth(1).locator("td").all_inner_texts() == ["1", "900", "100", "about 1,000"]
    page.get_by_label("By").select_option("model")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody th")).to_contain_text(["acme/one", "acme/two"])
    assert page.locator("tfoot td").all_inner_texts() == ["3", "1,130", "123", "about 1,253"]


def test_a_viewer_sees_contacts_by_their_last_digits(served: Served) -> None:
    use(served)
    shown = logged_in(served, "vera").ask("/usage?by=contact").text
    assert "•••890" in shown and CONTACT not in shown
    assert CONTACT in logged_in(served, "abel").ask("/usage?by=contact").text


def judge(bot: Live | Served) -> None:
    """Fifty verdicts on two days, and the reason of one."""
    rows = [(0, "yes", 27), (0, "no", 1), (0, "none", 2), (2, "yes", 20)]
    about = '{"judged": "Is it polite?", "flow": "advice", "step": "talk"}'
    with beside_the_store(bot.console.store) as execute:
        for ago, said, count in rows:
            day = (NOON - timedelta(days=ago)).date().isoformat()
            execute(
                "INSERT INTO results (day, flow, step, split, way, outcome, count) VALUES (?, 'advice', 'talk', '', 'judged', ?, ?)",
                (day, f"{said}: Is it polite?", count),
            )
        execute(
            "INSERT INTO turns (id, at, contact, event_id, event, rule, steps, effects, notes, problems, micros)"
            " VALUES (900, ?, ?, 'judged:1', ?, 'judged: no', '[]', '[]', '[\"no: it calls Ann a fool\"]', '[]', 0)",
            (NOON.isoformat(), CONTACT, about),
        )


def test_verdicts_of_judges_are_shown_by_day_with_the_last_answers_that_were_wrong(live: Live) -> None:
    judge(live)
    section = live.log_in("olga", "/usage?days=7").get_by_role("region", name="Judged answers")
    expect(section.locator("svg.upright g")).to_have_count(7)
    expect(section.locator("tbody th")).to_have_text("Is it polite? advice/talk")
    expect(section.locator("tbody td")).to_have_text(["47", "1", "2", "98%"])
    expect(section.locator("li", has_text=CONTACT)).to_contain_text("Is it polite? no: it calls Ann a fool")


def test_a_viewer_does_not_see_what_a_judge_says_of_an_answer(served: Served) -> None:
    judge(served)
    shown = logged_in(served, "vera").ask("/usage").text
    assert "Is it polite?" in shown and "•••890" in shown
    assert CONTACT not in shown and "Ann" not in shown
