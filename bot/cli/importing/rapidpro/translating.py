"""Makes a bot of an export of RapidPro: nodes become steps, results and fields become variables."""

import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import available_timezones

from bot.cli.importing.imported import ImportedBot, name_of
from bot.cli.importing.rapidpro.actions import add_action
from bot.cli.importing.rapidpro.expressions import Untranslatable, quoted, used_in
from bot.cli.importing.rapidpro.flow_texts import BotNames, FlowTexts, NodeNotes
from bot.cli.importing.rapidpro.flow_ways import FlowWays
from bot.cli.importing.rapidpro.message_actions import ask_without_text
from bot.cli.importing.rapidpro.node_steps import NEXT, NodeSteps, Step
from bot.cli.importing.rapidpro.query_groups import GroupQuery, group_steps
from bot.cli.importing.rapidpro.reading import (
    BY_CHANNEL,
    MEDIA_TESTS,
    Data,
    RapidProExport,
    RapidProFlow,
    RapidProNode,
    result_key,
)
from bot.cli.importing.rapidpro.recorded_runs import conversation_of, flows_of
from bot.cli.importing.rapidpro.scopes import FlowScope, label_of, place_of

_SENDING = ("send_msg", "send_interactive_msg")
_NOTHING_MORE = '{"json": ""}'
"""The extra values of a result that has none."""


