"""Transitions: where something leads and what is said, set and tagged on the way, written the same everywhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

from bot.core.immutable import immutable
from bot.language.expressions.templates import Expression, Template
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import (
    EXPRESSION,
    NAME,
    STRINGS,
    TEMPLATE,
    WORDING,
    Form,
    KeySet,
    KeySpec,
    as_fields,
    either,
    map_of,
    nested,
    one_or_several,
    raw_node,
    shared,
)
from bot.language.keys.fields import NAME_PATTERN, Fields, entries_of, refuse_altered, template_of
from bot.language.keys.key_schemas import ANY, Schema, pattern
from bot.language.keys.patterns import PATTERN
from bot.language.keys.text_shapes import TEXT, Part
from bot.language.source.problems import Mark, Problems
from bot.language.source.word_matching import normalise
from bot.language.source.yaml_tree import List, Map, Node, Scalar, one_or_more, plain
from bot.language.types.variable import Variable

ALL = "all"
"""The name of all variables of the flow in `clear`; no variable has this name."""
NEXT, AGAIN, STAY, BACK, END, ROUTE = "next", "again", "stay", "back", "end", "route"
RESERVED = frozenset({NEXT, AGAIN, STAY, BACK, END, ROUTE})
TARGETS = "write a step, /flow, /flow/step, next, again, stay, back, end or route"


@immutable
class Target:
    """A step (``pay``), a flow (``/order``), a step of a flow (``/order/pay``) or a reserved word."""

    text: str
    mark: Mark

    @property
    def flow(self) -> str:
        """The flow in a target that begins with a slash: ``/order`` and ``/order/pay`` -> ``order``."""
        return self.text.removeprefix("/").partition("/")[0]


@immutable
class Assignment:
    """One ``name: value`` of a `set` or `with`. Texts in the value, however deep, are templates.

    ``altered`` is the value as it is written, where only the name's type tells whether it is a number
    (`refuse_altered`).
    """

    name: str
    value: Any
    mark: Mark
    altered: Scalar | None = None

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """The value: a template's with its type, anything else as it is written."""
        return evaluate(self.value, scope)

    def uses(self) -> Iterator[Template]:
        """Every template in the value."""
        return templates_in(self.value)


@immutable
class Cleared:
    """A variable that `clear` takes back to its first value; ``name`` is None for all variables of the flow."""

    name: str | None
    mark: Mark

    def among(self, variables: Mapping[str, Variable]) -> Iterator[Variable]:
        """The variables of a flow that it clears."""
        yield from (each for each in variables.values() if self.name is None or each.name == self.name)


def assigned(
    clear: Sequence[Cleared], given: tuple[Assignment, ...], variables: Mapping[str, Variable]
) -> tuple[Assignment, ...]:
    """The values that `clear` and a `set` beside it give to a flow's variables. `set` wins over `clear`."""
    if not clear:
        return given
    set_too = {item.name for item in given}
    starts = {
        each.name: Assignment(each.name, each.value, item.mark) for item in clear for each in item.among(variables)
    }
    return (*(start for name, start in starts.items() if name not in set_too), *given)


@immutable
class Transition:
    """A target, with what is said, asked, cleared, set, tagged, untagged and cancelled on the way there.

    ``corrects``: its target is a question whose answer is to be corrected; after the new answer, this step comes again.
    """

    mark: Mark
    then: Target | None = None
    say: Template | None = None
    ask: Template | None = None
    clear: tuple[Cleared, ...] = ()
    set: tuple[Assignment, ...] = ()
    tag: tuple[Template, ...] = ()
    untag: tuple[Template, ...] = ()
    cancel: tuple[Template, ...] = ()  # the names of what is not to start any more
    corrects: bool = False

    @property
    def target_text(self) -> str | None:
        """Its target as it is written; None if it has none."""
        return None if self.then is None else self.then.text

    @property
    def speaks(self) -> bool:
        """True if it has a target or a text of its own."""
        return self.then is not None or self.say is not None or self.ask is not None

    @property
    def acts(self) -> bool:
        """True if it does more than to lead somewhere."""
        return bool(self.say or self.ask or self.clear or self.set or self.tag or self.untag or self.cancel)

    def assigned(self, variables: Mapping[str, Variable]) -> tuple[Assignment, ...]:
        """The values that `clear` and `set` give, in a flow with these variables."""
        return assigned(self.clear, self.set, variables)

    def inheriting_from(self, inherited: Self | None) -> Self:
        """This transition, with missing keys from the inherited one: `say`, `ask` and `then` only together."""
        if inherited is None:
            return self
        leading = self if self.speaks else inherited
        return replace(
            leading,
            clear=self.clear or inherited.clear,
            set=self.set or inherited.set,
            tag=self.tag or inherited.tag,
            untag=self.untag or inherited.untag,
            cancel=self.cancel or inherited.cancel,
        )

    def uses(self) -> Iterator[Template | Expression]:
        """Every template of the transition."""
        yield from (text for text in (self.say, self.ask, *self.tag, *self.untag, *self.cancel) if text is not None)
        for item in self.set:
            yield from item.uses()


