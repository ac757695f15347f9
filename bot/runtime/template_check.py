"""Compares a bot's templates with the gateway's list: would a message of each be taken? (spec: Template-send errors)"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.core.immutable import immutable
from bot.language.flow.library import Library, TemplateUse, template_uses
from bot.language.source.problems import Mark, did_you_mean
from bot.language.steps.template_message import TemplateToSend
from bot.services.gateway.gateway_account import TemplateInfo

APPROVED = "APPROVED"

Known = Mapping[str, Mapping[str, TemplateInfo]]


@immutable
class TemplateMisfit:
    """Why the gateway would refuse a template as a flow fills it; where not ``certain``, why it might."""

    mark: Mark
    what: str
    fix: str
    certain: bool = True


def misfits(uses: Iterable[TemplateUse], listed: Iterable[TemplateInfo]) -> list[TemplateMisfit]:
    """Everything about a bot's templates that does not fit the gateway's, by file, line and column.

    The list says which components a template has, and not how many parameters or of which type: two places
    that fill one template differently are found all the same, since one of them must be wrong.
    """
    uses, known = list(uses), _by_name(listed)
    found = {*(misfit for use in uses for misfit in _against_list(use, known)), *_against_each_other(uses)}
    return sorted(found, key=lambda misfit: (misfit.mark.position, misfit.what))


def misfits_of(use: TemplateUse, others: Iterable[TemplateUse], listed: Iterable[TemplateInfo]) -> list[TemplateMisfit]:
    """The misfits of one use, as the check of it and of the ``others`` finds them. Its mark differs from theirs."""
    return [misfit for misfit in misfits([*others, use], listed) if misfit.mark == use.mark]


def places_filled(library: Library) -> list[dict[str, Any]]:
    """How the flows fill each template (``name``, ``language``): the kind of its ``header``, if any, and how many texts
    its ``body`` has.
    """
    found = {}
    for use in template_uses(library):
        notice = use.notice
        header = None if notice.header is None else notice.header.kind
        found[notice.name, notice.language] = {"header": header, "body": len(notice.body)}
    return [{"name": name, "language": language, **places} for (name, language), places in found.items()]


def _by_name(listed: Iterable[TemplateInfo]) -> Known:
    known: dict[str, dict[str, TemplateInfo]] = {}
    for registered in listed:
        known.setdefault(registered.name, {})[registered.language] = registered
    return known


def _against_list(use: TemplateUse, known: Known) -> Iterator[TemplateMisfit]:
    notice = use.notice
    what = f'template "{notice.name}"'
    languages = known.get(notice.name)
    if languages is None:
        fix = did_you_mean(notice.name, known, "`bot templates` lists those there are")
        yield TemplateMisfit(use.mark, f"{what} is not in the gateway's list", fix)
        return
    registered = languages.get(notice.language)
    if registered is None:
        yield TemplateMisfit(
            use.mark, f'{what} has no language "{notice.language}"', f"it has {', '.join(sorted(languages))}"
        )
        return
    if registered.status and registered.status != APPROVED:
        yield TemplateMisfit(
            use.mark, f"{what} ({notice.language}) is {registered.status}", "only an APPROVED one can be sent"
        )
    if registered.components:
        yield from _against_components(use, frozenset(registered.components))


def _against_components(use: TemplateUse, components: frozenset[str]) -> Iterator[TemplateMisfit]:
    notice, what = use.notice, f'template "{use.notice.name}" ({use.notice.language})'
    filled = {
        "HEADER": notice.header is not None,
        "BODY": bool(notice.body),
        "BUTTONS": bool(notice.buttons or use.replies),
    }
    for component, fills in filled.items():
        if fills and component not in components:
            has = ", ".join(sorted(components))
            yield TemplateMisfit(use.mark, f"{what} has no {component}, which is filled here", f"it has {has}")
    if "HEADER" in components and notice.header is None:
        fix = "write what fills it as `header`, or `header: []` if nothing does and the gateway insists on it"
        yield TemplateMisfit(use.mark, f"{what} has a HEADER, which is not filled here", fix, certain=False)


def _against_each_other(uses: Sequence[TemplateUse]) -> Iterator[TemplateMisfit]:
    first: dict[tuple[str, str], TemplateUse] = {}
    for use in uses:
        other = first.setdefault((use.notice.name, use.notice.language), use)
        if _filling(use.notice) != _filling(other.notice):
            yield TemplateMisfit(
                use.mark,
                f'template "{use.notice.name}" ({use.notice.language}) gets {_filling(use.notice)}, '
                f"but {_filling(other.notice)} at {other.mark.path}:{other.mark.line}",
                "one of the two will be refused: compare both with the template",
            )


def _filling(notice: TemplateToSend) -> str:
    header = f"a header ({notice.header.kind})" if notice.header is not None else "no header"
    links = f" and {len(notice.buttons)} in buttons" if notice.buttons else ""
    return f"{header}, {len(notice.body)} in the body{links}"