class BotTranslation:
    """The whole bot, with what its flows share."""

    def __init__(self, export: RapidProExport, bot: ImportedBot) -> None:
        self.export = export
        self.bot = bot
        self.names = BotNames(export, bot)

    def translate(self) -> None:
        """Fill the bot. Flows are written twice: the first time shows which values any text reads."""
        for _ in range(2):
            self.bot.nodes.clear()
            self.bot.functions.clear()
            self.bot.locales.clear()
            for uuid, flow in self.export.flows.items():
                self.bot.flows[self.names.flows[uuid]] = FlowTranslation(self.names, flow).document()
        self._group_flow()
        self._starts()
        self._missing_flows()
        self._settings()
        recorded = set()
        for run in self.export.runs:
            recorded |= flows_of(run)
            if (conversation := conversation_of(run, self.names)) is not None:
                self.bot.conversations.append(conversation)
            else:
                self.bot.lost(run.name, "the run is of a flow that the export does not have: it is not compared")
        for uuid in self.export.flows:
            if uuid not in recorded:
                self.bot.conversations += FlowWays(self.names, uuid).conversations()
        for uuid, flow in self.export.flows.items():
            for node in flow.elsewhere:
                why = "only contacts of other channels than WhatsApp come here: left out"
                self.bot.nearly(place_of(flow, node), why, self.names.flows[uuid])
            for exit_ in flow.astray:
                why = "this node is not in the export: the flow ends there"
                self.bot.lost(f"{flow.name} > {exit_}", why, self.names.flows[uuid])
        for other in self.export.others:
            self.bot.lost(other, "this file is neither a flow nor a recorded run: nothing is imported from it")
        for key in ("campaigns", "triggers"):
            for each in self.export.assets.get(key, ()):
                self._row_of_asset(key, each)

    def _group_flow(self) -> None:
        """The flow that keeps the tags of groups by query: it runs after each change of a contact."""
        if not self.names.group_flow:
            return
        scope = FlowScope(next(iter(self.export.flows.values())), self.names.fields)

        def subject(name: str) -> str:
            known = {
                "name": "contact.name",
                "language": "language",
                "tel": f'contact.id ~ " " ~ {scope.other_addresses()}',
            }
            known["urn"] = known["tel"]
            if name in ("created_on", "last_seen_on", "group", "flow", "tickets", "uuid", "id"):
                raise Untranslatable(f"{name} in a query")
            return known.get(name) or scope.field(name.removeprefix("fields."))

        conditions: dict[str, str] = {}
        for group in self.export.assets.get("groups", ()):
            if group.get("query"):
                try:
                    conditions[str(group["name"])] = GroupQuery(str(group["query"]), subject).read()
                    self.bot.nearly(
                        f"group {group['name']}",
                        "a tag, which is set after each change that a flow makes",
                        self.names.group_flow,
                    )
                except Untranslatable as reason:
                    self.bot.lost(f"group {group['name']}", f"{reason} cannot be translated: tag the contacts yourself")
        steps = group_steps(conditions) or {"nothing": {"branch": [{"else": "end"}]}}
        self.bot.flows[self.names.group_flow] = {"vars": scope.variables, "steps": steps}

    def _settings(self) -> None:
        settings = self.bot.settings
        if len(self.names.languages) > 1 or any("language" in str(flow) for flow in self.bot.flows.values()):
            settings["languages"] = self.names.languages
        settings |= {"small_talk": [], "defaults": {"timeout": {"after": "7d", "then": "end"}}}
        zones = [str((run.data.get("contact") or {}).get("timezone") or "") for run in self.export.runs]
        if zones and zones[0] in available_timezones():
            settings["timezone"] = zones[0]
        imports, sources = used_in([str(self.bot.flows), str(self.bot.locales)])
        self.bot.imports, self.bot.sources = imports, sources

    def _starts(self) -> None:
        """Write the starts of the flows: keywords and triggers; without any, every message starts the first flow."""
        words: dict[str, dict[str, Any]] = {}
        for uuid, flow in self.export.flows.items():
            if flow.keywords:
                words.setdefault(uuid, {})["words"] = list(dict.fromkeys(flow.keywords))
        for trigger in self.export.assets.get("triggers", ()):
            uuid = str((trigger.get("flow") or {}).get("uuid")) if isinstance(trigger, Mapping) else ""
            if uuid in self.export.flows:
                _add_trigger(words.setdefault(uuid, {}), trigger)
        starts = {uuid: start for uuid, start in words.items() if start}
        if not starts:
            starts = {self.first_flow: {"otherwise": True}}
        for uuid, start in starts.items():
            name = self.names.flows[uuid]
            self.bot.flows[name] = {"start": start, **self.bot.flows[name]}

    @property
    def first_flow(self) -> str:
        """The first flow that no other flow enters."""
        entered = {
            (action.get("flow") or {}).get("uuid")
            for flow in self.export.flows.values() for node in flow.nodes.values() for action in node.actions
            if action["type"] == "enter_flow"
        }  # fmt: skip
        return next((uuid for uuid in self.export.flows if uuid not in entered), next(iter(self.export.flows)))

    def _missing_flows(self) -> None:
        for uuid, title in self.names.missing.items():
            name = self.names.flows[uuid]
            handler = self.bot.untranslatable(
                name_of(f"flow {title}", self.bot.functions), f"the flow {title} ({uuid})"
            )
            steps = {"missing": {"call": handler, "errors": {"else": "end"}, "then": "end"}}
            self.bot.flows[name] = {"about": f"The flow {title}, which the export does not have.", "steps": steps}

    def _row_of_asset(self, key: str, asset: Any) -> None:
        data = asset if isinstance(asset, Mapping) else {}
        title = str(data.get("name") or data.get("keyword") or data.get("keywords") or data.get("trigger_type") or "")
        place = f"{key[:-1]} {title}".strip()
        uuid = (data.get("flow") or {}).get("uuid") if isinstance(data.get("flow"), Mapping) else None
        if key == "triggers" and uuid in self.names.flows and str(data.get("trigger_type", "K"))[:1] in "KCN":
            self.bot.same(place, self.names.flows[uuid])
        elif key == "campaigns":
            self.bot.lost(place, "campaigns are not imported: write schedule: {flow, at} where the date is set")
        else:
            self.bot.lost(
                place, "this trigger is not imported: start the flow by schedule, bot broadcast start, or over HTTP"
            )


def _add_trigger(start: dict[str, Any], trigger: Data) -> None:
    words = trigger.get("keywords") or ([trigger["keyword"]] if trigger.get("keyword") else [])
    match str(trigger.get("trigger_type", "K"))[:1]:
        case "K" if trigger.get("match_type") == "O":
            start["words"] = list(dict.fromkeys([*start.get("words", ()), *words]))
        case "K" if words:
            either = "|".join(map(re.escape, words))
            start["pattern"] = f"(?is)\\W*(?:{either})(?:\\W.*)?"
        case "C":
            start["otherwise"] = True
        case "N":
            start["event"] = "conversation.opened"


