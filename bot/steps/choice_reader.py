"""Reading what a question offers: `options`, `buttons` and `list`."""

from bot.core import messages as limits
from bot.lang.fields import Fields, text_of
from bot.lang.nodes import List, Map, Node, Scalar
from bot.lang.problems import Problems
from bot.lang.templates import compile_template
from bot.steps.choices import Choices, FixedChoice, MadeChoices
from bot.steps.doors import Door, door_from, target_of, value_of


def read_choices(fields: Fields) -> Choices | None:
    """Read whichever of `options`, `buttons` and `list` the step has; two of them are a problem."""
    found = [key for key in ("options", "buttons", "list") if fields.has(key)]
    for extra in found[1:]:
        fields.raw(extra)
        fields.problems.add(
            "E121", fields.mark_of(extra), f'{fields.what}: "{extra}" beside "{found[0]}"', "keep one of them"
        )
    if not found:
        return None
    form = found[0]
    node = fields.raw(form)
    if node is None:
        return None
    what = f"{fields.what}: {form}"
    return _read_list(node, fields.problems, what) if form == "list" else _read_flat(form, node, fields.problems, what)


def _read_flat(form: str, node: Node, problems: Problems, what: str) -> Choices:
    if isinstance(node, Map) and node.get("from") is not None:
        fields = Fields(node, problems, what)
        made = _read_made(fields)
        extra = fields.raw("extra")
        fixed = () if extra is None else _read_fixed(extra, problems, what)
        fields.close()
        return Choices(form, node.mark, fixed, made)
    fixed = _read_fixed(node, problems, what)
    if form == "buttons" and len(fixed) > limits.BUTTONS:
        problems.add(
            "E401", fixed[limits.BUTTONS].mark, f"{what}: {len(fixed)} buttons, {limits.BUTTONS} are allowed",
            "use a list",
        )  # fmt: skip
    return Choices(form, node.mark, fixed)


def _read_list(node: Node, problems: Problems, what: str) -> Choices:
    fields = Fields(node, problems, what)
    opener = fields.template("button")
    made: MadeChoices | None = None
    fixed: tuple[FixedChoice, ...] = ()
    rows, sections, extra = fields.raw("rows"), fields.fields("sections"), fields.raw("extra")
    if isinstance(rows, Map) and rows.get("from") is not None:
        inner = Fields(rows, problems, f"{what}: rows")
        made = _read_made(inner)
        inner.close()
    elif rows is not None:
        fixed += _read_fixed(rows, problems, f"{what}: rows")
    if sections is not None:
        for title, members in sections.entries():
            _check_section(title, members, problems, what)
            fixed += _read_fixed(members, problems, what, title.text)
    if rows is None and sections is None and isinstance(node, Map):
        problems.add("E105", node.mark, f'{what}: "rows" or "sections" is missing', "add the rows to choose from")
    if extra is not None:
        fixed += _read_fixed(extra, problems, f"{what}: extra")
    fields.close()
    return Choices("list", node.mark, fixed, made, opener)


def _check_section(title: Scalar, members: Node, problems: Problems, what: str) -> None:
    if len(title.text) > limits.SECTION_TITLE:
        problems.add(
            "E402",
            title.mark,
            f'{what}: section "{title.text}" has {len(title.text)} characters, {limits.SECTION_TITLE} are allowed',
            "shorten it",
        )
    count = len(members.entries) if isinstance(members, Map) else len(members.items) if isinstance(members, List) else 1
    if count > limits.ROWS_PER_SECTION:
        problems.add(
            "E401", members.mark, f"{what}: {count} rows in one section, {limits.ROWS_PER_SECTION} are allowed",
            "divide them into sections",
        )  # fmt: skip


def _read_made(fields: Fields) -> MadeChoices | None:
    source = fields.expression("from")
    title = fields.template("title")
    if title is None:
        title = compile_template("{{ it }}", fields.mark, fields.problems)
    value, about = fields.template("value"), fields.template("about")
    return None if source is None else MadeChoices(source, title, value, about)


def _read_fixed(node: Node, problems: Problems, what: str, section: str = "") -> tuple[FixedChoice, ...]:
    match node:
        case List(items=items):
            found = [_plain_choice(item, problems, what, section) for item in items]
        case Map(entries=entries):
            found = [_named_choice(key, value, problems, what, section) for key, value in entries]
        case _:
            problems.add(
                "E106", node.mark, f"{what}: choices are expected", 'write "Title: target" or a list of titles'
            )
            found = []
    return tuple(choice for choice in found if choice is not None)


def _plain_choice(node: Node, problems: Problems, what: str, section: str) -> FixedChoice | None:
    """An option in a plain list saves its title."""
    text = text_of(node, problems, what)
    if text is None:
        return None
    title = compile_template(text, node.mark, problems)
    return FixedChoice(title, node.mark, None, title, True, section=section)


def _named_choice(key: Scalar, node: Node, problems: Problems, what: str, section: str) -> FixedChoice | None:
    """``Title: target`` saves nothing; ``Title: {value, ...}`` saves the value."""
    what = f'{what}: "{key.text}"'
    title = compile_template(key.text, key.mark, problems)
    if isinstance(node, Scalar):
        target = target_of(node, problems, what)
        return None if target is None else FixedChoice(title, key.mark, Door(node.mark, then=target), section=section)
    fields = Fields(node, problems, what)
    value = fields.raw("value")
    choice = FixedChoice(
        title,
        key.mark,
        door_from(fields),
        value_of(value, problems) if isinstance(value, Scalar) else None,
        value is not None,
        fields.template("about"),
        fields.strings("words"),
        section,
    )
    if value is not None and not isinstance(value, Scalar):
        problems.add("E106", value.mark, f"{what}: value is one text, number or true/false", "write it on one line")
    fields.close()
    return choice
