"""``bot templates``."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.cli.shared.operate import AskGateway, bot_option, pages, reach_gateway, served_bot, store_of
from bot.cli.shared.output import counted, echo_json, path_from_here, styled
from bot.core.engine_requests import ListChatTemplates, ListTemplates

if TYPE_CHECKING:
    from bot.runtime.template_check import TemplateMisfit
    from bot.services.gateway.gateway_account import TemplateInfo

Item = Mapping[str, Any]


@click.command("templates")
@click.option("--check", is_flag=True, help="Check every template that the flows use against the list.")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects: the templates, or what does not fit.")
@click.pass_context
def command(ctx: click.Context, check: bool, folder: Path | None, as_json: bool) -> None:
    """List the message templates of the account's channel: name, language, category, status, components.

    --check checks every template that the flows use: it must be in the list, APPROVED, in that language, and have the
    components that the flow fills. The gateway's list does not say how many parameters a template has, but two
    places that fill the same template differently are reported.

    \b
      $ bot templates --check
      flows/book.yml:84:3: template "finish" (en) is PENDING (only an
      APPROVED one can be sent)
      1 problem

    Exit code 0: success. 1: a template does not fit, the gateway refused, or the settings are wrong.
    """
    with reach_gateway(folder) as ask:
        listed = both_lists(ask)
    if check:
        ctx.exit(_check(folder, listed, as_json))
    if as_json:
        echo_json(listed)
        return
    width = max((len(item["name"]) for item in listed), default=0)
    for item in listed:
        status = styled(f"{item['status'] or '?':9}", fg="green" if item["status"] == "APPROVED" else "yellow")
        parts = " ".join(item["components"])
        click.echo(f"{item['name']:{width}}  {item['language']:6}  {status}  {item['category']:14}  {parts}".rstrip())
    click.echo(f"{counted(len(listed), 'template')}." if listed else "The channel has no templates.")


def both_lists(ask: AskGateway) -> list[Item]:
    """The channel's templates, then those that only the paged list contains, which shows no status."""
    listed: dict[tuple[str, str], Item] = {}
    for item in (*ask(ListTemplates()).items, *pages(ask, ListChatTemplates)):
        listed.setdefault((item["name"], item["language"]), item)
    return list(listed.values())


def infos(listed: list[Item]) -> list["TemplateInfo"]:
    """Templates as the check takes them."""
    from bot.services.gateway.gateway_account import TemplateInfo

    return [TemplateInfo(**{**item, "components": tuple(item["components"])}) for item in listed]


def _check(folder: Path | None, listed: list[Item], as_json: bool) -> int:
    from bot.language.flow.library import template_uses
    from bot.loading.program import load_program
    from bot.runtime.template_check import misfits

    bot, store = store_of(folder)
    if differ := served_bot(bot, store)[1]:
        click.echo(f"{differ}: this command reads the files, `bot doctor` looks at what is served", err=True)
    uses = list(template_uses(load_program(bot).library))
    found = misfits(uses, infos(listed))
    certain = sum(misfit.certain for misfit in found)
    if as_json:
        echo_json([_plain(bot.path, misfit) for misfit in found])
        return 1 if certain else 0
    for misfit in found:
        plain = _plain(bot.path, misfit)
        place = styled(f"{plain['path']}:{plain['line']}:{plain['column']}:", bold=True)
        click.echo(f"{place} {'' if misfit.certain else styled('perhaps: ', fg='yellow')}{misfit.what} ({misfit.fix})")
    places = counted(len(uses), "place")
    click.echo(styled(counted(certain, "problem"), fg="red") if certain else f"No problem in {places} with a template.")
    return 1 if certain else 0


def _plain(folder: Path, misfit: "TemplateMisfit") -> dict[str, Any]:
    mark = misfit.mark
    place = {"path": path_from_here(folder, mark.path), "line": mark.line, "column": mark.column}
    return {**place, "what": misfit.what, "fix": misfit.fix, "certain": misfit.certain}
