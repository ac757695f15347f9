"""A file of conversations with a person's verdicts, by which a judge is measured."""

from pathlib import Path

from bot.core.immutable import immutable
from bot.language.keys.declared_keys import STRING, STRINGS, Form, KeySet, KeySpec, one_of
from bot.language.keys.fields import items_of, text_of
from bot.language.keys.key_schemas import ANY, list_of
from bot.language.source.problems import Mark, Problem, Problems
from bot.language.source.yaml_tree import Map, Node, read
from bot.testing.conversations.spoken_lines import SpokenLine

_WHO = ("user", "bot", "tap", "pick")


@immutable
class JudgedCase:
    """A question about a conversation, and a person's verdict: whether the answer is yes.

    ``facts`` are what the chatbot was told.
    """

    mark: Mark
    talk: tuple[SpokenLine, ...]
    question: str
    verdict: bool
    facts: tuple[str, ...] = ()


def read_cases(path: Path) -> tuple[list[JudgedCase], list[Problem]]:
    """The cases in a file, and all problems in it. Raises `OSError`."""
    problems = Problems()
    documents = read(str(path), path.read_bytes(), problems)
    nodes = [node for document in documents for node in items_of(document, problems, "this file")]
    cases = [case for node in nodes if (case := _read_case(node, problems)) is not None]
    if not cases and not problems.sorted():
        fix = "write a list of {talk: [user: hello], question: Is the contact greeted?, verdict: yes}"
        problems.add("E601", Mark(str(path), 1, 1), "there are no verdicts in this file", fix)
    return cases, problems.sorted()


def _read_case(node: Node, problems: Problems) -> JudgedCase | None:
    fields = _KEYS.open(node, problems, "this verdict")
    talk, question, verdict = _TALK.read(fields), _QUESTION.read(fields), _VERDICT.read(fields)
    if not talk or question is None or verdict is None:
        return None
    return JudgedCase(node.mark, talk, question, verdict == "yes", _FACTS.read(fields))


def _read_talk(node: Node, problems: Problems, what: str) -> tuple[SpokenLine, ...]:
    lines = (_read_line(item, problems) for item in items_of(node, problems, what))
    return tuple(line for line in lines if line is not None)


def _read_line(node: Node, problems: Problems) -> SpokenLine | None:
    if isinstance(node, Map) and len(node.entries) == 1 and node.entries[0][0].text in _WHO:
        ((who, said),) = node.entries
        text = text_of(said, problems, who.text)
        return None if text is None else SpokenLine(who.text, text)
    problems.add("E601", node.mark, "talk: this is not a line", "write who says what, like user: hello, or bot: Hello!")
    return None


_TALK = KeySpec("talk", Form(list_of(ANY), _read_talk, absent=()), "The conversation.", required=True)
_QUESTION = KeySpec("question", STRING, "The question about it.", required=True)
_VERDICT = KeySpec("verdict", one_of("yes", "no"), "A person's answer.", required=True)
_FACTS = KeySpec("facts", STRINGS, "Texts that the chatbot was told.")
_KEYS = KeySet(_TALK, _QUESTION, _VERDICT, _FACTS)
