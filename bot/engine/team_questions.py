"""Questions of steps to the team: a decision is kept with the question until the step waits for the contact."""

from dataclasses import replace

from bot.core.events import ColleagueDecided
from bot.core.session import Session, TeamQuestion
from bot.core.waits import ForContact
from bot.engine.contact_values import add_tag, remove_tag
from bot.engine.entering import ask
from bot.engine.executor import Executor
from bot.engine.turn_context import TurnContext


def on_colleague_decided(executor: Executor, event: ColleagueDecided) -> None:
    """Keep a decision with its question. If nothing waits for it any more, it is dropped."""
    turn = executor.turn
    turn.trace.rule = f"{event.by} {'agrees' if event.agreed else 'refuses'}"
    if not note_decision(turn, event):
        turn.trace.rule += ": the question is closed, dropped"


def note_decision(turn: TurnContext, decision: ColleagueDecided) -> bool:
    """Keep the decision with its question. Returns False if that is not open, or its time is over."""

    def decided(question: TeamQuestion) -> TeamQuestion:
        in_time = decision.agreed is None or decision.at < question.until
        is_meant = question.id == decision.question and question.decision is None and in_time
        return replace(question, decision=decision) if is_meant else question

    before = turn.session.team_questions
    turn.session.team_questions = tuple(map(decided, before))
    return turn.session.team_questions != before


def take_decision(executor: Executor) -> bool:
    """Let the active step take the decision that is kept for it, if it waits for the contact. Returns whether
    something happened.
    """
    turn, session = executor.turn, executor.turn.session
    if not session.team_questions:  # nearly always
        return False
    frame, question = session.frame, session.question_of_step
    if frame is None or question is None or question.decision is None or session.agent is not None:
        return False
    if frame.is_occupied or not isinstance(frame.waits, ForContact):
        return False
    if executor.migrate_session():
        return True
    result = ask(turn, turn.step.kind.resume, question.decision)
    if result is None:
        return False
    session.team_questions = tuple(each for each in session.team_questions if each is not question)
    frame.silent_since = turn.event.at
    executor.run(result)
    return True


def withdraw_left(turn: TurnContext, before: Session) -> None:
    """Withdraw the questions of steps that were left, and tag the contact while one is open. The trace says which open
    ones are withdrawn.
    """
    session = turn.session
    if not (session.team_questions or before.team_questions):  # nearly always
        return
    visits = {frame.visit for frame in session.frames}
    left = [each for each in before.team_questions if each.visit not in visits or session.agent != before.agent]
    session.team_questions = tuple(each for each in session.team_questions if each.visit in visits)
    is_open = {each.tag for each in session.team_questions if each.decision is None}
    for tag in {each.tag for each in before.team_questions} - is_open:
        remove_tag(turn, tag)
    for tag in sorted(is_open):
        add_tag(turn, tag)
    decided = turn.event.question if isinstance(turn.event, ColleagueDecided) else ""
    turn.trace.notes += [
        f"the question to {each.team} is withdrawn"
        for each in left
        if each.decision is None and each.id != decided and turn.event.at < each.until
    ]
