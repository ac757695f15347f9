"""``bot locales``."""

from collections.abc import Mapping
from pathlib import Path

import click

from bot.cli.shared.operate import CommandRefused, bot_option
from bot.cli.shared.output import counted, echo_json, path_from_here, problem_lines, styled
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.flow.documents import LOCALES, language_of, read_documents
from bot.language.flow.translations import Locale, Originals, all_spots, extracted, read_translations, wording_spots
from bot.language.keys.text_shapes import Spot, texts_of
from bot.language.source.problems import CODES, Mark, Problems
from bot.language.source.yaml_tree import Map, plain
from bot.language.steps.custom_steps import all_kinds
from bot.loading.folder import Folder, find_bot, read_folder, replace_files

_NOT_THERE = "E104"  # a key of a locale that the flows do not have any more
_CODE = lazy_pattern("[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


class UnreadableTexts(BotError):
    """The bot's files cannot be read, so the texts to translate are not known."""


@immutable
class _Spoken:
    """A bot's languages beside that of the flows, and their translations."""

    folder: Folder
    written: str  # the language of the flows; empty where bot.yml names none
    languages: tuple[str, ...]
    locales: Mapping[str, Locale]
    texts: tuple[Spot, ...]
    noted: Mapping[str, Originals]  # the originals that each file has beside its translations

    def locale(self, language: str) -> Locale:
        return self.locales.get(language, Locale(language))

    def spots(self, language: str) -> list[Spot]:
        return [*self.texts, *wording_spots(language, Mark(LOCALES, 1, 1))]

    def missing(self, language: str) -> list[Spot]:
        return list(self.locale(language).missing(self.spots(language)))

    def count(self, language: str) -> int:
        return sum(spot.required for spot in self.spots(language))


@click.group("locales")
def command() -> None:
    """The bot's texts in other languages: the files in locales/, one for each language.

    \b
      $ bot locales extract id
      locales/id.yml: 45 texts, 3 of them to be translated.
      $ bot locales missing id
    """


@command.command("extract", short_help="Write or update a language's file.")
@click.argument("language")
@bot_option
def extract(language: str, folder: Path | None) -> None:
    """Write locales/LANGUAGE.yml with every text that contacts read, in the order of the flows.

    Each text has the original above it. Existing translations are kept. New texts are empty, and contacts get them in
    the flows' own language until you translate them. Texts that the flows no longer contain are kept at the end, as
    comments. If an original has changed, the old one is below the new one as `# was: ...`: remove that line when the
    translation is correct. Other comments are lost.

    \b
      $ bot locales extract id
      locales/id.yml: 45 texts, 3 of them to be translated.

    Exit code 1: the bot's files, or the language's, cannot be read.
    """
    if not _CODE.fullmatch(language):
        raise click.BadParameter(f"{language!r} is not a language code such as en, id or pt-BR")
    spoken = _read(folder)
    if language == spoken.written:
        raise CommandRefused(f"the flows are written in {language}: there is nothing to translate")
    if language == "en" and not spoken.written:
        raise CommandRefused("the flows' language may be en itself: name it in bot.yml first, such as languages: [id]")
    path = _file_of(spoken.folder, language)
    before = path.read_bytes() if path.exists() else None
    noted = spoken.noted.get(language, Originals())
    written = "" if before is None else before.decode()
    after = extracted(spoken.spots(language), spoken.locale(language), written, noted)
    replace_files(spoken.folder.path, {path.relative_to(spoken.folder.path).as_posix(): (before, after.encode())})
    needed, missing = spoken.count(language), len(spoken.missing(language))
    click.echo(f"{path_from_here(Path(), str(path))}: {counted(needed, 'text')}, {missing} of them to be translated.")
    if language not in spoken.languages:
        known = ", ".join((spoken.written or "en", *spoken.languages, language))
        click.echo(f"Add the language to bot.yml, the flows' language first: languages: [{known}]")


@command.command("missing", short_help="List missing translations.")
@click.argument("language", required=False)
@bot_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print a list of objects: language, path, line, column, key, text."
)
@click.pass_context
def missing(ctx: click.Context, language: str | None, folder: Path | None, as_json: bool) -> None:
    """List the texts without a translation into LANGUAGE (or any of the bot's languages), and their places in the
    flows.

    \b
      $ bot locales missing id
      flows/main.yml:9:10: id: main.menu.ask: "How can we help?"
      1 text is missing.

    Exit code 0: nothing is missing. 1: translations are missing.
    """
    spoken = _read(folder)
    languages = spoken.languages if language is None else (language,)
    found = [(each, spot) for each in languages for spot in spoken.missing(each)]
    if as_json:
        echo_json([_as_object(spoken.folder, each, spot) for each, spot in found])
    else:
        for each, spot in found:
            line = _as_object(spoken.folder, each, spot)
            place = styled(f"{line['path']}:{line['line']}:{line['column']}:", bold=True)
            click.echo(f'{place} {each}: {line["key"]}: "{line["text"]}"')
        verb = "is" if len(found) == 1 else "are"
        click.echo(f"{counted(len(found), 'text')} {verb} missing.")
    ctx.exit(1 if found else 0)


