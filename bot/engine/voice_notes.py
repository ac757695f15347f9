"""Voice notes: with `transcribe` in `bot.yml` one is a text, as soon as it is known what it says."""

from dataclasses import replace

from bot.core.events import CallEnded, Event, MessageReceived
from bot.core.session import Session, VoiceNote
from bot.core.values import Media
from bot.engine.turn_context import FAILURES, TurnContext
from bot.flow.library import Library
from bot.steps.step_kind import Reply


def ask_for_words(turn: TurnContext) -> bool:
    """Have the contact's voice note transcribed. Returns False for what is none, and where its sound is the answer or ignored."""
    note, transcription = turn.event, turn.library.bot.transcription
    if not isinstance(note, MessageReceived) or note.media is None or note.kind != "audio" or note.transcribed:
        return False
    if transcription is None or _is_for_step(turn, note.media):
        return False
    session, today = turn.session, turn.event.at.date()
    if session.voice_note is not None:
        turn.trace.notes.append("not transcribed: another voice note is")
        return False
    if session.transcribed_on != today:
        session.transcribed_on, session.transcribed = today, 0
    if session.transcribed >= transcription.daily:
        turn.trace.notes.append(f"not transcribed: {transcription.daily} voice notes of this contact were today")
        return False
    try:
        effect = transcription.effect(note.media, turn.scope())
    except FAILURES as failed:
        turn.trace.problem(f"not transcribed: {failed}")
        return False
    session.transcribed += 1
    session.voice_note = VoiceNote(turn.add_effect(effect), note)
    turn.trace.rule = "a voice note: it is transcribed first"
    return True


def _is_for_step(turn: TurnContext, media: Media | None) -> bool:
    step = turn.known_step
    if step is None:
        return False
    return step.kind.ignores_messages or step.kind.takes_audio(turn.step_context(), Reply(media=media))


def begin_turn(library: Library, session: Session, event: Event) -> TurnContext:
    """The context of an event's turn. The end of a transcription becomes the message: with its text, or without."""
    note, turn = session.voice_note, TurnContext(library, session, event)
    if note is None or not isinstance(event, CallEnded) or event.effect != note.effect:
        return turn
    text, transcription = None, library.bot.transcription
    try:
        if transcription is not None and not _is_for_step(turn, note.message.media):
            text = transcription.words(event, turn.scope())
    except FAILURES as failed:
        turn.trace.problem(f"not transcribed: {failed}")
    heard = replace(note.message, id=event.id, at=event.at, text=text, transcribed=True)
    taken = TurnContext(library, session, heard)
    taken.session.voice_note = None
    taken.trace.notes += turn.trace.notes
    taken.trace.problems += turn.trace.problems
    return taken
