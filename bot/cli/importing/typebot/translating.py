"""A Typebot's blocks as steps. Groups vanish: steps follow each other, and a text becomes the words of its question."""

from collections.abc import Callable, Sequence
from typing import Any

from bot.cli.importing.imported import Fate, ImportedBot, ImportedNode, name_of, unsendable
from bot.cli.importing.typebot.context import LONGEST, Step, TypebotContext
from bot.cli.importing.typebot.expressions import quoted
from bot.cli.importing.typebot.interpreting import DOCUMENTS, HTTP_BLOCKS, is_completion, saved_names
from bot.cli.importing.typebot.questions import TypebotQuestions
from bot.cli.importing.typebot.reading import (
    BUBBLES,
    CHOICES,
    INPUTS,
    PLACEHOLDER,
    TypebotBlock,
    TypebotExport,
    is_shown_image,
    may_be_empty,
    video_text,
)
from bot.cli.importing.typebot.services import TypebotServices
from bot.cli.importing.typebot.variables import TypebotTexts, TypebotVariables, literal_number

UNFINISHED = "unfinished"
"""The flow that passes contacts to a person where the new bot has no code yet."""
_WAITING = {"ask", "wait", "handoff"}
_ROUNDS = 100
_SESSION_HOURS = 4


class TypebotTranslator:
    """Translates the exports: the first is the bot's main flow, the others are flows that it runs."""

    def __init__(self, exports: Sequence[TypebotExport]) -> None:
        self.bot = ImportedBot("Typebot", exports[0].name)
        self._variables = TypebotVariables(exports)
        self._texts = TypebotTexts(self._variables)
        self._shared = TypebotContext(self.bot, self._variables, self._texts, exports[0], self._target, self._step)
        self._mark = self._shared.mark
        self._questions, self._services = TypebotQuestions(self._shared), TypebotServices(self._shared)
        self.handlers = self._shared.handlers
        self.roots: list[tuple[str, TypebotExport, TypebotBlock]] = []
        """The flows that conversations begin in: their names, and the blocks with which they begin."""
        self._exports = {export.id: export for export in exports}
        self._flows: dict[str, str] = {}
        for export in exports:
            self._flows[export.id] = name_of(export.name, {UNFINISHED, *self._flows.values()}, "main")
        self._steps: dict[tuple[str, str], str] = {}
        self._todo: list[Callable[[], None]] = []
        for export in exports:
            self._translate(export, is_main=export is exports[0])
        self._finish(exports)

    def _translate(self, export: TypebotExport, is_main: bool) -> None:
        self._shared.export = export
        targets = {to[0] for to in export.edges.values()} | {
            block.options.get("groupId") for block in export.blocks() if block.type == "Jump"
        }
        groups = sorted((group for group in export.groups if group.blocks), key=lambda group: group.left)
        others = sorted(groups, key=lambda group: group.id in targets)
        for block, flow in [(export.first, self._flows[export.id]), *((group.blocks[0], "") for group in others)]:
            if block is None or (not flow and block.id in self._shared.marks):
                continue
            self._shared.flow = flow or name_of(
                block.group, {*self.bot.flows, *self._flows.values(), UNFINISHED}, "group"
            )
            self._variables.declared = {}
            start = {"start": {"otherwise": True}} if flow and is_main else {}
            document: dict[str, Any] = {**start, "vars": {}, "steps": {}}
            self.bot.flows[self._shared.flow] = document
            self._steps.clear()
            first_target = self._target(block)
            while self._todo:
                self._todo.pop()()
            if not document["steps"] and not flow:
                del self.bot.flows[self._shared.flow]
                continue
            document["steps"] = document["steps"] or {"nothing": {"branch": [{"else": "end"}]}}
            _order(document, first_target)
            for name in _bound(document["steps"]):
                block_id = next(key[0] for key, step in self._steps.items() if step == name)
                mark = self._shared.marks[block_id]
                mark.notes.append(f"blocks that go round without waiting end after {_ROUNDS} rounds")
                mark.fate = Fate.NEARLY if mark.fate is Fate.SAME else mark.fate
            document["vars"] = dict(sorted(self._variables.declared.items()))
            if not document["vars"]:
                del document["vars"]
            self.roots.append((self._shared.flow, export, block))

    def _finish(self, exports: Sequence[TypebotExport]) -> None:
        hours = ((exports[0].settings.get("whatsApp") or {}).get("sessionExpiryTimeout")) or _SESSION_HOURS
        said = "This does not work yet. A person will answer you here."
        self.bot.settings = {
            "small_talk": [],
            "defaults": {
                "errors": {"else": {"say": said, "then": f"/{UNFINISHED}"}},
                "timeout": {"after": f"{hours:g}h", "then": "end"},
            },
        }
        note = "The imported bot has failed here, or has no code for it yet. import-report.md has the list of what is lost."
        self.bot.flows[UNFINISHED] = {
            "steps": {"person": {"handoff": {"team": "operators", "note": note}, "closed": "end"}}
        }
        for export in exports:
            for event in export.events:
                if event.get("type") != "start":
                    place = f"{export.name} > event {event.get('type')}"
                    self.bot.lost(place, "events are not imported: write words of the flow (docs/language/routing.md)")
            for block in export.blocks():
                mark = self._shared.marks.get(block.id)
                if mark is None:
                    self.bot.nodes.append(ImportedNode(block.place, Fate.SAME, "nothing leads to it"))
                else:
                    notes = "; ".join(dict.fromkeys(mark.notes))
                    self.bot.nodes.append(ImportedNode(block.place, mark.fate, notes, *mark.step))

    def _target(self, block: TypebotBlock | None, pending: TypebotBlock | None = None) -> str:
        """The step to which a block leads; ``pending`` is a text that is not said yet."""
        seen: set[str] = set()
        while block is not None and block.id not in seen:
            seen.add(block.id)
            if block.type == "Jump" and not PLACEHOLDER.search(block.options.get("groupId") or ""):
                self._mark(block, "")
                block = self._shared.export.jumped(block)
            elif block.is_of_web_page:
                self._mark(block, "", "it acts on a web page alone: left out, as Typebot does in WhatsApp")
                block = self._shared.export.after(block)
            elif block.type in BUBBLES and (why := _why_unsent(block)) is not None:
                self._mark(block, "", *([why] if why else []), fate=Fate.LOST)
                block = self._shared.export.after(block)
            elif block.type == "Return":
                self._mark(block, "", "the conversation ends here")
                block = None
            else:
                break
        else:
            block = None
        is_text = pending is None and block is not None and block.type == "text"
        if is_text and block is not None and _waits_for_question(self._shared.export, block):
            return self._target(self._shared.export.after(block), block)
        changes = block is not None and self._changes(block, pending)
        is_kept = block is not None and (block.type in INPUTS or _is_silent(block)) and not changes
        if pending is not None and changes:
            why = "its buttons are a message of their own: a variable that it shows changes before them"
            self._mark(pending, "", why)
        if pending is not None and not is_kept:
            return self._step(
                pending, block.id if block else "end", lambda name: self._say(pending, name, self._target(block))
            )
        if block is None:
            return "end"
        kept = block
        return self._step(block, pending.id if pending else "", lambda name: self._write(kept, name, pending))

    def _step(self, block: TypebotBlock, key: str, write: Callable[[str], Step]) -> str:
        """The name of the step for a block in its situation, which is written later if it is new."""
        if (block.id, key) in self._steps:
            return self._steps[block.id, key]
        steps = self.bot.flows[self._shared.flow]["steps"]
        name = name_of(block.group or block.type, {*steps, *self._steps.values()})
        self._steps[block.id, key] = name

        def make() -> None:
            steps[name] = {}
            steps[name] = write(name)

        self._todo.append(make)
        return name

    def _changes(self, block: TypebotBlock, pending: TypebotBlock | None) -> bool:
        """Return whether a block writes a variable that the text which waits shows."""
        if pending is None or block.type in INPUTS:
            return False
        mapped = (block.options, *(block.options.get("responseVariableMapping") or []))
        written = {*map(self._shared.title, mapped), *saved_names(self._shared.export, block)}
        return bool(written & self._texts.reads(pending.text))

    def _write(self, block: TypebotBlock, name: str, pending: TypebotBlock | None) -> Step:
        if pending is not None and block.type in INPUTS:
            self._mark(pending, name)
        step = self._written(block, name, pending)
        self._mark(block, name, *self._texts.taken())
        return step

    def _written(self, block: TypebotBlock, name: str, pending: TypebotBlock | None) -> Step:
        if block.type in BUBBLES:
            return self._say(block, name, self._target(self._shared.export.after(block)))
        if block.type in INPUTS:
            return self._questions.ask(block, name, pending)
        match block.type:
            case "Set variable":
                step = self._services.set(block, name)
            case "Condition":
                tests = [self._texts.condition(self._shared.export, each.data.get("content")) for each in block.items]
                edges = [item.edge for item in block.items]
                return self._branch(block, list(zip(tests, edges, strict=True)), pending)
            case "AB test":
                share = block.options.get("aPercent", 50) / 100
                a, b = self._shared.export.halves(block)
                return self._branch(block, [(f"random() < {share:g}", a)] * bool(a) + [("true", b)] * bool(b), pending)
            case "Jump":
                titles = [(group.title, group.id) for group in self._shared.export.groups if group.blocks]
                value = self._texts.expression(block.options["groupId"])
                options = [
                    (f"{value} == {quoted(title)}", self._target(self._shared.export.at(each), pending))
                    for title, each in titles
                ]
                return {"branch": [*({"if": test, "then": then} for test, then in options), {"else": "end"}]}
            case "Wait":
                step = self._wait(block, name)
            case "Redirect":
                url = str(block.options.get("url") or "")
                step = {"say": self._texts.template(url), "preview_url": True} if url else {}
            case "Typebot link":
                return self._link(block, name)
            case kind if kind in HTTP_BLOCKS:
                step = self._services.http(block, name)
            case _:
                step = self._services.ai(block, name) if is_completion(block) else self._services.lost(block, name)
        after = self._target(self._shared.export.after(block), pending)
        if not step:
            return {"branch": [{"else": after}]}
        step["then"] = after
        if "http" in step:
            step["errors"] = {"else": step["then"]}
        return step

    def _say(self, block: TypebotBlock, name: str, then: str) -> Step:
        url = self._texts.template(str(block.content.get("url") or ""))
        self._mark(block, name)
        match block.type:
            case "text":
                step: Step = {"say": self._shared.cut(block, name, self._texts.template(block.text), LONGEST)}
            case "video" if shown := video_text(url):
                step = {"say": shown, "preview_url": True}
            case "embed" if url.rpartition(".")[2] in DOCUMENTS:
                step = {"say": None, "document": {"link": url, "filename": url.rpartition("/")[2]}}
            case "embed":
                step = {"say": url, "preview_url": True}
            case kind:
                step = {"say": None, kind: url}
        if block.type == "image" and (block.content.get("clickLink") or {}).get("url"):
            self._mark(block, name, "the picture is no link")
        if block.type == "text" and may_be_empty(block.text):
            step["errors"] = {"else": then}
        if block.type != "text" and PLACEHOLDER.search(str(block.content.get("url") or "")):
            step["errors"] = {"else": then}
            self._mark(block, name, "an empty or wrong address is left out, and so is a GIF by its variable")
        self._mark(block, name, *self._texts.taken())
        return step | {"then": then}

    def _branch(
        self, block: TypebotBlock, branches: Sequence[tuple[str, str | None]], pending: TypebotBlock | None
    ) -> Step:
        after = self._target(self._shared.export.after(block), pending)
        written = [
            {"if": test, "then": self._target(self._shared.export.behind(edge), pending)} for test, edge in branches
        ]
        return {"branch": [*written, {"else": after}]}

    def _wait(self, block: TypebotBlock, name: str) -> Step:
        written = str(block.options.get("secondsToWaitFor") or "")
        if PLACEHOLDER.search(written):
            self._mark(block, name, "a time that is no number fails here")
            return {"wait": f"{{{{ now + minutes(({self._texts.expression(written)} | as_number) / 60) }}}}"}
        seconds = literal_number(written) or 0
        if seconds > 10:
            self._mark(block, name, "in WhatsApp Typebot waits for 10 s at most")
        if seconds != round(seconds):
            self._mark(block, name, "whole seconds")
        return {"wait": f"{max(round(seconds), 1)}s"} if seconds > 0 else {}

    def _link(self, block: TypebotBlock, name: str) -> Step:
        linked, group = block.options.get("typebotId"), block.options.get("groupId")
        after = self._shared.export.after(block)
        if linked in ("current", self._shared.export.id):
            if after is not None:
                self._mark(block, name, "it does not come back: write the group as a flow of its own, and run it")
            target = self._target(self._shared.export.at(group) if group else self._shared.export.first)
            return {"branch": [{"else": target}]}
        other = self._exports.get(linked or "")
        if other is None:
            why = "the linked bot is not in the export: import its file as well, or write its flow and run it here"
            return self._services.lost(block, name, why) | {"then": self._target(after)}
        if group and (other.first is None or other.at(group) is not other.first):
            self._mark(block, name, "it begins with the first group of the other bot")
        shared = [each for each in self._shared.export.variables.values() if each in other.variables.values()]
        names = [self._variables.name(each) for each in shared if self._variables.kinds.get(each)]
        given = {"with": {each: f"{{{{ {each} }}}}" for each in names}, "save": {each: each for each in names}}
        return {"run": f"/{self._flows[other.id]}", **(given if names else {}), "then": self._target(after)}