def target_of(node: Node, problems: Problems, what: str) -> Target | None:
    """Read a target. Whether it exists is checked when all flows are known."""
    if not isinstance(node, Scalar) or node.value is None:
        written = "a map" if isinstance(node, Map) else "a list" if isinstance(node, List) else "nothing"
        problems.add("E110", node.mark, f"{what}: a target is expected, YAML reads {written} here", TARGETS)
    elif not _is_target(node.text):
        problems.add("E110", node.mark, f'{what}: "{node.text}" is no target', _target_meant(node.text))
    else:
        return Target(node.text, node.mark)
    return None


def _is_target(text: str) -> bool:
    parts = text.removeprefix("/").split("/")
    return len(parts) <= (2 if text.startswith("/") else 1) and all(part.isidentifier() for part in parts)


def _target_meant(text: str) -> str:
    """The fix for a text that is no target."""
    meant = f"/{text.strip('/')}"
    if _is_target(meant):
        return f'did you mean "{meant}"?'
    if "://" in text:
        return "a target is a step or a flow; `link` of a `say` opens an address"
    return f"{TARGETS}; where a text is to be said, {{say: ...}}" if " " in text.strip() else TARGETS


def target_or_end(node: Node, problems: Problems, what: str) -> Target:
    """Read a target. Anything else is a problem, and is read as `end`, so that no second problem follows."""
    return target_of(node, problems, what) or Target(END, node.mark)


def transition_to(node: Node, problems: Problems, what: str) -> Transition:
    """Read the short form of a transition: a target."""
    return Transition(node.mark, then=target_or_end(node, problems, what))


def transition_from(fields: Fields) -> Transition:
    """Read the keys of a transition out of a map that may hold others as well."""
    corrects = _CORRECT.written(fields)
    if corrects and _THEN.written(fields):
        _THEN.report(fields, "E121", '"then" beside "correct"', "keep one: `correct` comes back by itself")
    return Transition(
        fields.mark,
        then=(_CORRECT if corrects else _THEN).read(fields),
        say=_SAY.read(fields),
        ask=_ASK.read(fields),
        clear=_CLEAR.read(fields),
        set=_SET.read(fields),
        tag=_TAG.read(fields),
        untag=_UNTAG.read(fields),
        cancel=_CANCEL.read(fields),
        corrects=corrects,
    )


def assignments(node: Node, problems: Problems, what: str, *, texts: bool = False) -> tuple[Assignment, ...]:
    """Read a map of names and values: texts are templates, anything else stands for itself.

    ``texts`` says that each value ends as a text; else the name's type tells (see `Assignment`).
    """
    entries = entries_of(node, problems, what, "{name: value}")
    return tuple(_assignment(name, item, problems, texts) for name, item in entries)


def _assignment(name: Scalar, node: Node, problems: Problems, texts: bool) -> Assignment:
    altered = None if texts else altered_in(node)
    if altered is None:
        refuse_altered(node, problems, number=not texts)
    return Assignment(name.text, value_of(node, problems), name.mark, altered)


def altered_in(node: Node) -> Scalar | None:
    """The value as it is written if YAML reads it as another number, else None."""
    return node if isinstance(node, Scalar) and node.altered else None