class FlowTranslation:
    """One flow: its nodes as steps."""

    def __init__(self, names: BotNames, flow: RapidProFlow) -> None:
        self.names = names
        self.flow = flow
        self.name = names.flows[flow.uuid]
        self.texts = FlowTexts(names, flow)
        self.scope = self.texts.scope
        self.steps: dict[str, Step] = {}
        circles = FlowCircles(names.export.flows)
        self.rounds, self.texts.endless = circles.of(flow)
        self.texts.piles, self.texts.is_run = circles.piling(flow), circles.is_run(flow)

    def document(self) -> dict[str, Any]:
        """Return the flow as it is written."""
        first = next(iter(self.flow.nodes.values()), None)
        for node in self.flow.nodes.values():
            self._node(node, node is first)
        if not self.steps:
            self.steps["nothing"] = {"branch": [{"else": "end"}]}
        document: dict[str, Any] = {}
        if self.flow.expires:
            document["defaults"] = {"timeout": {"after": f"{self.flow.expires}m", "then": "end"}}
        if self.scope.variables:
            document["vars"] = dict(self.scope.variables)
        document["steps"] = self.steps
        for language, texts in self.texts.locale.items():
            self.names.bot.locales.setdefault(language, {})[self.name] = texts
        for uuid, node in self.flow.nodes.items():
            self._row(node, self.texts.notes[uuid])
        return document

    def _row(self, node: RapidProNode, notes: NodeNotes) -> None:
        names = (self.texts.entries[node.uuid], self.texts.routers.get(node.uuid, ""))
        step = next((name for name in names if name in self.steps), "")
        self.names.bot.report(place_of(self.flow, node), self.name, step, notes.nearly, notes.lost)

    def _node(self, node: RapidProNode, is_first: bool) -> None:
        steps = NodeSteps(self.texts, node)
        asks = self._asked(node)
        if "node.visit_count" in f"{node.actions} {node.router}":
            visits = self.scope.name(("visits", node.uuid), f"visits {label_of(node)}", type="integer", value=0)
            self.scope.visits = visits
            steps.add({"set": {visits: f"{{{{ {visits} + 1 }}}}"}})
        if is_first and node.waits is not None and not node.actions:
            self._first_message(node, steps)
        elif is_first and node.waits is not None:
            note = (
                "a message that starts the flow is there the answer to its first question; here the question is asked"
            )
            self.texts.nearly(node, note)
        elif is_first and self._reads_message():
            key = self.scope.name(("input", "text"), "input")
            steps.add({"set": {key: f"{{{{ message.text | default({key}) }}}}"}})
        last = node.actions[-1] if node.actions and node.actions[-1]["type"] in _SENDING else None
        entering = [action for action in node.actions if action["type"] == "enter_flow"][-1:]
        for action in [*(each for each in node.actions if each["type"] != "enter_flow"), *entering]:
            add_action(steps, action, asks if action is last else None)
        if node.waits is not None and last is None and self._is_entered(node, is_first):
            ask_without_text(steps, node)
        if node.router is not None:
            self._add_router(node, steps)
        default = (node.router or {}).get("default_category_uuid")
        self.steps |= steps.finished(self.texts.target(node.target(default)), node.uuid in self.rounds)

    def _asked(self, node: RapidProNode) -> RapidProNode | None:
        """The node that waits for the answer to the last message of this one: itself, or the next node."""
        if node.waits is not None:
            return node
        if node.router is not None:
            return None
        following = self.flow.nodes.get(node.target())
        return following if following is not None and following.waits is not None and not following.actions else None

    def _is_entered(self, node: RapidProNode, is_first: bool) -> bool:
        """True if anything leads to the node but a message that asks for it."""
        if is_first or node.actions:
            return True
        before = (other for other in self.flow.nodes.values() if node.uuid in other.exits.values())
        return any(
            each.router is not None or not each.actions or each.actions[-1]["type"] not in _SENDING for each in before
        )

    def _reads_message(self) -> bool:
        """True if a text before the first wait reads the message that has started the flow."""
        waiting = [next(iter(self.flow.nodes))]
        seen = set(waiting)
        while waiting:
            node = self.flow.nodes[waiting.pop()]
            texts = f"{node.actions}" + ("" if node.waits is not None else f"{node.router}")
            if re.search(r"\binput\b(?!_)", re.sub(r"add_input_labels", "", texts)):
                return True
            late = [] if node.timeout is None else [node.target(str(node.timeout.get("category_uuid")))]
            behind = late if node.waits is not None else node.exits.values()
            following = [each for each in behind if each and each not in seen]
            seen.update(following)
            waiting += following
        return False

    def _first_message(self, node: RapidProNode, steps: NodeSteps) -> None:
        """The message that starts a flow is the answer to a wait at its beginning."""
        entered = any(
            (action.get("flow") or {}).get("uuid") == self.flow.uuid
            for flow in self.names.export.flows.values() for each in flow.nodes.values() for action in each.actions
        )  # fmt: skip
        if entered:
            note = "the message that starts the flow is its first answer; here also where another flow runs it"
            self.texts.nearly(node, note)
        key = self.scope.name(("input", "text"), "input")
        steps.add({"set": {key: "{{ message.text | default('') }}"}})
        steps.add(
            {"branch": [{"if": "message.kind", "then": self.texts.routers[node.uuid]}, {"else": NEXT}]},
            "was started by",
        )

    # routers

    def _add_router(self, node: RapidProNode, steps: NodeSteps) -> None:
        """The result of a router, if it has a name, and the branch to where its categories lead."""
        router, name = node.router or {}, self.texts.routers.get(node.uuid, "")
        if router["type"] == "random":
            return self._random(node, router, steps)
        operand = str(router.get("operand") or "@input.text")
        if operand == BY_CHANNEL:
            self.texts.nearly(node, "the bot is on WhatsApp: the ways of other channels are left out")
        cases = [(str(case["category_uuid"]), *self._case(node, operand, case)) for case in router.get("cases") or ()]
        subject = self.texts.value(node, operand) if router.get("result_name") else ""
        default = str(router.get("default_category_uuid") or next(iter(node.categories), ""))
        last = self.texts.target(node.target(default))
        failing = {"errors": {"else": last}} if self.texts.can_fail else {}
        conditions = [(uuid, condition) for uuid, condition, _, _ in cases]
        if router.get("result_name"):
            values = self._result(node, operand, subject, cases, default)
            steps.add({"set": values, **failing}, label_of(node), name)
            titles = [str(each.get("name")) for each in node.categories.values()]
            if len(set(titles)) == len(titles):
                category = self.scope.result(str(router["result_name"]), "category")
                uuids = list(dict.fromkeys(uuid for uuid, _ in conditions))
                conditions = [(uuid, f"{category} == {quoted(self._title(node, uuid))}") for uuid in uuids]
            name = ""
        branch = [{"if": condition, "then": self.texts.target(node.target(uuid))} for uuid, condition in conditions]
        while branch and branch[-1]["then"] == last:
            branch.pop()
        if branch:
            steps.add({"branch": [*branch, {"else": last}], **failing}, f"split {label_of(node)}", name)
        elif router.get("result_name"):
            steps.listed[-1].step["then"] = last
        elif name:
            steps.add({"branch": [{"else": last}]}, label_of(node), name)
        return None

    def _title(self, node: RapidProNode, uuid: str) -> str:
        return str(node.categories.get(uuid, {}).get("name") or "")

    def _result(
        self, node: RapidProNode, operand: str, subject: str, cases: list[tuple[str, str, str, str]], default: str
    ) -> dict[str, str]:
        """The values of the result of a router: what was matched, and the category."""
        key = result_key(str((node.router or {})["result_name"]))

        def chosen(parts: list[str], otherwise: str) -> str:
            for (_, condition, _, _), part in zip(reversed(cases), reversed(parts), strict=True):
                if part != otherwise:
                    otherwise = f"{part} if {condition} else {otherwise}"
            return f"{{{{ {otherwise} }}}}"

        titles = [self._title(node, uuid) for uuid, *_ in cases]
        values = {
            self.scope.result(key): chosen([value for _, _, value, _ in cases], subject),
            self.scope.result(key, "category"): chosen(list(map(quoted, titles)), quoted(self._title(node, default)))
            if cases
            else self._title(node, default),
        }
        if self.scope.reads("results", key, "category_localized"):
            local = [self._local_title(node, uuid) for uuid, *_ in cases]
            values[self.scope.result(key, "category_localized")] = chosen(local, self._local_title(node, default))
        if self.scope.reads("results", key, "input") and operand:
            values[self.scope.result(key, "input")] = f"{{{{ {subject} }}}}"
        if self.scope.reads("results", key, "extra") and any(extra for *_, extra in cases):
            values[self.scope.result(key, "extra")] = chosen(
                [extra or _NOTHING_MORE for *_, extra in cases], _NOTHING_MORE
            )
        if self.scope.reads("legacy_extra") and any(extra for *_, extra in cases):
            more = [
                f"with_extra({self.scope.extra()}, {quoted(key)}, {extra}.json)" if extra else self.scope.extra()
                for *_, extra in cases
            ]
            values[self.scope.extra()] = chosen(more, self.scope.extra())
        return values

    def _local_title(self, node: RapidProNode, uuid: str) -> str:
        """The title of a category in the contact's language, as an expression."""
        local = quoted(self._title(node, uuid))
        for language, text in self.texts.translated(uuid, "name"):
            local = f"({quoted(text)} if language == {quoted(language)} else {local})"
        return local

    def _random(self, node: RapidProNode, router: Data, steps: NodeSteps) -> None:
        uuids = list(node.categories)
        drawn = self.scope.name(("drawn", node.uuid), "drawn", type="number", value=0)
        steps.add({"set": {drawn: "{{ random() }}"}}, label_of(node))
        cases = [
            (uuid, f"{drawn} * {len(uuids)} < {place}", f"shown({drawn})", "")
            for place, uuid in enumerate(uuids[:-1], start=1)
        ]
        if router.get("result_name"):
            steps.add({"set": self._result(node, "", f"shown({drawn})", cases, uuids[-1])}, "result")
        branch = [{"if": condition, "then": self.texts.target(node.target(uuid))} for uuid, condition, _, _ in cases]
        steps.add({"branch": [*branch, {"else": self.texts.target(node.target(uuids[-1]))}]}, "split")

    def _case(self, node: RapidProNode, operand: str, case: Data) -> tuple[str, str, str]:
        """The condition of a case, the value that it matches, and further values."""
        kind = str(case["type"])
        arguments = [self._argument(node, case, place) for place in range(len(case.get("arguments") or ()))]
        if kind in MEDIA_TESTS:
            result = result_key(str((node.router or {}).get("result_name") or ""))
            if kind == "has_location" and self.scope.reads("results", result, "extra"):
                why = "latitude and longitude of the place are not kept"
                self.texts.lost(node, f"{why}: ask into a variable of the type location")
            condition = f"{self.scope.written(('input', 'kind'))[0]} == {quoted(MEDIA_TESTS[kind])}"
            return condition, self.scope.written(("input", "file"))[0], ""
        if kind == "has_category" and (found := re.fullmatch(r"@results\.(\w+)(\.category)?", operand)):
            category = self.scope.written(("results", found[1], "category"))[0]
            return f"{category} in [{', '.join(arguments)}]", category, ""
        if kind == "has_group":
            groups = self.texts.typed(node, operand) if operand.startswith("@") else "contact.tags"
            name = arguments[1] if len(arguments) > 1 else self._group_name(case)
            return f"{name} in ({groups})", name, ""
        if kind in ("has_state", "has_district", "has_ward"):
            places = self._places(kind)
            matched = f"location_in({self.texts.value(node, operand)}, {places})"
            self.texts.nearly(node, "places are found by their names alone, without the place around them")
            return matched, matched, ""
        subject = self.texts.value(node, operand)
        if kind == "has_only_text" and arguments:
            return f"{subject} == {arguments[0]}", subject, ""
        try:
            written = self.texts.writer().called_with(kind, [subject, *arguments])
        except Untranslatable:
            self.texts.can_fail = True
            self.texts.lost(node, f"the test {kind} has no counterpart: write the function in handlers.py")
            original = f"{kind}({operand}, {', '.join(map(str, case.get('arguments') or ()))})"
            call = f"{self.names.unwritable(original)}()"
            return call, call, ""
        if kind in ("has_date", "has_date_lt", "has_date_eq", "has_date_gt", "has_time", "has_phone"):
            note = {"has_phone": "a phone number is recognised by its digits alone"}.get(
                kind, "days in digits are read with the day before the month, or the year first"
            )
            self.texts.nearly(node, note)
        extra = f'{{"json": pattern_groups({subject}, {arguments[0]})}}' if kind == "has_pattern" and arguments else ""
        return written, written, extra

    def _argument(self, node: RapidProNode, case: Data, place: int) -> str:
        """An argument of a test as an expression, in the contact's language."""
        uuid = str(case.get("uuid", ""))
        written = self.texts.value(node, self.texts.base(uuid, "arguments", case["arguments"][place], place))
        for language, text in self.texts.translated(uuid, "arguments", place):
            local = self.texts.value(node, text)
            if local != written:
                written = f"({local} if language == {quoted(language)} else {written})"
        return written

    def _group_name(self, case: Data) -> str:
        uuid = str((case.get("arguments") or [""])[0])
        groups = self.names.export.assets.get("groups", ())
        return quoted(next((str(each["name"]) for each in groups if each.get("uuid") == uuid), uuid))

    def _places(self, kind: str) -> str:
        depth = ("has_state", "has_district", "has_ward").index(kind) + 1
        paths: list[str] = []

        def walk(places: Any, path: list[str]) -> None:
            for each in places or ():
                here = [*path, str(each["name"])]
                if len(path) == depth:
                    paths.append(" > ".join(here))
                walk(each.get("children"), here)

        walk(self.names.export.assets.get("locations", ()), [])
        return f"[{', '.join(map(quoted, paths))}]"


