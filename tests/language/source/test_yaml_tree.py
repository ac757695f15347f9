"""YAML as a tree with marks: what it takes, what it refuses, and in which words."""

import string

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bot.language.source import yaml_tree as source
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_tree import List, Map, Node, Scalar, fingerprint, read

MAX_BYTES = 1_048_576
MAX_DEPTH = 50


def read_one(text: str | bytes) -> Node:
    problems = Problems()
    (node,) = read("f.yml", text, problems)
    assert problems.sorted() == []
    return node


def problems_in(text: str | bytes) -> list[str]:
    problems = Problems()
    read("f.yml", text, problems)
    return [str(problem).removeprefix("f.yml:") for problem in problems.sorted()]


def value_of(written: str) -> object:
    node = read_one(f"- {written}\n")
    assert isinstance(node, List)
    (item,) = node.items
    assert isinstance(item, Scalar)
    return item.value


@pytest.mark.parametrize(
    "written", ["yes", "no", "on", "off", "y", "12:30", "2030-05-12", "1_000", "0b11", ".inf", "-.Inf", ".nan", "1e999"]
)
def test_what_yaml_1_2_does_not_know_is_text(written: str) -> None:
    assert value_of(written) == written


@pytest.mark.parametrize(
    ("written", "value"),
    [("~", None), ("Null", None), ("true", True), ("FALSE", False), ("-7", -7), ("007", 7), ("0o17", 15),
     ("0xFF", 255), ("1.5", 1.5), ("-.5e3", -500.0), ("'true'", "true"), ('"7"', "7")],
)  # fmt: skip
def test_core_values_have_their_types(written: str, value: object) -> None:
    found = value_of(written)
    assert (found, type(found)) == (value, type(value))


def test_a_number_of_any_length_is_read_without_an_error() -> None:
    assert value_of("9" * 6000) == "9" * 6000


def test_a_scalar_keeps_what_is_written() -> None:
    node = read_one("n: 007\n")
    assert isinstance(node, Map)
    assert node.get("n") == Scalar(Mark("f.yml", 1, 4), 7, "007")
    assert node.key_mark("n") == Mark("f.yml", 1, 1)


def test_a_question_mark_inside_braces_is_text() -> None:
    node = read_one("{ask: Still there? yes}")
    assert isinstance(node, Map)
    assert node.get("ask") == Scalar(Mark("f.yml", 1, 7), "Still there? yes", "Still there? yes")


def test_documents_of_a_file_have_marks_of_the_file() -> None:
    problems = Problems()
    nodes = read("f.yml", "a: 1\n---\n# nothing\n---\nb: 2\n--- {c: 3}\n", problems)
    assert [node.mark for node in nodes] == [Mark("f.yml", 1, 1), Mark("f.yml", 5, 1), Mark("f.yml", 6, 5)]


def test_a_broken_document_does_not_hide_the_next_ones() -> None:
    problems = Problems()
    nodes = read("f.yml", "a: [1\n---\nb: 2\n---\nc: @x\n---\nd: 4\n", problems)
    assert [node.entries[0][0].text for node in nodes if isinstance(node, Map)] == ["b", "d"]
    assert [(problem.code, problem.line) for problem in problems.sorted()] == [("E002", 1), ("E007", 5)]


def test_a_byte_order_mark_and_windows_line_ends_are_no_problem() -> None:
    node = read_one("\ufeffa: 1\r\nb: zwei\r\n".encode())
    assert isinstance(node, Map)
    assert node.get("b") == Scalar(Mark("f.yml", 2, 4), "zwei", "zwei")