def targets_of(step: Step, after: str) -> list[str]:
    """The steps to which a step that does not wait for an answer can lead."""
    branches = [each.get("then") or each.get("else") for each in step.get("branch") or []]
    errors = [each for each in (step.get("errors") or {}).values() if isinstance(each, str)]
    usual = [] if "branch" in step else [step.get("then") or step.get("closed") or after]
    return [each for each in [*branches, *errors, *usual] if each]


def _is_silent(block: TypebotBlock) -> bool:
    leads_astray = block.type == "Redirect" and not block.options.get("url")
    return leads_astray or block.type not in (*BUBBLES, *INPUTS, "Redirect", "Wait", "Typebot link", "Return")


def _why_unsent(block: TypebotBlock) -> str | None:
    """Why a bubble is not sent; "" for one that has nothing to send, and None for one that is sent."""
    url = str(block.content.get("url") or "")
    if block.type == "text":
        return None if block.text.strip() else ""
    if not url:
        return ""
    if block.type == "image" and not PLACEHOLDER.match(url) and not is_shown_image(url):
        return "WhatsApp shows no GIF and no SVG, so Typebot leaves it out there, too: send it as a video or a PNG"
    is_file = block.type in ("image", "audio") or (block.type == "video" and not video_text(url))
    return (unsendable(block.type, url) or None) if is_file and not PLACEHOLDER.search(url) else None


