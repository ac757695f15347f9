"""The importer of exports from Typebot, of versions 3 to 6."""

from collections.abc import Sequence

from bot.cli.importing.imported import ExportFile, ImportedBot
from bot.cli.importing.typebot.interpreting import conversations_of
from bot.cli.importing.typebot.reading import is_export, read
from bot.cli.importing.typebot.translating import TypebotTranslator


def recognises(files: Sequence[ExportFile]) -> bool:
    """Return whether all files are Typebot exports."""
    return bool(files) and all(is_export(file.data) for file in files)


def import_bot(files: Sequence[ExportFile]) -> ImportedBot:
    """Import a bot, and other bots that it links to: the first file is the one that contacts write to."""
    exports = [read(str(file.path), file.data) for file in files]
    translator = TypebotTranslator(exports)
    by_id = {export.id: export for export in exports}
    for flow, export, block in translator.roots:
        is_main = block is exports[0].first
        translator.bot.conversations += conversations_of(by_id, export, block, flow, translator.handlers, is_main)
    return translator.bot
