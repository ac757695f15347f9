"""Rasa: a CALM assistant becomes a bot, each flow a flow."""

from collections.abc import Iterator, Sequence

from bot.cli.importing.conversations import SourceConversation
from bot.cli.importing.imported import ExportFile, ImportedBot
from bot.cli.importing.rasa.interpreting import CalmRun, calm_runs, run_of_test
from bot.cli.importing.rasa.reading import is_rasa, read_assistant
from bot.cli.importing.rasa.rules import add_flows
from bot.cli.importing.rasa.translating import CalmTranslation


def recognises(files: Sequence[ExportFile]) -> bool:
    """True if one of these files belongs to an assistant of Rasa's."""
    return any(is_rasa(file.data) for file in files)


def import_bot(files: Sequence[ExportFile]) -> ImportedBot:
    """A bot with all flows of an assistant. Raises `UnreadableExport`."""
    assistant = read_assistant(files)
    add_flows(assistant)
    first = next((file.path for file in files if is_rasa(file.data)), files[0].path)
    bot = ImportedBot("Rasa", first.absolute().parent.name)
    translation = CalmTranslation(assistant, bot)
    translation.translate()
    flows = {name: assistant.flows[name] for name in translation.flows}
    runs = {name: [*calm_runs(assistant, flow, _beginning(translation, name))] for name, flow in flows.items()}
    bot.conversations += _conversations(translation, runs)
    return bot


def _beginning(translation: CalmTranslation, name: str) -> tuple[str, str]:
    """The beginning of a flow: the contact writes, or a program starts it where only other flows lead to it."""
    has_start = "start" in translation.bot.flows[translation.flows[name]]
    return ("text", translation.starting_word(translation.assistant.flows[name])) if has_start else ("start", "")


def _conversations(translation: CalmTranslation, runs: dict[str, list[CalmRun]]) -> Iterator[SourceConversation]:
    for name, listed in runs.items():
        if name not in translation.called:
            for number, run in enumerate(listed, start=1):
                yield _conversation(f"{name} {number}", name, run, translation)
    for test in translation.assistant.tests:
        place = f"test > {test.name}"
        matching = ((name, run_of_test(each, test, translation.assistant)) for name, each in runs.items())
        found = next(((name, run) for name, run in matching if run is not None), None)
        if found is None:
            translation.bot.lost(place, "no path of one flow says this in this order: write the test by hand")
            continue
        name, run = found
        flow = translation.flows[name]
        said = "; ".join(f'"{user}"' for user, _ in test.turns)
        note = f"without a model each value is asked for, instead of found in {said}"
        translation.bot.nearly(place, note, flow)
        yield _conversation(test.name, name, run, translation)


def _conversation(title: str, name: str, run: CalmRun, translation: CalmTranslation) -> SourceConversation:
    handlers = {
        translation.handlers[action]: tuple(results)
        for action, results in run.results.items()
        if action in translation.handlers
    }
    draws = (0.0,) * 50
    return SourceConversation(title, translation.flows[name], tuple(run.turns), handlers=handlers, draws=draws)
