"""Typebot's variables that are set, its code, its integrations and its models."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bot.cli.importing.imported import Fate, name_of
from bot.cli.importing.typebot.context import Step, TypebotContext
from bot.cli.importing.typebot.expressions import (
    ANY,
    LIST,
    NUMBER,
    TEXT,
    NoJavaScript,
    OurExpression,
    UnknownJavaScript,
    parse,
    translate,
)
from bot.cli.importing.typebot.interpreting import saved_names
from bot.cli.importing.typebot.reading import TypebotBlock
from bot.cli.importing.typebot.variables import LISTED, answer_paths, literal_number
from bot.language.steps.http_step import METHODS


class TypebotServices:
    """Translates the blocks that calculate, or ask others."""

    def __init__(self, shared: TypebotContext) -> None:
        self._shared = shared
        self._variables, self._texts, self._mark = shared.variables, shared.texts, shared.mark

    def set(self, block: TypebotBlock, name: str) -> Step:
        """A step that sets a variable; empty where the block does nothing."""
        title = self._shared.title(block.options)
        if title is None:
            return {}
        kind, options = block.options.get("type"), block.options
        if kind in (None, "Custom"):
            return self._custom(block, title, name)
        variable = self._variables.name(title)
        listed = f"({variable} | default([]))"
        more: Step = {}
        if kind in ("Pop", "Shift") and (saved := self._shared.title(options, "saveItemInVariableId")) is not None:
            more = {self._variables.name(saved): f"{{{{ {listed} | {'last' if kind == 'Pop' else 'first'} }}}}"}
        values: dict[str, Callable[[], str | None]] = {
            "Append value(s)": lambda: f"{variable} | append({self._texts.expression(str(options.get('item') or ''))})",
            "Pop": lambda: f"{listed}[:-1]",
            "Shift": lambda: f"{listed}[1:]",
            "Map item with same index": lambda: self._mapped(options.get("mapListItemParams") or {}),
            "Now": lambda: "(now | utc)[:-1] ~ '.000Z'",
            "Today": lambda: "(now | utc)[:-1] ~ '.000Z'",
            "Tomorrow": lambda: "((now + hours(24)) | utc)[:-1] ~ '.000Z'",
            "Yesterday": lambda: "((now - hours(24)) | utc)[:-1] ~ '.000Z'",
            "Moment of the day": lambda: "'morning' if now.hour < 12 else 'afternoon' if now.hour < 18 else 'evening'",
            "Environment name": lambda: "'whatsapp'",
            "Random ID": lambda: "'id' ~ ((random() * 1000000000000) | floor)",
            "User ID": lambda: "contact.id",
            "Result ID": lambda: "contact.id",
            "Contact name": lambda: "contact.name",
            "Phone number": lambda: "'+' ~ contact.id",
            "Transcript": lambda: (
                """history | map(("Assistant:" if it.role == "bot" else "User:") ~ ' "' ~ it.text ~ '"') | join("\\n\\n")"""
            ),
            "Device type": lambda: "'mobile'",
        }
        notes = {
            "Now": "in UTC, milliseconds are 000", "Today": "in UTC, milliseconds are 000", "Tomorrow": "in UTC",
            "Yesterday": "in UTC", "Random ID": "12 digits, drawn once for each message", "User ID": "it is the contact's number",
            "Result ID": "it is the contact's number", "Transcript": "the last 20 messages, each cut at 500 characters",
            "Device type": "always mobile", "Contact name": "the name may change later",
            "Moment of the day": "in the bot's time zone, by the clock of the message",
            "Referral Click ID": "not known here: empty", "Referral Source ID": "not known here: empty",
        }  # fmt: skip
        if kind in notes:
            self._mark(block, name, notes[kind])
        made = values[kind]() if kind in values else None
        if made is None:
            return {"set": {variable: None}}
        if self._variables.kinds[title] == LIST and kind not in LISTED:
            made = f"[{made}]"
        return {"set": {variable: f"{{{{ {made} }}}}", **more}}

    def _mapped(self, parts: Mapping[str, Any]) -> str | None:
        titles = [self._shared.title(parts, f"{key}VariableId") for key in ("baseItem", "baseList", "targetList")]
        if None in titles:
            return None
        item, base, target = (self._variables.name(title) for title in titles if title is not None)
        listed = f"({base} | default([]))"
        return f"({target} | default([]))[:{listed} | length] | where({listed}[loop.index - 1] == {item}) | first"

    def _custom(self, block: TypebotBlock, title: str, name: str) -> Step:
        code = str(block.options.get("expressionToEvaluate") or "")
        variable, kind = self._variables.name(title), self._variables.kinds[title]
        if not code:
            return {"set": {variable: None}}
        if block.options.get("saveErrorInVariableId"):
            self._mark(block, name, "an error is not saved")
        try:
            made = translate(parse(code), self._variables.expressions)
        except NoJavaScript:
            template = self._texts.template(code)
            text = self._texts.expression(code)
            return {"set": {variable: f"{{{{ [{text}] }}}}" if kind == LIST else template if template else None}}
        except UnknownJavaScript as error:
            self._mark(block, name, f"write {variable} as a handler ({error})", fate=Fate.LOST)
            return self._call(block, name, code, title)
        for read in self._texts.reads(code):
            if read in self._variables.kinds:
                self._variables.name(read)
        self._mark(block, name, *dict.fromkeys(made.notes))
        if self._texts.reads(code) and not re.fullmatch(r"\{\{[^{}]+\}\}", code):
            self._mark(block, name, "a variable without a value fails here (NaN or undefined there)")
        if kind == NUMBER and (number := literal_number(made.text)) is not None:
            return {"set": {variable: number}}
        if kind == LIST:
            return {"set": {variable: f"{{{{ {made.text if made.kind == LIST else f'[{made.as_text}]'} }}}}"}}
        return {"set": {variable: f"{{{{ {made.text if kind == made.kind else made.as_text} }}}}"}}

    def _call(self, block: TypebotBlock, name: str, original: str, title: str | None) -> Step:
        """A step that calls a function which somebody has to write."""
        read = [each for each in self._texts.reads(original) if each in self._variables.kinds]
        types = {NUMBER: "float", LIST: "list"}
        kinds = {self._variables.name(each): self._variables.kinds[each] for each in sorted(read)}
        parameters = {name: types.get(kind, "str") for name, kind in kinds.items()}
        handler = name_of(f"{block.group or block.type} {title or block.type}", self._shared.bot.functions)
        self._shared.bot.untranslatable(handler, original, parameters)
        self._shared.handlers[block.place] = handler
        given = {"with": {each: f"{{{{ {each} }}}}" for each in parameters}} if parameters else {}
        if title is None:
            return {"call": handler, **given}
        if self._variables.kinds[title] == TEXT:
            return {"call": handler, **given, "save": self._variables.name(title)}
        answer = self._variables.helper(title, {"type": TEXT})
        value = OurExpression(answer, TEXT)
        return {"call": handler, **given, "save": answer, "set": self._shared.kept(title, value, name, block)}

    def lost(self, block: TypebotBlock, name: str, why: str = "") -> Step:
        """A step that calls a function which somebody has to write."""
        what = block.options.get("action") or block.options.get("task") or block.options.get("name") or ""
        by_hand = f"{block.type} {what}".strip() + ": write the handler, or an http step to its API"
        why = why or f"{by_hand} (docs/language/http.md)"
        self._mark(block, name, why, fate=Fate.LOST)
        mapped = block.options.get("responseVariableMapping") or []
        titles = [title for each in mapped if (title := self._shared.title(each)) is not None and each.get("bodyPath")]
        saved = [*titles, *saved_names(self._shared.export, block)]
        content = block.options.get("content")
        original = str(content) if content else json.dumps(dict(block.options), ensure_ascii=False, indent=1)
        return self._call(block, name, original, saved[0] if saved else None)

    def ai(self, block: TypebotBlock, name: str) -> Step:
        """A model's words: the last message is what it reads, all others are instructions."""
        self._mark(
            block, name, "the bot's own model answers; earlier messages are in its instructions, each as one line"
        )
        messages = [each for each in block.options.get("messages") or [] if isinstance(each, Mapping)]
        if system := block.options.get("systemMessage"):
            messages.insert(0, {"role": "system", "content": system})
        lines, text = [], ""
        for number, message in enumerate(messages, 1):
            role = str(message.get("role") or "")
            content = self._texts.template(str(message.get("content") or ""))
            if role == "Dialogue" and (title := self._shared.title(message, "dialogueVariableId")) is not None:
                listed = self._variables.name(title)
                said = listed if self._variables.kinds[title] == LIST else f"[{listed}]"
                lines.append(f"The conversation so far: {{{{ {said} | join(' / ') }}}}")
                text = f"{{{{ {said} | last }}}}"
            elif content and role == "user" and number == len(messages) and number > 1:
                text = content
            elif content:
                lines.append(content if role == "system" or number == 1 else f"{role.capitalize()}: {content}")
        saved = saved_names(self._shared.export, block)
        step: Step = {"write": "\n".join(lines) or "Answer the contact."}
        step |= {"text": text} if text else {}
        if len(saved) > 1:
            self._mark(block, name, "only the words of the answer are saved")
        if saved and self._variables.kinds[saved[0]] == TEXT:
            return step | {"save": self._variables.name(saved[0])}
        answer = self._variables.helper(saved[0] if saved else "the", {"type": TEXT})
        kept = {"set": self._shared.kept(saved[0], OurExpression(answer, TEXT), name, block)} if saved else {}
        return step | {"save": answer, **kept}

    def http(self, block: TypebotBlock, name: str) -> Step:
        """A request to a service."""
        webhook = block.options.get("webhook") or {}
        method, url = webhook.get("method") or "POST", str(webhook.get("url") or "")
        if not url and block.lacks_request:
            why = f"the export of an old version lacks the request of this {block.type}: write it as an http step"
            return self.lost(block, name, why)
        if not url:
            return {}
        if method not in METHODS or not re.match(r"https?://[^{}/]+(/|$|\?)", url):
            return self.lost(block, name)
        self._mark(block, name, "values in the address are quoted; after a failure no variable changes")
        step: Step = {"http": f"{method} {self._texts.template(url)}"}
        for key, source in (("query", "queryParams"), ("headers", "headers")):
            pairs = {
                each["key"]: self._texts.template(str(each.get("value") or ""))
                for each in webhook.get(source) or [] if each.get("key")
            }  # fmt: skip
            step |= {key: pairs} if pairs else {}
        if method != "GET":
            body = self._body(block, webhook.get("body"), name)
            step |= {"json": body} if body is not None else {}
        if seconds := block.options.get("timeout"):
            step["within"] = f"{seconds:g}s"
        saved = self._answers(block, name)
        return step | ({"save": saved} if saved else {})

    def _body(self, block: TypebotBlock, body: str | None, name: str) -> Any:
        if not block.options.get("isCustomBody") or not body:
            if body == "{}" or block.options.get("isCustomBody"):
                return None
            why = "the body has all variables by their names; Typebot sends the answers by their groups"
            self._mark(block, name, why)
            titles = self._shared.export.variables.values()
            return {title: f"{{{{ {self._variables.name(title)} }}}}" for title in titles}
        try:
            read = json.loads(re.sub(r'(?<!["\w{ ])\s*(\{\{[^{}"]+\}\})\s*(?=[,}\]]|$)', r' "\1"', body))
        except ValueError:
            self._mark(block, name, "the body is no JSON with variables: it is sent as one text of JSON")
            return self._texts.template(body)
        return self._in_json(read)

    def _in_json(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self._in_json(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._in_json(part) for part in value]
        return self._texts.template(value) if isinstance(value, str) else value

    def _answers(self, block: TypebotBlock, name: str) -> Step:
        saved: Step = {}
        for each in block.options.get("responseVariableMapping") or []:
            title = self._shared.title(each)
            if title is None or not each.get("bodyPath"):
                continue
            alone = replace(block, options={"responseVariableMapping": [each]})
            found = next(answer_paths([self._shared.export], alone, title), None)
            if found is None:
                self._mark(block, name, f"{each['bodyPath']} is not translated: {title} is not saved", fate=Fate.LOST)
                continue
            variable, kind = self._variables.name(title), self._variables.kinds[title]
            if kind == LIST:
                saved[variable] = found.text if found.kind == LIST else f"{found.inner} | default([]) | map(it ~ '')"
            elif found.kind == NUMBER and kind == NUMBER:
                saved[variable] = found.text
            else:
                saved[variable] = (
                    f"({found.text} ~ '') if {found.text} is defined else none" if found.kind == ANY else found.as_text
                )
        return saved
