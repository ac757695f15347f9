"""A small file of each type that contacts can send."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from bot.core.filetypes import END, FILE_TYPES, FileType, type_of
from bot.loading.folder import read_folder
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run
from bot.testing.simulation.sample_files import SAMPLE_FILES
from tests.cli.terminal import make_bot

FLOWS = """
flow: main
start: {otherwise: true}
vars: {file: {type: media, kinds: [document], keep: true}}
steps: {ask: {ask: "A file?", save: file}, done: {say: "{{ file.type }}", then: end}}
"""


@pytest.mark.parametrize("each", FILE_TYPES, ids=lambda each: each.suffix)
def test_there_is_a_sample_of_each_type(each: FileType) -> None:
    sample = SAMPLE_FILES[each.suffix]
    assert type_of(sample[:END], sample[-END:], each.kind) == each


@pytest.mark.parametrize("suffix", ["docx", "xlsx"])
def test_an_office_document_is_a_zip(suffix: str) -> None:
    with ZipFile(BytesIO(SAMPLE_FILES[suffix])) as archive:
        assert archive.namelist()[0] == "[Content_Types].xml"
        assert archive.testzip() is None


def test_a_test_sends_a_file_of_a_type(tmp_path: Path) -> None:
    talk = "[user: hi, bot: 'A file?', send: {document: , type: txt}, bot: text/plain]"
    bot = read_folder(make_bot(tmp_path, FLOWS, tests=f"test: t\ntalk: {talk}\n"))
    loaded = load_with_tests(bot)
    assert loaded.program is not None and not loaded.problems, loaded.problems
    assert [run(each, loaded.program, bot) for each in loaded.transcripts] == [None]


BESIDE = "write type beside a kind without a file, like {document: , type: docx}"


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("{image: , type: docx}", "write one of jpg, png"),
        ("{image: bot.yml, type: jpg}", BESIDE),
        ("{location: {latitude: 1, longitude: 2}, type: jpg}", BESIDE),
    ],
)
def test_a_type_that_is_none_of_the_kind_is_a_problem(tmp_path: Path, written: str, fix: str) -> None:
    bot = read_folder(make_bot(tmp_path, FLOWS, tests=f"test: t\ntalk: [user: hi, bot: 'A file?', send: {written}]\n"))
    (problem,) = load_with_tests(bot).problems
    assert (problem.code, problem.fix) == ("E601", fix) and "is no sample of this" in problem.what