class FlowCircles:
    """The ways from node to node without a wait, also through other flows."""

    def __init__(self, flows: Mapping[str, RapidProFlow]) -> None:
        self._flows = flows

    def of(self, flow: RapidProFlow) -> tuple[set[str], set[str]]:
        """Return the nodes from which a way leads back to them, and those of them where it enters another flow."""
        nodes = [(flow.uuid, uuid) for uuid in flow.nodes]
        around = {node[1] for node in nodes if self._leads(self._following(node), node)}
        return around, {node[1] for node in nodes if self._leads(self._begun(node), node)}

    def piling(self, flow: RapidProFlow) -> set[str]:
        """Return the nodes that run a flow which runs this one again, with or without a wait."""
        found: set[str] = set()
        for node in flow.nodes.values():
            waiting, seen = [*_run_by(node)], {*_run_by(node)}
            while waiting:
                behind = self._flows.get(waiting.pop())
                more = {uuid for each in behind.nodes.values() for uuid in _run_by(each)} if behind else set()
                waiting += more - seen
                seen |= more
            if flow.uuid in seen:
                found.add(node.uuid)
        return found

    def is_run(self, flow: RapidProFlow) -> bool:
        """True if a flow runs this one, and goes on after it."""
        return any(flow.uuid in _run_by(node) for each in self._flows.values() for node in each.nodes.values())

    def _begun(self, at: tuple[str, str]) -> list[tuple[str, str]]:
        actions = self._flows[at[0]].nodes[at[1]].actions
        entered = [str((each.get("flow") or {}).get("uuid")) for each in actions if each["type"] == "enter_flow"]
        nodes = {uuid: self._flows[uuid].nodes for uuid in entered if uuid in self._flows}
        return [(uuid, next(iter(each))) for uuid, each in nodes.items() if each]

    def _following(self, at: tuple[str, str]) -> list[tuple[str, str]]:
        node = self._flows[at[0]].nodes[at[1]]
        begun = self._begun(at)
        behind = () if node.waits is not None else node.exits.values()
        return [*begun, *((at[0], target) for target in behind if target)]

    def _leads(self, starts: list[tuple[str, str]], end: tuple[str, str]) -> bool:
        waiting, seen = list(starts), set(starts)
        while waiting:
            if (at := waiting.pop()) == end:
                return True
            following = [each for each in self._following(at) if each not in seen]
            seen.update(following)
            waiting += following
        return False


def _run_by(node: RapidProNode) -> set[str]:
    """The flows that a node enters and comes back from."""
    entered = (each for each in node.actions if each["type"] == "enter_flow" and not each.get("terminal"))
    return {str((each.get("flow") or {}).get("uuid")) for each in entered}
