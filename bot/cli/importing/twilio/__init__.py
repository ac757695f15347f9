"""Twilio Studio: a flow definition becomes a flow, each widget a step."""

from collections.abc import Iterator, Sequence

from bot.cli.importing.conversations import SourceConversation
from bot.cli.importing.imported import ExportFile, ImportedBot
from bot.cli.importing.twilio.interpreting import studio_runs
from bot.cli.importing.twilio.reading import StudioFlow, is_flow, read_flow
from bot.cli.importing.twilio.translating import StudioTranslation


def recognises(files: Sequence[ExportFile]) -> bool:
    """True if one of these files is the definition of a Studio flow."""
    return any(is_flow(each.data) for each in _definitions(files))


def import_bot(files: Sequence[ExportFile]) -> ImportedBot:
    """A bot with a flow for each definition. Raises `UnreadableExport`."""
    flows = [read_flow(each.path, each.data) for each in _definitions(files) if is_flow(each.data)]
    bot = ImportedBot("Twilio Studio", flows[0].title, {"small_talk": []})
    translations = [StudioTranslation(flow, bot) for flow in flows]
    by_sid = {each.scope.source.sid or each.scope.source.title: each.scope for each in translations}
    for each in translations:
        each.translate(by_sid)
        for place in each.scope.source.astray:
            bot.lost(place, "this widget is not in the export: the flow ends there", each.scope.flow)
    sources = {sid: each.source for sid, each in by_sid.items()}
    stubs = {place: name for each in translations for place, name in each.stubs.items()}
    bot.conversations += [said for each in translations for said in _conversations(bot, each, sources, stubs)]
    return bot


def _definitions(files: Sequence[ExportFile]) -> Iterator[ExportFile]:
    """The parts of files: Twilio's command line writes a list of flows."""
    for file in files:
        listed = file.data if isinstance(file.data, list) else [file.data]
        yield from (ExportFile(file.path, each) for each in listed)


def _conversations(
    bot: ImportedBot, translation: StudioTranslation, sources: dict[str, StudioFlow], stubs: dict[str, str]
) -> Iterator[SourceConversation]:
    """The conversations of a flow, for each event that starts it. ``stubs`` are functions, by places."""
    for event, flow in translation.entry_flows.items():
        by_message = "start" in bot.flows[flow]
        for number, run in enumerate(studio_runs(translation.scope.source, event, sources, by_message), start=1):
            data = {name: run.data[key] for key, name in translation.scope.parameters.items() if key in run.data}
            handlers = {stubs[place]: tuple(results) for place, results in run.results.items() if place in stubs}
            name = f"{translation.scope.source.title}, {event} {number}"
            yield SourceConversation(name, flow, tuple(run.turns), data=data, http=tuple(run.http), handlers=handlers)