QUOTE = "(put the whole text in quotes)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("say: {{ name }}\n", f"1:6: E007 a text that begins with {{{{ has no quotes {QUOTE}"),
        ("say: {{ name }}, hello\nthen: b\n", f"1:6: E007 a text that begins with {{{{ has no quotes {QUOTE}"),
        ('say: {{ a["b"] }}\n', f"1:6: E007 a text that begins with {{{{ has no quotes {QUOTE}"),
        ("a: {say: {{ x }}, then: b}\n", f"1:10: E007 a text that begins with {{{{ has no quotes {QUOTE}"),
        ("a: {say: Hi {{ x }}, then: b}\n", f'1:10: E007 inside "{{" a text with any of : {{ }} [ ] needs quotes {QUOTE}'),
        ("a: {say: Hello: you}\n", f'1:10: E007 inside "{{" a text with any of : {{ }} [ ] needs quotes {QUOTE}'),
        ("say: Well: hello\n", f'1:6: E007 a text without quotes has ": " in it {QUOTE}'),
        ("say: @home\n", f'1:6: E007 a text without quotes cannot begin with "@" {QUOTE}'),
        ("say: *bold* move\n", f'1:6: E007 a text without quotes cannot begin with "*" {QUOTE}'),
        ("say: & more\n", f'1:6: E007 a text without quotes cannot begin with "&" {QUOTE}'),
        ("say: - no\n", f'1:6: E007 a text without quotes cannot begin with "-" {QUOTE}'),
        ("say: `code`\n", f'1:6: E007 a text without quotes cannot begin with "`" {QUOTE}'),
        ("say: {% if x %}a{% endif %}\n", f'1:7: E007 a text without quotes cannot begin with "%" {QUOTE}'),
        ("say: {name} hi\n", f'1:13: E007 the text goes on after its closing "}}" {QUOTE}'),
        ('say: "Hi" she said\nb: 1\n', "1:6: E007 the text goes on after its closing quote "
                                       "(put the whole text in quotes; where one is a part of it, use the others around it)"),
        ('a: {"x"y: 1}\n', '1:8: E007 this does not fit inside "{" (close the bracket, or quote the text)'),
        ("say: 'never\nb: 1\n", "1:6: E002 the quote that opens here is never closed (close it)"),
        ("a: [", '1:4: E002 the "[" that opens here is never closed '
                     "(close it; if it belongs to a text, quote the text)"),
        ("a: {b: [1,\n\n", '1:8: E002 the "[" that opens here is never closed '
                     "(close it; if it belongs to a text, quote the text)"),
        ("a: {b: {c: 1}, d:\n", '1:4: E002 the "{" that opens here is never closed '
                     "(close it; if it belongs to a text, quote the text)"),
        ("a: {b: {c: [1], d:", '1:8: E002 the "{" that opens here is never closed '
                     "(close it; if it belongs to a text, quote the text)"),
        ("a: [1, 2\n", '1:4: E002 the "[" that opens here is never closed '
                       "(close it; if it belongs to a text, quote the text)"),
        ("a: {say: Room #5}\nb: {say: Hi}\n", '1:4: E007 what follows " #" is a comment, so the "{" that opens here '
                                             "is never closed (quote the text that has the # in it)"),
        ("a: {say: Hi\nb: {say: Hi}\n", '1:4: E002 the "{" that opens here is never closed '
                                       "(close it; if it belongs to a text, quote the text)"),
        ("a: {  # it goes on\n  b: 1,  # and on\n  c: 2: 3}\n",
         f'3:6: E007 inside "{{" a text with any of : {{ }} [ ] needs quotes {QUOTE}'),
        ('say: "\\d"\n', r"1:7: E002 a \ before something that it cannot escape "
                         r"(write \\ for a backslash, or put the text in single quotes)"),
        ("a:\n\tb: 1\n", "2:1: E002 a tab where the indentation is (indent with spaces)"),
        ("a:\n  b: 1\n c: 2\n", "3:2: E002 this line fits neither the lines above nor their indentation "
                                "(align it with the keys that it belongs to)"),
        ("a: 1\nword\nb: 2\n", '2:1: E002 a line that is neither "key: value" nor "- item" '
                               "(add the colon with a space behind it, or indent it as a part of the text above)"),
        ("a:  # a step\n  ask What is it?\n  b: 2\n", '2:3: E002 a line that is neither "key: value" nor "- item" '
                                                  "(add the colon with a space behind it)"),
        ("a: what\n  is it?\n  b: 2\n", "3:4: E002 a key is not expected here "
                                        "(align the line with the keys that it belongs to)"),
        ("a: 1\n  b: 2\n", "2:4: E002 a key is not expected here (align the line with the keys that it belongs to)"),
        ("a: 1\n%x\n", "2:1: E002 a line that begins with % is a directive (leave it out)"),
        ("%YAML 1.2\n", "2:1: E002 this is no YAML: did not find expected <document start> "
                        "(look at the lines above and the indentation)"),
    ],
)  # fmt: skip
def test_a_trap_of_yaml_is_explained_where_it_is(text: str, expected: str) -> None:
    assert problems_in(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a: \xff\n", "1:4: E001 this is not UTF-8 (save the file as UTF-8)"),
        (b"a: 1\nb: \x00\n", "2:4: E001 the character U+0000 cannot stand in a file (delete it)"),
        ("a: \ud800\n", "1:4: E001 this is not UTF-8 (save the file as UTF-8)"),
        ("a: \x07\n", "1:4: E001 the character U+0007 cannot stand in a file (delete it)"),
        ("a" * (MAX_BYTES + 1), "1:1: E003 the file has 1,048,577 bytes, 1,048,576 are allowed (split it into several files)"),
        ("a: &x 1\n", '1:4: E005 "&x" is an anchor to YAML, which flow files do not have '
         "(if it is a text, quote it; else write the value out wherever it is used)"),
        ("a: *x\n", '1:4: E005 "*x" is an alias to YAML, which flow files do not have '
         "(if it is a text, quote it; else write the value out wherever it is used)"),
        ("a: !!int 1\n", '1:4: E005 "tag:yaml.org,2002:int" is a tag to YAML, which flow files do not have '
                         "(if it is a text, quote it; else leave it out)"),
        ("a: 1\nb: 2\nb: 3\n", '3:1: E006 a second "b", the first is in line 2 (keep one of them)'),
        ("a: 1\nb: 2\na: 3\nb: 4\n", '3:1: E006 a second "a", the first is in line 1 '
                                     "(keep one of them, or put a line of --- between two documents)"),
        ("a:\n  say: 1\n  b:\n  say: 2\n  then: c\n",
         '3:3: E006 nothing stands below "b", and "say" comes a second time (indent what belongs to "b" further)'),
        ("? [a]\n: 1\n", "1:3: E008 a key is one text (write it as key: value)"),
    ],
)  # fmt: skip
def test_what_flow_files_do_not_have_is_refused(text: str | bytes, expected: str) -> None:
    assert problems_in(text) == [expected]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_nesting_is_counted_before_anything_is_built(opening: str) -> None:
    (problem,) = problems_in(opening * 200_000)
    assert f"E004 more than {MAX_DEPTH} levels of nesting (use fewer levels)" in problem


def test_all_problems_of_a_document_are_found_at_once() -> None:
    text = "a: &x 1\na: 2\nb: *x\nc: {{ d }}\n"
    assert [problem.split()[0:2] for problem in problems_in(text)] == [
        ["1:4:", "E005"], ["2:1:", "E006"], ["3:4:", "E005"], ["4:4:", "E007"],
    ]  # fmt: skip


def test_a_template_without_quotes_is_read_as_the_text_that_was_meant() -> None:
    problems = Problems()
    (node,) = read("f.yml", "say: {{ name }}\n", problems)
    assert isinstance(node, Map)
    assert node.get("say") == Scalar(Mark("f.yml", 1, 6), "{{ name }}", "{{ name }}")


def test_a_fingerprint_is_of_what_is_said_not_of_how_it_is_written() -> None:
    short, long = read_one("{a: x, b: [1, true]}"), read_one("# flow\na: 'x'\nb:\n  - 1\n  - true\n")
    assert fingerprint(short) == fingerprint(long)
    for other in (
        "{a: x, b: [1, 'true']}",
        "{a: x, b: ['1', true]}",
        "{a: x, b: [[1], true]}",
        "{b: [1, true], a: x}",
        "{a: x, b: [01, true]}",
    ):
        assert fingerprint(read_one(other)) != fingerprint(short)


@given(st.one_of(st.text(max_size=300), st.binary(max_size=300), st.text("{}[]:-?*&!|>%@'\"# \n\tab,", max_size=80)))
def test_no_text_whatsoever_raises(text: str | bytes) -> None:
    problems = Problems()
    nodes = read("f.yml", text, problems)
    assert all(problem.line >= 1 and problem.column >= 1 for problem in problems.sorted())
    for node in nodes:
        fingerprint(node)


PLAIN = st.text(string.printable, max_size=30)


@given(st.dictionaries(PLAIN, st.one_of(PLAIN, st.lists(PLAIN, max_size=3)), min_size=1, max_size=4))
def test_quoted_texts_come_back_as_they_are(written: dict[str, str | list[str]]) -> None:
    def quoted(text: str) -> str:
        return '"' + "".join(f"\\u{ord(char):04x}" for char in text) + '"'

    def node(value: str | list[str]) -> str:
        return quoted(value) if isinstance(value, str) else "[" + ", ".join(map(quoted, value)) + "]"

    found = read_one("{" + ", ".join(f"{quoted(key)}: {node(value)}" for key, value in written.items()) + "}")
    assert isinstance(found, Map)
    read_back = {
        key.text: value.text if isinstance(value, Scalar) else [i.text for i in value.items if isinstance(i, Scalar)]
        for key, value in found.entries
        if isinstance(value, Scalar | List)
    }
    assert read_back == written


def test_where_libyaml_is_missing_the_slow_parser_reads_and_explains_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_Parser", yaml.SafeLoader)
    assert value_of("12:30") == "12:30"
    assert problems_in("say: Well: hello\n") == [f'1:6: E007 a text without quotes has ": " in it {QUOTE}']
    assert problems_in("say: {{ x }}\n") == [f"1:6: E007 a text that begins with {{{{ has no quotes {QUOTE}"]
    (problem,) = problems_in("[" * 200_000)
    assert "E004" in problem