def _is_left_out(block: TypebotBlock) -> bool:
    return block.type in BUBBLES and _why_unsent(block) is not None


def _waits_for_question(export: TypebotExport, block: TypebotBlock) -> bool:
    """Return whether Typebot sends a text together with the buttons that follow, or a question follows at once."""
    after = export.after(block)
    seen: set[str] = set()
    while after is not None and after.id not in seen and (after.type == "Jump" or _is_left_out(after)):
        seen.add(after.id)
        after = export.jumped(after) if after.type == "Jump" else export.after(after)
    if after is not None and after.type in CHOICES[1:] and not after.options.get("isMultipleChoice"):
        return False
    if after is not None and after.type in INPUTS and after.type not in CHOICES:
        return not may_be_empty(block.text)
    return (after is not None and after.type in INPUTS) or _leads_to_choices(export, after, set())


def _leads_to_choices(export: TypebotExport, block: TypebotBlock | None, seen: set[str]) -> bool:
    if block is None or block.id in seen:
        return False
    seen.add(block.id)
    if block.type == "choice input":
        return True
    if not _is_silent(block) and not _is_left_out(block):
        return False
    after = export.jumped(block) if block.type == "Jump" else export.after(block)
    branches = [export.behind(item.edge) for item in block.items]
    return any(_leads_to_choices(export, each, seen) for each in [*branches, after])


def _order(document: dict[str, Any], first: str) -> None:
    """The first step comes first, and a `then` to the next step is left out."""
    steps = document["steps"]
    if first in steps and next(iter(steps)) != first:
        steps = {first: steps[first], **steps}
    following = [*steps][1:]
    for step, after in zip([*steps.values()], following, strict=False):
        if step.get("then") == after and not {"branch", "handoff"} & {*step}:
            del step["then"]
    document["steps"] = steps


def _bound(steps: dict[str, Step]) -> list[str]:
    """Limit the rounds of steps that never wait, as Typebot's time-out does. Returns the limited steps."""
    after = dict(zip(steps, [*[*steps][1:], "end"], strict=True))
    following = {name: [] if _WAITING & {*step} else targets_of(step, after[name]) for name, step in steps.items()}
    limited = []
    for name in steps:
        seen: set[str] = set()
        left = [*following[name]]
        while left:
            each = left.pop()
            if each not in seen:
                seen.add(each)
                left += following.get(each, [])
        if name in seen:
            steps[name]["visits"] = {"max": _ROUNDS, "else": f"/{UNFINISHED}"}
            following[name] = []
            limited.append(name)
    return limited
