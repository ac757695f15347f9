"""Facts: text files that a model may answer from."""

import posixpath
from collections.abc import Mapping

from bot.core.text import estimate
from bot.keys.fields import Fields
from bot.lang.problems import did_you_mean

UNREADABLE = "\ufffd"  # stands in a document for bytes that are no text
WHOLE = 1500  # tokens: facts up to this length stand in every prompt, longer ones are searched


def read_facts(fields: Fields, documents: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Read `facts`: names of text files beside the flow's file. The files to search, if any, and all of their text."""
    folder = posixpath.dirname(fields.mark.path)
    names = [posixpath.normpath(posixpath.join(folder, name)) for name in fields.strings("facts")]
    for name in names:
        if name not in documents:
            near = did_you_mean(name, documents, "put the file there; it ends with .md or .txt")
            fields.problems.add("E113", fields.mark_of("facts"), f'{fields.what}: no file "{name}"', near)
        elif not documents[name].strip():
            what = f'{fields.what}: the file "{name}" is empty'
            fields.problems.add("E105", fields.mark_of("facts"), what, "write the facts into it, or leave it out")
        elif UNREADABLE in documents[name]:
            what = f'{fields.what}: the file "{name}" is not UTF-8'
            fields.problems.add("E001", fields.mark_of("facts"), what, "save the file as UTF-8")
    found = tuple(name for name in names if name in documents)
    text = "\n\n".join(documents[name].strip() for name in found)
    return (found if estimate(text) > WHOLE else (), text)
