"""The engine does with a conversation what `bot check --live` says about it."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.checker.replaying.migration_preview import MigrationKind, MigrationOutcome, migration_outcomes
from bot.core.events import TimeReached
from bot.engine.executor import Executor
from bot.engine.turn_context import FAILURES, FlowBroken, TurnContext
from bot.language.flow.library import Library
from tests.engine.test_random import EVENTS, Contact, bots
from tests.searches import tries
from tests.talk import BOT, CONTACT, Talk

SHOP = """
flow: main
start: {otherwise: true}
vars: {size: {type: choice, of: [s, l], keep: true}}
steps:
  size: {ask: Which size?, save: size, options: [s, l]}
  pause: {wait: 1h}
  paint: {run: /pick}
  done: {say: Done., then: end}
---
flow: pick
steps:
  colour: {ask: Which colour?}
---
flow: help
start: {words: help}
steps:
  topic: {ask: About what?}
"""
GONE = BOT.replace("{timeout", "{gone: {say: Moved., then: /help}, timeout")


def said_of(talk: Talk) -> list[tuple[str, MigrationKind, str]]:
    found = migration_outcomes(talk.library, talk.session, talk.now)
    return [(("below " if outcome.below else "") + outcome.place, outcome.becomes, outcome.to) for outcome in found]


def at_size() -> Talk:
    talk = Talk(SHOP)
    talk.user("hi")
    return talk


def at_colour() -> Talk:
    talk = at_size()
    talk.user("s")
    talk.wait("1h")
    assert talk.at == "pick/colour"
    return talk


def test_who_waits_where_nothing_changed_goes_on() -> None:
    talk = at_size()
    talk.edit(SHOP.replace("say: Done.", "say: Ready."))
    assert said_of(talk) == [("main/size", MigrationKind.UNCHANGED, "")]
    assert talk.user("s") == []


def test_a_question_that_changed_is_put_again() -> None:
    talk = at_size()
    talk.edit(SHOP.replace("Which size?", "What size?"))
    assert said_of(talk) == [("main/size", MigrationKind.ASKED, "")]
    assert talk.user("s") == [["What size?", "s", "l"]]


def test_a_pause_that_changed_goes_on() -> None:
    talk = at_size()
    talk.user("s")
    talk.edit(SHOP.replace("wait: 1h", "wait: 2h"))
    assert said_of(talk)[0] == ("main/pause", MigrationKind.EDITED, "")


def test_a_step_that_waits_in_another_way_is_entered_anew() -> None:
    talk = at_size()
    talk.user("s")
    talk.edit(SHOP.replace("wait: 1h", "ask: And now?"))
    assert said_of(talk)[0] == ("main/pause", MigrationKind.ANEW, "")
    assert talk.wait("1h") == ["And now?"]


def test_a_renamed_step_is_named() -> None:
    talk = at_size()
    talk.edit(SHOP.replace("  size: {ask", "  format: {renamed_from: size, ask"))
    assert said_of(talk) == [("main/size", MigrationKind.RENAMED, "main/format")]
    talk.edit(SHOP.replace("  size: {ask: Which size", "  format: {renamed_from: size, ask: Which one"))
    assert said_of(talk) == [("main/size", MigrationKind.ASKED, "main/format")]
    talk.user("s")
    assert talk.at == "main/format"


def test_a_step_that_is_gone_leads_as_declared() -> None:
    talk = at_size()
    talk.edit(SHOP.replace("  size: {ask", "  format: {ask"), GONE)
    assert said_of(talk) == [("main/size", MigrationKind.LED, "/help")]
    assert talk.user("s") == ["Moved.", "About what?"]


@pytest.mark.parametrize("left", ["flow: help\nsteps: {topic: {ask: x}}\n", "flow: main\nsteps: {format: {ask: x}}\n"])
def test_a_step_that_is_gone_and_leads_nowhere_drops_who_waits_there(left: str) -> None:
    talk = at_size()
    talk.edit(left)
    assert said_of(talk) == [("main/size", MigrationKind.DROPPED, "")]
    assert talk.user("s") == [] and talk.at is None


def test_who_lies_below_is_met_later() -> None:
    talk = at_colour()
    talk.edit(SHOP.replace("  paint: {run: /pick}\n", ""), GONE)
    assert said_of(talk) == [
        ("pick/colour", MigrationKind.UNCHANGED, ""),
        ("below main/paint", MigrationKind.LED, "/help"),
    ]
    assert talk.user("red") == ["Moved.", "About what?"]


def test_what_was_interrupted_is_dropped_with_what_cut_in() -> None:
    interrupted = SHOP.replace("flow: main\n", "flow: main\ninterrupted: resume\n")
    talk = Talk(interrupted)
    talk.user("hi"), talk.user("help")
    assert [frame.flow for frame in talk.session.frames] == ["main", "help"]
    talk.edit(interrupted.replace("topic: {ask", "subject: {ask"))
    assert said_of(talk) == [("help/topic", MigrationKind.DROPPED, ""), ("below main/size", MigrationKind.DROPPED, "")]
    talk.take(TimeReached("e", CONTACT, talk.now))
    assert talk.at is None


def test_a_flow_that_waits_on_is_not_dropped_with_what_cut_in() -> None:
    interrupted = SHOP.replace("flow: main\n", "flow: main\ninterrupted: wait\n")
    talk = Talk(interrupted)
    talk.user("hi"), talk.user("help")
    talk.edit(interrupted.replace("topic: {ask", "subject: {ask"))
    assert said_of(talk) == [
        ("help/topic", MigrationKind.DROPPED, ""),
        ("below main/size", MigrationKind.UNCHANGED, ""),
    ]
    talk.take(TimeReached("e", CONTACT, talk.now))
    assert talk.at == "main/size"


def test_a_flow_that_is_open_below_is_gone_back_to() -> None:
    talk = at_colour()
    back = BOT.replace("{timeout", "{gone: /main, timeout")
    talk.edit(SHOP.replace("colour: {ask", "tone: {ask"), back)
    assert said_of(talk) == [
        ("pick/colour", MigrationKind.LED, "/main"),
        ("below main/paint", MigrationKind.LED, "/main"),
    ]
    assert talk.user("red") == [["Which size?", "s", "l"]]
    assert len(talk.session.frames) == 1


def test_a_planned_start_whose_flow_is_gone_is_named() -> None:
    plans = "flow: main\nstart: {otherwise: true}\nsteps: {a: {ask: a?, schedule: {flow: late, after: 1h}}}\n"
    talk = Talk(f"{plans}---\nflow: late\nsteps: {{b: {{ask: b?}}}}\n")
    talk.user("hi"), talk.user("x")
    talk.edit("flow: main\nstart: {otherwise: true}\nsteps: {a: {ask: a?}}\n")
    assert said_of(talk) == [("late", MigrationKind.NOT_STARTED, "")]
    assert talk.wait("1h") == []


def test_a_kept_value_that_no_longer_fits_starts_anew() -> None:
    talk = at_size()
    talk.user("s"), talk.reset()
    edited = SHOP.replace("of: [s, l]", "of: [small, large]").replace("options: [s, l]", "options: [small, large]")
    talk.edit(edited)
    assert said_of(talk) == [("main: size", MigrationKind.FORGOTTEN, "")]
    talk.user("hi")
    assert talk.vars["size"] is None


DRAFT = """
flow: claim
start: {otherwise: true}
words: {later: later}
steps:
  day: {ask: Since when?}
  why: {ask: Why?}
  later: {draft: "", keep: 3d, then: end}
