"""``bot console``."""

import sys

import click

from bot.settings.setting_values import CONSOLE_ROLES, console_users


@click.group("console")
def command() -> None:
    """Make users of the console: the pages of the live bot that `bot serve --console` serves.

    \b
      $ bot console password
    """


@command.command("password", short_help="Make a user of the console.")
@click.option("--name", prompt="Name", help="The user's name: letters, digits and . _ - @")
@click.option("--role", prompt="Role", type=click.Choice(CONSOLE_ROLES), help="The user's rights.")
@click.option("--team", "teams", multiple=True, help="A team of the user's, by which the inbox can be filtered.")
def password(name: str, role: str, teams: tuple[str, ...]) -> None:
    """Ask for a name, a role and a password, and print the entry for BOT_CONSOLE_USERS.

    A viewer sees where conversations are, without numbers and texts. An agent also reads them, and answers in the bot's
    place. An operator may do everything. The password is asked for twice; without a terminal it is the first line of
    the input. It is printed nowhere, and kept nowhere but as its hash.

    \b
      $ bot console password
      $ bot console password --team support --team sales
      $ pass show console/anna | bot console password --name anna --role operator

    Exit code 0: success. 1: the name or the password cannot be used.
    """
    from bot.pages.console.passwords import SHORTEST, hashed, read_password
    from bot.pages.console.users import entry_of

    if sys.stdin.isatty():
        asked = f"Password, {SHORTEST} characters or more"
        given = click.prompt(asked, hide_input=True, confirmation_prompt=True, err=True)
    else:
        given = sys.stdin.readline().rstrip("\r\n")
    entry = entry_of(name.strip(), role, teams, hashed(read_password(given)))
    try:
        console_users(entry)
    except ValueError:
        raise click.ClickException(f'"{name}" is no name for a user: write letters, digits and . _ - @') from None
    click.echo(
        "Write this into .env; entries of several users stand between the same quotes, with spaces between them:",
        err=True,
    )
    click.echo(f"BOT_CONSOLE_USERS='{entry}'")
