"""RapidPro, TextIt, Glific and goflow: flows of version 13 and later, older ones as far as they can be read."""

from collections.abc import Sequence

from bot.cli.importing.imported import ExportFile, ImportedBot, UnreadableExport
from bot.cli.importing.rapidpro.reading import RapidProExport, has_flows, read_files
from bot.cli.importing.rapidpro.translating import BotTranslation


def recognises(files: Sequence[ExportFile]) -> bool:
    """True if a file has flows of RapidPro."""
    return any(has_flows(file.data) for file in files)


def import_bot(files: Sequence[ExportFile]) -> ImportedBot:
    """Import the flows, and the recorded runs. Raises `UnreadableExport`."""
    try:
        return _imported(read_files(files))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        names = ", ".join(str(file.path) for file in files[:3])
        raise UnreadableExport(
            f"{names}: a part has another form than RapidPro writes ({error}): export it again"
        ) from error


def _imported(export: RapidProExport) -> ImportedBot:
    flows = list(export.flows.values())
    bot = ImportedBot("RapidPro", flows[0].name if len(flows) == 1 else f"{flows[0].name} and {len(flows) - 1} more")
    BotTranslation(export, bot).translate()
    return bot