@command.command("stats", short_help="Count translations.")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects: language, texts, translated.")
def stats(folder: Path | None, as_json: bool) -> None:
    """Count the translated texts of each language of the bot.

    \b
      $ bot locales stats
      id     42 of 45  93 %
    """
    spoken = _read(folder)
    counts = [(each, spoken.count(each), len(spoken.missing(each))) for each in spoken.languages]
    if as_json:
        echo_json([{"language": each, "texts": all, "translated": all - missing} for each, all, missing in counts])
        return
    for each, needed, missing in counts:
        share = 100 * (needed - missing) // needed if needed else 100
        click.echo(f"{each:6} {needed - missing:,} of {needed:,}  {share} %")
    if not counts:
        click.echo("The bot has one language. Add others to bot.yml, the flows' language first: languages: [en, id]")


def _read(folder: Path | None) -> _Spoken:
    """A bot's texts and locales. Raises `UnreadableTexts` where something of them would be left out."""
    from bot.loading.program import load_handlers

    bot, problems = read_folder(find_bot(folder)), Problems()
    extensions, _ = load_handlers(bot)
    documents = read_documents(bot.sources, problems)
    locales = read_translations(documents, extensions, problems).locales
    if problems.any_of(CODES.keys() - {_NOT_THERE}):
        raise UnreadableTexts("\n".join(problem_lines(bot.path, problems.sorted())))
    languages = _languages(documents.bots[0]) if documents.bots else ()
    others = tuple(dict.fromkeys((*languages[1:], *(each for each in documents.locales if each not in languages))))
    written = languages[0] if languages else ""
    texts = {source.path: source.text.decode("utf-8-sig") for source in bot.sources}
    noted = {language: Originals.of(node, texts[node.mark.path]) for language, node in documents.locales.items()}
    return _Spoken(bot, written, others, locales, all_spots(documents, all_kinds(extensions.verbs)), noted)


def _languages(bot: Map) -> tuple[str, ...]:
    written = bot.get("languages")
    value = None if written is None else plain(written)
    return tuple(map(str, value if isinstance(value, list) else [] if value is None else [value]))


def _file_of(folder: Folder, language: str) -> Path:
    """The language's file, which may not exist yet."""
    known = (source.path for source in folder.sources if language_of(source.path) == language)
    return folder.path / next(known, f"{LOCALES}/{language}.yml")


def _as_object(folder: Folder, language: str, spot: Spot) -> dict[str, object]:
    mark = spot.node.mark
    return {
        "language": language,
        "path": path_from_here(folder.path, mark.path),
        "line": mark.line,
        "column": mark.column,
        "key": ".".join(spot.path),
        "text": " ".join(" ".join(texts_of(spot.node)).split()),
    }
