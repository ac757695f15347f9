"""Every template of the gateway's that a bot's files name, and where."""

from collections.abc import Iterator
from dataclasses import dataclass

from bot.flow.library import Library
from bot.lang.nodes import Mark
from bot.steps.declared import SentTemplate
from bot.steps.notice import Notice


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """One place that names a template: the mark is its step's, or that of the flow or bot whose defaults name it.

    ``replies`` are the titles of the quick reply buttons that the step waits for.
    """

    mark: Mark
    notice: Notice
    replies: tuple[str, ...] = ()


def template_uses(library: Library) -> Iterator[TemplateUse]:
    """Every place that names a template, in every language; an inherited `window_closed` only where it is written."""
    seen = set()
    for spoken in (library, *library.translations.values()):
        for use in _written_uses(spoken):
            named = (use.mark, use.notice.name, use.notice.language, use.replies)
            if named not in seen:
                seen.add(named)
                yield use


def _written_uses(library: Library) -> Iterator[TemplateUse]:
    inherited = library.bot.defaults.window_closed
    if inherited is not None:
        yield TemplateUse(library.bot.mark, inherited)
    for flow in library.flows.values():
        of_flow = flow.defaults.window_closed
        if of_flow is not None and of_flow is not inherited:
            yield TemplateUse(flow.mark, of_flow)
        for step in flow.steps.values():
            own = step.defaults.window_closed
            if own is not None and own is not inherited and own is not of_flow:
                yield TemplateUse(step.mark, own)
            for sent in step.kind.sends():
                if isinstance(sent, SentTemplate):
                    yield TemplateUse(step.mark, sent.notice, sent.replies)