"""


def test_the_question_at_which_a_draft_is_continued_is_among_what_is_gone() -> None:
    talk = Talk(DRAFT)
    talk.user("hi")
    talk.user("later")
    talk.edit(DRAFT.replace("  day: {ask: Since when?}\n", ""))
    assert said_of(talk) == [
        ("claim/later", MigrationKind.UNCHANGED, ""),
        ("claim/day", MigrationKind.DROPPED, ""),
    ]
    talk.edit(
        DRAFT.replace("draft: ", "wait: 1h, other: ").replace(", keep: 3d", "").replace('other: ""', "other: end")
    )
    assert said_of(talk) == [("claim/later", MigrationKind.ANEW, "")]


@settings(max_examples=tries(4, 15))
@given(bots(), st.lists(EVENTS.filter(lambda event: event[0] != "edit"), min_size=3, max_size=12))
def test_of_random_bots_it_says_what_the_engine_does(
    bots: tuple[Library, Library], events: list[tuple[str, Any]]
) -> None:
    before, after = bots
    contact = Contact(before, after)
    contact.user("hi")
    for kind, detail in events:
        contact.meet(kind, detail)
    if contact.session.frame is not None and contact.session.agent is None:  # an agent's conversation is adapted later
        said = list(migration_outcomes(after, contact.session, contact.now))
        assert_does(said, Executor(TurnContext(after, contact.session, TimeReached("e", CONTACT, contact.now))))


def assert_does(said: list[MigrationOutcome], executor: Executor) -> None:
    """The next event migrates the active frame as the preview says."""
    turn, top = executor.turn, said[0]
    frames, visit = len(turn.session.frames), turn.frame.visit
    with suppress(FlowBroken, *FAILURES):
        moved = executor.migrate_session()
        if top.becomes in (MigrationKind.UNCHANGED, MigrationKind.EDITED, MigrationKind.ASKED):
            assert not moved and turn.frame.visit == visit
            assert turn.where == (top.to or top.place)
        if top.becomes is MigrationKind.ASKED:
            assert turn.frame.question.undelivered
        if top.becomes in (MigrationKind.LED, MigrationKind.DROPPED) and top.to in ("", "end") and frames == 1:
            assert not turn.session.frames
    gone = top.becomes in (MigrationKind.LED, MigrationKind.DROPPED)
    met = f"{top.place} is gone" if gone else f"{top.to or top.place} was edited"
    assert turn.trace.notes[:1] == ([] if top.becomes is MigrationKind.UNCHANGED else [met])