def value_of(node: Node, problems: Problems) -> Any:
    """A value as it is written, with a template for every text in it."""

    def of(scalar: Scalar) -> Any:
        return template_of(scalar, problems, "value") if isinstance(scalar.value, str) else scalar.value

    return plain(node, of)


def evaluate(value: Any, scope: Mapping[str, Any]) -> Any:
    """The value that `value_of` read, with every template in it rendered."""
    if isinstance(value, Template):
        return value.value(scope)
    if isinstance(value, list):
        return [evaluate(item, scope) for item in value]
    if isinstance(value, dict):
        return {key: evaluate(item, scope) for key, item in value.items()}
    return value


def templates_in(value: Any) -> Iterator[Template]:
    """Every template in what `value_of` read."""
    if isinstance(value, Template):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from templates_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from templates_in(item)


def _cleared_of(node: Node, problems: Problems, what: str) -> Cleared | None:
    name = NAME.read(node, problems, what)
    return None if name is None else Cleared(None if name == ALL else name, node.mark)


_RESERVED_ABOUT = {
    NEXT: "The next step of the file.",
    AGAIN: "The question once more: its buttons stay valid.",
    STAY: "The same step, which waits for another answer: this one counts as a wrong one.",
    BACK: "The question that was left without an answer; without one, the flow below.",
    END: "The end of this flow.",
    ROUTE: "The flow that this message starts, as if the contact were in no flow.",
}
_SUGGESTED = [{"label": name, "description": about, "body": name} for name, about in _RESERVED_ABOUT.items()]
TARGET: Schema = key_schemas.shared(
    "target", {**pattern(f"/?{NAME_PATTERN}|/{NAME_PATTERN}/{NAME_PATTERN}", TARGETS), "defaultSnippets": _SUGGESTED}
)
TARGET_FORM: Form[Target | None] = Form(TARGET, target_or_end)
ASSIGNMENTS: Form[tuple[Assignment, ...]] = map_of(raw_node(ANY), assignments, absent=())
TEXT_ASSIGNMENTS: Form[tuple[Assignment, ...]] = map_of(raw_node(ANY), partial(assignments, texts=True), absent=())
"""Each value ends as a text."""
TEXTS = shared("texts", STRINGS)
TEMPLATES = shared("texts", one_or_several(TEMPLATE))
_SAY = KeySpec("say", WORDING, "The bot sends this text.", texts=TEXT)
_ASK = KeySpec("ask", WORDING, "The question is asked in these words, with its choices.", texts=TEXT)
_CLEAR: KeySpec[tuple[Cleared, ...]] = KeySpec(
    "clear",
    shared("cleared", one_or_several(Form(NAME.schema, _cleared_of))),
    "Variables get their first value back: their names, or all for each that the flow declares.",
)
_SET = KeySpec("set", ASSIGNMENTS, "Variables get values, each worked out of what was known before.")
_UNTAG = KeySpec("untag", TEMPLATES, "The contact loses these tags, here and at the gateway.")
_TAG = KeySpec("tag", TEMPLATES, "The contact gets these tags, here and at the gateway.")
_CANCEL = KeySpec("cancel", TEMPLATES, "Cancels the flows that are scheduled under these names.")
EFFECTS = (_CLEAR, _SET, _UNTAG, _TAG, _CANCEL)
_THEN = KeySpec(
    "then", TARGET_FORM, "Where it leads: a step, /flow, /flow/step, next, again, stay, back, end or route."
)
_CORRECT = KeySpec(
    "correct",
    Form(TARGET, target_of),
    "An earlier question to be asked anew, from which one comes back here; in place of then.",
)
TRANSITION_KEYS = KeySet(_SAY, _ASK, *EFFECTS, _THEN, _CORRECT)
CONDITION = KeySpec("if", EXPRESSION, "It is there only where this is true.")
TO_TARGET = Form(TARGET, transition_to)
TRANSITION: Form[Transition | None] = shared("transition", either(TO_TARGET, nested(TRANSITION_KEYS, transition_from)))


