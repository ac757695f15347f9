"""The views of the form in which a person edits texts."""

from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask, Response, jsonify, make_response, render_template, request

from bot.loading.program import Program
from bot.pages.playground.completions import completions
from bot.pages.playground.editable_texts import EditableTexts, Place
from bot.pages.playground.editing import EditConflict, EditDraft, TextEdit, TextEditor
from bot.pages.playground.playground import Playground
from bot.pages.playground.refused import Refused
from bot.store.trace_rows import TurnTraced
from bot.testing.conversations.documents_schema import documents_schema
from bot.testing.simulation.phone import ShownMessage
from bot.testing.simulation.store_view import EVERY_TURN


def add_edit_views(app: Flask, playground: Playground, editor: TextEditor) -> None:
    """Let a person edit texts on the pages of a playground."""
    views = _EditViews(playground, editor)
    app.jinja_env.globals["edits"] = True
    app.add_url_rule("/texts", "texts", views.form)
    app.add_url_rule("/texts", "edit", views.edit, methods=["POST"])
    app.register_error_handler(EditConflict, _conflict)


def _conflict(error: EditConflict) -> Response:
    return make_response(jsonify(error=str(error), now=error.now), 409)


class _EditViews:
    def __init__(self, playground: Playground, editor: TextEditor) -> None:
        self._playground = playground
        self._editor = editor
        self._known_schema: tuple[Program | None, Mapping[str, Any]] = None, {}
        self._acts: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "try": lambda asked: _shown(self._editor.draft(_place(asked), _edits(asked))),
            "save": self._save,
            "complete": self._complete,
            "take_back": lambda asked: self._editor.take_back(int(asked["number"])),
        }

    def form(self) -> str:
        """The form with the texts of a step, or of the step that said a message."""
        texts, asked, said = self._editor.texts(), request.args, list[str]()
        place = _place(asked)
        if "bubble" in asked:
            place, said = self._said_by(texts, asked.get("contact", ""), asked["bubble"])
        groups, block = texts.groups(place), texts.block(place)
        written = {each.id: each.text for group in groups for each in group.fields}
        if block is not None:
            written["block"] = block[1]
        if not written:
            raise Refused("the files say nothing here that contacts read")
        own = self._playground.simulation.running.program.library.bot.languages[:1]
        return render_template(
            "editing.html", place=place, groups=groups, block=block, written=written, said=said, own="".join(own)
        )

    def edit(self) -> Response:
        """Try edits out, save them, or take them back: ``{"do": "save", "flow": ..., "step": ..., "edits": [...]}``."""
        try:
            asked = request.get_json()
            act = self._acts.get(str(asked.get("do"))) if isinstance(asked, dict) else None
            if act is None:
                raise Refused(f"unknown act: the acts are {', '.join(self._acts)}")
            return jsonify(act(asked) or {})
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise Refused(f"this cannot be done: {type(error).__name__}: {error}") from None

    def _save(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        draft, number = self._editor.save(_place(asked), _edits(asked))
        return {**_shown(draft), "saved": draft.loads, "number": number}

    def _complete(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The words that may stand at a place of the YAML."""
        program = self._playground.simulation.running.program
        flows = program.library.flows
        steps = flows[str(asked["flow"])].steps if asked["flow"] in flows else ()
        schema = self._schema(program)
        found = completions(
            schema, str(asked["text"]), int(asked["at"]), list(steps), list(flows), of_step=bool(asked["step"])
        )
        return {"words": [{"word": each.word, "insert": each.insert, "about": each.about} for each in found]}

    def _schema(self, program: Program) -> Mapping[str, Any]:
        """The schema of the documents of a bot, which has verbs of its own."""
        if self._known_schema[0] is not program:
            self._known_schema = program, documents_schema(program.extensions.verbs)
        return self._known_schema[1]

    def _said_by(self, texts: EditableTexts, contact: str, number: str) -> tuple[Place, list[str]]:
        """The place whose texts a message says, and the ids of these texts; else the step that sent it."""
        bubbles = self._playground.chats.bubbles(contact)
        bubble = next((each for each in bubbles if str(each.number) == number and each.message is not None), None)
        if bubble is None or bubble.message is None:
            raise Refused("there is no such message of the bot's")
        reader = self._playground.simulation.stored.reader
        event, _, effect = reader.messages.refs(contact).get(bubble.id, "").rpartition("#")
        turn = next((turn for turn in reader.trace.turns(contact, EVERY_TURN) if turn.event_id == event), None)
        near = [] if turn is None else _places(turn, int(effect))
        found = texts.saying(_words(bubble.message), near)
        if found is None and near and texts.block(near[0]) is not None:
            return near[0], []  # the step had a model, Python or a built-in text say it
        if found is None:
            raise Refused(
                "no text of the bot's files says this: it is built in, or comes from Python, a service or a model"
            )
        return found


def _places(turn: TurnTraced, effect: int) -> list[Place]:
    """The steps of a turn, beginning with the step that decided on an effect."""
    before = [(step["flow"], step["step"]) for step in turn.steps if step["effects"] <= effect]
    return [*before[::-1], *((step["flow"], step["step"]) for step in turn.steps)]


def _words(message: ShownMessage) -> list[str]:
    """All that a message says."""
    rows = [text for row in message.rows for text in (row.title, row.description)]
    link = message.link.title if message.link else ""
    texts = (message.text, message.header, message.footer, message.opens, link, message.place)
    return [*(text for text in texts if text), *message.buttons, *rows, *message.body]


def _place(asked: Mapping[str, Any]) -> Place:
    return str(asked.get("flow", "")), str(asked.get("step", ""))


def _edits(asked: Mapping[str, Any]) -> list[TextEdit]:
    return [TextEdit(str(each["id"]), str(each["was"]), str(each["text"])) for each in asked["edits"]]


def _shown(draft: EditDraft) -> dict[str, Any]:
    problems = [
        {"id": each.id, "code": each.code, "words": each.words, "error": each.is_error} for each in draft.problems
    ]
    return {"diff": draft.diff, "problems": problems}
