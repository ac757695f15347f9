"""The JSON Schema of all documents of a bot together, for editors."""

from collections.abc import Mapping
from typing import Any

from bot.language.flow.bot_file import bot_schema
from bot.language.flow.flow_file import flow_schema
from bot.language.keys.key_schemas import Schema, whole, with_key
from bot.language.python.verbs import VerbSpec
from bot.language.steps.custom_steps import all_kinds
from bot.settings import settings_form
from bot.testing.conversations.transcript import KnownNames
from bot.testing.conversations.transcript_reader import document_keys


def documents_schema(verbs: Mapping[str, VerbSpec]) -> dict[str, Any]:
    """The JSON Schema of a bot's documents, which say by their keys what they are. ``verbs`` are the bot's own.

    A document without its first key may become any of them.
    """
    tests = (document_keys(KnownNames(evaluates=evaluates)) for evaluates in (False, True))
    documents = {"flow": flow_schema(all_kinds(verbs))} | {keys.keys[0].name: keys.schema() for keys in tests}
    bot = bot_schema(settings_form())
    first = {name: of["properties"][name] for name, of in documents.items()}
    found: Schema = {**bot, "properties": {**first, **bot["properties"]}}
    for name, of in reversed(documents.items()):
        found = with_key(name, of, found)
    return whole(found)
