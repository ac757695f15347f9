"""Rasa: a CALM assistant becomes a bot, each flow a flow."""

from collections.abc import Iterator, Sequence

from bot.cli.importing.conversations import SourceConversation
from bot.cli.importing.imported import ExportFile, ImportedBot
from bot.cli.importing.rasa.interpreting import CalmRun, calm_runs, run_of_test
from bot.cli.importing.rasa.reading import is_rasa, read_assistant
from bot.cli.importing.rasa.translating import CalmTranslation


def recognises(files: Sequence[ExportFile]) -> bool:
    """Whether one of these files belongs to an assistant of Rasa's."""
    return any(is_rasa(file.data) for file in files)


def import_bot(files: Sequence[ExportFile]) -> ImportedBot:
    """A bot with all flows of an assistant. Raises `UnreadableExport`."""
    assistant = read_assistant(files)
    bot = ImportedBot("Rasa", "assistant")
    translation = CalmTranslation(assistant, bot)
    translation.translate()
    runs = {
        name: list(calm_runs(assistant, flow)) for name, flow in assistant.flows.items() if name in translation.flows
    }
    bot.conversations += _conversations(translation, runs)
    return bot


def _conversations(translation: CalmTranslation, runs: dict[str, list[CalmRun]]) -> Iterator[SourceConversation]:
    for name, listed in runs.items():
        if name not in translation.called:
            for number, run in enumerate(listed, start=1):
                yield _conversation(f"{name} {number}", name, run, translation)
    for test in translation.assistant.tests:
        place = f"test > {test.name}"
        found = next(
            ((name, run) for name, each in runs.items() if (run := run_of_test(each, test, translation.assistant))), None
        )
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