@immutable
class Word:
    """One word, or the name of a signal, as it is written: where it leads, and the condition under which it counts.

    A word is also heard in each text that its ``pattern`` matches.
    """

    text: str
    mark: Mark
    transition: Transition
    condition: Expression | None = None
    pattern: Any = None

    def named(self, said: str) -> str:
        """The word as problems call it, with what is ``said`` for it in another language."""
        return f'word "{self.text}"' if normalise(self.text) == said else f'"{said}" of word "{self.text}"'

    def uses(self) -> Iterator[Template | Expression]:
        """Every template of its transition, and its condition."""
        yield from self.transition.uses()
        if self.condition is not None:
            yield self.condition


Words = Mapping[str, Word]
"""Words by how they are matched: normalised."""
Signals = Mapping[str, tuple[Word, ...]]
"""Signals by their names, each with its transitions in order: the first whose condition holds is taken."""


def _words_of(node: Node, problems: Problems, what: str) -> Words:
    """The words of a map, with their translations, which lead to the same target."""
    words: dict[str, Word] = {}
    for key, item in entries_of(node, problems, what, "{menu: /main}"):
        _add(_word_of(key, item, problems, f'word "{key.text}"', _WORD_KEYS), (key.text, *key.also), words, problems)
    return words


def _add(word: Word, texts: Iterable[str], words: dict[str, Word], problems: Problems) -> None:
    for text in texts:
        first = words.setdefault(normalise(text), word)
        if first is not word:
            what = f'"{text}" is taken: the word "{first.text}" means the same'
            problems.add("E312", word.mark, what, "keep one of them")


def _signals_of(node: Node, problems: Problems, what: str) -> Signals:
    entries = entries_of(node, problems, what, "{paid: thanks}")
    return {key.text: _heard_in_order(key, item, problems) for key, item in entries}


def _heard_in_order(key: Scalar, node: Node, problems: Problems) -> tuple[Word, ...]:
    what, several = f'signal "{key.text}"', isinstance(node, List)
    if several and not one_or_more(node):
        problems.add("E105", node.mark, f"{what}: the list is empty", "write {if: event.amount > 9, then: step}")
    heard: list[Word] = []
    for number, item in enumerate(one_or_more(node), 1):
        if heard and heard[-1].condition is None:
            fix = "put the one without `if` last"
            problems.add("E122", item.mark, f"{what}: transition {number} comes after one without `if`", fix)
        heard.append(_word_of(key, item, problems, f"{what}: transition {number}" if several else what, _SIGNAL_KEYS))
    return tuple(heard)


def _word_of(key: Scalar, node: Node, problems: Problems, what: str, keys: KeySet) -> Word:
    if isinstance(node, List):
        fix = "write one, and let it lead to a `branch` that tells the cases apart"
        problems.add("E106", node.mark, f"{what}: one transition is expected, this is a list", fix)
        return Word(key.text, key.mark, Transition(node.mark))
    if not isinstance(node, Map):
        return Word(key.text, key.mark, transition_to(node, problems, what))
    fields = keys.open(node, problems, what)
    heard = Word(key.text, key.mark, transition_from(fields), CONDITION.read(fields))
    return replace(heard, pattern=_pattern_of(fields)) if PATTERN in keys else heard


def _pattern_of(fields: Fields) -> Any:
    found = PATTERN.read(fields)
    if found is not None and found.groupindex:
        fix = "write ( in place of (?P<...>; `message.text` is the text that was written"
        PATTERN.report(fields, "E305", "a word's pattern gives no values", fix)
        return None
    return found


_SIGNAL_KEYS = KeySet(*TRANSITION_KEYS, CONDITION)
_WORD_KEYS = KeySet(*_SIGNAL_KEYS, PATTERN)
WORDS: Form[Words] = map_of(shared("word", either(TO_TARGET, as_fields(_WORD_KEYS))), _words_of, Part.WORD, absent={})
"""A transition for each word, which may have an `if` and a `pattern`."""
_HEARD = shared("signal", either(TO_TARGET, as_fields(_SIGNAL_KEYS)))
SIGNALS: Form[Signals | None] = map_of(one_or_several(_HEARD), _signals_of)
"""The same for each signal, by its name as it is; or a list of them."""
