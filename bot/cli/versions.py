"""``bot versions``."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from difflib import unified_diff
from pathlib import Path

import click

from bot.cli.shared.operate import NUMBER, bot_option, store_of
from bot.cli.shared.output import echo_json, echo_lines, local_time, styled
from bot.loading.folder import Folder


@click.command("versions")
@click.argument("number", metavar="[N]", required=False, type=NUMBER)
@bot_option
@click.option("-n", "limit", metavar="N", type=NUMBER, default=20, show_default=True, help="At most N versions.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
def command(number: int | None, folder: Path | None, limit: int, as_json: bool) -> None:
    """List the versions that were published, the newest first: when, by whom, why, and how many files differ from the
    one before.

    With N, show what differs in the files of version N from the one before.

    \b
      $ bot versions
      $ bot versions 7

    Exit code 0: success. 1: there is no store yet, or no such version.
    """
    from bot.store.published_versions import files_of, history, served_version, version_before
    from bot.store.store_reader import StoreReader

    bot, store = store_of(folder)
    with closing(StoreReader(store)) as reader:
        if number is not None:
            files, before = files_of(reader.database, number, bot.path), version_before(reader.database, number)
            old = Folder(bot.path, (), ()) if before is None else files_of(reader.database, before.number, bot.path)
            echo_lines(_difference(old, files))
            return
        listed, served = history(reader.database, bot.path, limit), served_version(reader.database)
    if as_json:
        echo_json(
            [
                asdict(version) | {"served": version == served, "files": changes and asdict(changes)}
                for version, changes in listed
            ]
        )
        return
    for version, changes in listed:
        what = "each server follows its own files" if changes is None else str(changes)
        note = f"  {version.note}" if version.note else ""
        mark = styled("  (served)", fg="green") if version == served else ""
        click.echo(f"{version.number:>4}  {local_time(version.at)}  {version.by}  {what}{note}{mark}")
    if served is None:
        click.echo(
            "Servers follow the files of their folders: saved changes are served at once (`bot publish` ends that)."
        )


def _difference(before: Folder, after: Folder) -> Iterator[str]:
    """The lines that differ, as `diff -u` shows them. A picture or another file that is no text only differs."""
    old, new = ({source.path: source.text for source in each.files} for each in (before, after))
    for path in sorted(path for path in old | new if old.get(path) != new.get(path)):
        contents = old.get(path, b""), new.get(path, b"")
        if b"\0" in contents[0] + contents[1]:
            yield f"Binary files a/{path} and b/{path} differ"
            continue
        were, are = (content.decode("utf-8", "replace").splitlines() for content in contents)
        yield from unified_diff(were, are, f"a/{path}", f"b/{path}", lineterm="")
