"""Typebot's inputs as questions."""

import re
from collections.abc import Callable, Iterator, Sequence

from bot.cli.importing.imported import Fate, unsendable
from bot.cli.importing.typebot.context import LONGEST, Step, TypebotContext
from bot.cli.importing.typebot.expressions import LIST, NUMBER, TEXT, OurExpression, quoted
from bot.cli.importing.typebot.interpreting import INVALID, NO_TEXT, RETRIES, date_format
from bot.cli.importing.typebot.reading import CHOICES, PLACEHOLDER, TypebotBlock, TypebotItem, may_be_empty, shown_title
from bot.cli.importing.typebot.variables import KEPT, input_spec

_DATE_PARTS = {
    "dd": "('0' ~ {0}.day)[-2:]", "MM": "('0' ~ {0}.month)[-2:]", "yyyy": "({0}.year ~ '')", "yy": "({0}.year ~ '')[-2:]",
    "HH": "('0' ~ {0}.hour)[-2:]", "mm": "('0' ~ {0}.minute)[-2:]",
}  # fmt: skip
_LONGEST_QUESTION = 1024
_ROWS, _BUTTONS, _ABOUT = 10, 3, 72


class TypebotQuestions:
    """Translates inputs: what they ask, take and save."""

    def __init__(self, shared: TypebotContext) -> None:
        self._shared = shared
        self._variables, self._texts, self._mark = shared.variables, shared.texts, shared.mark

    def ask(self, block: TypebotBlock, name: str, pending: TypebotBlock | None) -> Step:
        """The question of an input; ``pending`` is the text above it."""
        most = _LONGEST_QUESTION if block.type in CHOICES else LONGEST
        text = self._shared.cut(block, name, self._texts.template(pending.text), most) if pending else ""
        if pending and block.type in CHOICES and may_be_empty(pending.text):
            text = f"{{{{ ({self._texts.expression(pending.text.strip())}) | default('{NO_TEXT}') }}}}"
        retry = block.options.get("retryMessageContent") or RETRIES.get(block.type)
        retry = self._texts.template(retry or self._shared.export.text("invalidMessage") or INVALID)
        if block.type in CHOICES:
            pictures = [item for item in block.items if item.picture]
            return self._pictures(block, name, pictures, lambda own: self._choices(block, own, text, retry))
        step: Step = {"ask": text, "then": self._shared.target(self._shared.export.after(block))}
        if block.type == "payment input":
            amount = f"{block.options.get('amount') or ''} {block.options.get('currency') or 'USD'}".strip()
            note = f"Typebot asked for a payment here: {self._texts.template(amount)}"
            why = "payments are not imported: write a link and a signal (docs/language/cookbook.md, A payment)"
            self._mark(block, name, why, fate=Fate.LOST)
            says = {"say": text} if text else {}
            return {"handoff": {"team": "payments", "note": note, **says}, "closed": step["then"]}
        if block.type != "text input":
            step["retry"] = {"say": retry}
        self._save(block, name, step)
        return step

    def _pictures(
        self, block: TypebotBlock, name: str, items: Sequence[TypebotItem], ask: Callable[[str], Step]
    ) -> Step:
        """Pictures come first, each with its title; then the question."""
        if not items:
            return ask(name)
        item, *others = items
        key = f"{name} {len(others)}"
        following = self._shared.step(block, key, lambda own: self._pictures(block, own, others, ask))
        lines = [f"*{item.content}*" if item.data.get("title") else "", str(item.data.get("description") or "")]
        words = self._texts.template("\n\n".join(line for line in lines if line))
        picture = self._texts.template(str(item.picture))
        if not PLACEHOLDER.search(str(item.picture)) and (why := unsendable("image", picture)):
            self._mark(block, name, why, fate=Fate.LOST)
            return {"say": words, "then": following} if words else {"branch": [{"else": following}]}
        return {"say": words or None, "image": picture, "errors": {"else": following}, "then": following}

    def _save(self, block: TypebotBlock, name: str, step: Step) -> None:
        """Where the answer goes: into the variable, or into one of its own from which the variable is set."""
        title = self._shared.title(block.options)
        spec = input_spec(block)
        self._mark(block, name, *self._input_notes(block))
        if spec is None and title is None:
            return
        is_kept = block.type in (*KEPT, "text input") or spec is None
        if title is not None and is_kept and self._variables.spec(title) == (spec or {"type": TEXT}):
            step["save"] = self._variables.name(title)
            return
        answer = self._variables.helper(title or block.group or "the", spec or {"type": TEXT})
        step["save"] = answer
        if title is not None:
            step["set"] = self._shared.kept(title, _answer_text(block, answer), name, block)

    def _input_notes(self, block: TypebotBlock) -> Iterator[str]:
        options = block.options
        match block.type:
            case "text input" if (options.get("audioClip") or {}).get("isEnabled"):
                yield "a voice note is no answer: set `transcribe` in bot.yml, or ask into a variable of type answer"
            case "text input" if (options.get("attachments") or {}).get("isEnabled"):
                yield "a file is no answer: ask into a variable of type answer"
            case "number input":
                yield "also takes five, 5k and 5 people, drops zeros at the front, and refuses a number before other words"
                if any(PLACEHOLDER.search(str(options.get(key) or "")) for key in ("min", "max")):
                    yield "limits that are variables are not checked: write a check at the variable"
            case "rating input":
                yield "also takes a mark in words"
            case "email input":
                yield "also takes an address among words; capitals before the @ stay"
            case "url input":
                yield "also takes an address among words"
            case "phone number input":
                yield "which numbers are valid may differ"
            case "date input":
                yield "days in words are read by the rules of docs/language/data.md"
                if options.get("isRange"):
                    yield "any text is taken: a range of days is not checked"
                if options.get("min") or options.get("max"):
                    yield "the first and last day are not checked: write after or before at the variable"
                if re.search(r"[A-Za-z]", re.sub("|".join(_DATE_PARTS), "", options.get("format") or "")):
                    yield f"the format {options['format']} is not translated"
            case "time input":
                yield "times in words are read by the rules of docs/language/data.md"
            case "file input":
                yield "its address is valid for 24 hours (keep: true keeps the file); only one file is taken"

    def _choices(self, block: TypebotBlock, name: str, text: str, retry: str) -> Step:
        after = self._shared.target(self._shared.export.after(block))
        title = self._shared.title(block.options)
        step: Step = {"ask": text or NO_TEXT}
        dynamic = self._shared.export.variables.get(block.options.get("dynamicVariableId") or "")
        if (block.options.get("dynamicItems") or {}).get("isEnabled"):
            dynamic = self._shared.export.variables.get(block.options["dynamicItems"].get("titlesVariableId") or "")
            self._mark(block, name, "the pictures are left out")
        items = [item for item in block.items if item.content or item.data.get("paths")]
        if not items and dynamic is None:
            self._mark(block, name, "it has no buttons: every answer leads on here, none there", fate=Fate.LOST)
            return step | {"then": after}
        is_many = block.is_many
        if is_many:
            step |= {"many": {"max": len(items)} if dynamic is None else True, "show": "numbers"}
            why = "one number alone is asked on until Done; the answers are in the order in which they were chosen"
            self._mark(block, name, why)
        else:
            step["match"] = "exact"
        if not text and is_many:
            self._mark(block, name, f"{NO_TEXT} stands above the choices")
        if dynamic is not None:
            step["options"] = self._listed(dynamic, block, name, is_many)
        else:
            step["options"] = self._options(block, items, name, title is not None, is_many, after)
        step["retry"] = {"ask": retry}
        if title is not None:
            self._save_choice(block, title, name, step, is_many)
        if is_many and title is None:
            step["save"] = self._variables.helper(block.group or "the", {"type": LIST})
        is_open = is_many or dynamic is not None or title is not None
        return step | ({"then": after} if is_open else {})

    def _save_choice(self, block: TypebotBlock, title: str, name: str, step: Step, is_many: bool) -> None:
        if not is_many and self._variables.spec(title) == {"type": TEXT}:
            step["save"] = self._variables.name(title)
            return
        answer = self._variables.helper(title, {"type": LIST if is_many else TEXT})
        value = OurExpression(f"({answer} | join(', '))" if is_many else answer, TEXT)
        step["save"] = answer
        step["set"] = self._shared.kept(title, value, name, block)

    def _listed(self, dynamic: str, block: TypebotBlock, name: str, is_many: bool) -> Step:
        listed = self._variables.name(dynamic)
        self._mark(block, name, "an empty list fails here; a hundred choices at most")
        usual = ", ".join(self._texts.expression(item.content) for item in block.items if item.content)
        title = "{{ it }}" if is_many else "{{ it if (it | length) <= 20 else it[:18] ~ '..' }}"
        return {"from": f"{listed} | default([{usual}]) | unique", "title": title, "words": "{{ it }}"}

    def _options(
        self, block: TypebotBlock, items: Sequence[TypebotItem], name: str, is_saved: bool, is_many: bool, after: str
    ) -> Step:
        options: Step = {}
        if not is_many and len(items) > _BUTTONS:
            self._mark(block, name, "Typebot sends the buttons three by three; here they are one list")
        if len(items) > _ROWS and not is_many:
            self._mark(block, name, f"more than {_ROWS} choices are on pages")
        if block.type != "choice input":
            self._mark(block, name, "the pictures come before the question, which has their titles")
        taken = {bare(shown_title(self._texts.template(content))) for item in items for content, _ in _paths_of(item)}
        for item in items:
            for content, edge in _paths_of(item):
                whole = self._texts.template(content)
                shown = whole if is_many or "{{" in whole else shown_title(whole, [*options])
                number = 2
                while bare(shown) in {*map(bare, options)}:
                    shown, number = f"{whole[:16]} ({number})", number + 1
                    self._mark(block, name, "titles that differ only in capitals and signs have numbers")
                choice: Step = {}
                value = self._texts.template(item.value or content)
                taken.add(bare(shown))
                plain = (each for each in dict.fromkeys((whole, value)) if "{{" not in each)
                words = [each for each in plain if bare(each) not in taken]
                taken |= {*map(bare, words)}
                if is_saved or is_many:
                    choice["value"] = value
                if words:
                    choice["words"] = words
                if shown != whole and len(items) > _BUTTONS and len(whole) <= _ABOUT:
                    choice["about"] = whole
                if "{{" in whole and not PLACEHOLDER.sub("", content).strip():
                    choice["if"] = f"({self._texts.expression(content)} ~ '') != ''"
                if item.shown_if is not None:
                    choice["if"] = self._texts.condition(self._shared.export, item.shown_if)
                leads = edge in self._shared.export.edges
                if not is_many and (leads or not is_saved):
                    choice["then"] = self._shared.target(self._shared.export.behind(edge)) if leads else after
                options[shown] = choice["then"] if [*choice] == ["then"] else choice
        return options


