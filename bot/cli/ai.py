"""``bot ai``."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.shared.operate import bot_option, load_env
from bot.cli.shared.output import counted, echo_json
from bot.core.text import printable
from bot.language.source.problems import did_you_mean
from bot.loading.folder import find_bot, read_folder

if TYPE_CHECKING:
    from bot.services.ai.ai_client import ChatRequest, Completion, Completions


@contextmanager
def model_service(folder: Path | None) -> Iterator[tuple["Completions", tuple[str, ...]]]:
    """The chat-completion service of a bot's settings, and its models. Raises `NoBot` and `BadSettings`."""
    from bot.services.ai.ai_client import Completions
    from bot.settings import read_model_service

    bot = read_folder(find_bot(folder))
    load_env(bot.path)
    settings = read_model_service(os.environ, bot.settings())
    with closing(Completions(settings.url, settings.key, key_in=settings.key_in)) as service:
        yield service, settings.models


def check_models(service: "Completions", models: Sequence[str]) -> None:
    """Raise `click.UsageError` for a model that the service does not list."""
    from bot.services.ai.ai_errors import CompletionError

    try:
        listed = [model.id for model in service.models()]
    except CompletionError:
        return  # a request to a model reports what is wrong
    if listed and (unknown := [model for model in models if model not in listed]):
        fix = did_you_mean(unknown[0], listed, "`bot models` lists them")
        raise click.UsageError(f'there is no model "{unknown[0]}" ({fix})')


@click.command("ai")
@click.argument("question")
@click.option("--model", metavar="SLUG", help="The model; else the first of BOT_AI_MODEL.")
@click.option("--stream", is_flag=True, help="Print the answer as it arrives.")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: text, model, finish, usage.")
def command(question: str, model: str | None, stream: bool, folder: Path | None, as_json: bool) -> None:
    """Ask a model QUESTION and print the answer, to test the key and the model. It sends one request and runs no flow.

    \b
      $ bot ai "What is the capital of France?" --stream

    The answer goes to standard output, the model and the number of tokens to standard error.

    Exit code 0: the model answered. 1: the service failed, or the settings are wrong.
    """
    from bot.services.ai.ai_client import ChatRequest
    from bot.services.ai.ai_errors import InvalidRequest

    if stream and as_json:
        raise click.UsageError("--stream prints text: leave out --json")
    with model_service(folder) as (service, models):
        if model is None and not models:
            raise click.UsageError("which model? Write --model SLUG, or set BOT_AI_MODEL: `bot models` lists them")
        request = ChatRequest(model or models[0], [{"role": "user", "content": question}])
        try:
            answer = _streamed(service, request) if stream else service.complete(request)
        except InvalidRequest:
            check_models(service, (request.model,))
            raise
    if as_json:
        echo_json(_plain(answer))
        return
    if not stream:
        click.echo(printable(answer.text))
    click.echo(_about(answer), err=True)


def _streamed(service: "Completions", request: "ChatRequest") -> "Completion":
    with service.stream(request) as pieces:
        for piece in pieces:
            click.echo(printable(piece), nl=False)
        click.echo()
    return pieces.completion


def _plain(answer: "Completion") -> dict[str, object]:
    used = answer.usage
    tokens = {"prompt": used.prompt_tokens, "completion": used.completion_tokens, "estimated": used.estimated}
    return {"text": answer.text, "model": answer.model, "finish": answer.finish, "usage": tokens}


def _about(answer: "Completion") -> str:
    from bot.services.ai.chat_completion import FILTERED

    used = answer.usage
    about = "about " if used.estimated else ""
    cut = {"length": ", cut at its longest", FILTERED: ", cut by the service's filter"}.get(answer.finish, "")
    return f"{answer.model}: {used.prompt_tokens} + {about}{counted(used.completion_tokens, 'token')}{cut}"