def bare(title: str) -> str:
    """A title without what does not tell it from others."""
    return re.sub(r"\W", "", title.casefold()) or title


def _paths_of(item: TypebotItem) -> Iterator[tuple[str, str | None]]:
    """The titles of an item with the edges behind them: several for a card."""
    if item.data.get("paths"):
        for path in item.data["paths"]:
            title = f"{item.content}: {path.get('text')}" if item.content else str(path.get("text") or "")
            yield title, path.get("outgoingEdgeId")
    else:
        yield item.content or "", item.edge


def _answer_text(block: TypebotBlock, answer: str) -> OurExpression:
    """An answer as Typebot keeps it: days and times in their format, a phone number with its plus."""
    match block.type:
        case "date input" | "time input" if not block.options.get("isRange"):
            parts = re.split(f"({'|'.join(_DATE_PARTS)})", date_format(block))
            made = [_DATE_PARTS[part].format(answer) if part in _DATE_PARTS else quoted(part) for part in parts if part]
            return OurExpression(" ~ ".join(made), TEXT, (), True)
        case "phone number input":
            return OurExpression(f"'+' ~ {answer}", TEXT, (), True)
        case "file input":
            return OurExpression(f"{answer}.url", TEXT)
        case "email input":
            return OurExpression(f"({answer} | lower)", TEXT)
        case "number input" | "rating input":
            return OurExpression(answer, NUMBER)
        case _:
            return OurExpression(answer, TEXT)
