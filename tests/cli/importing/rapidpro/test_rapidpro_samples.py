"""The exports that lie beside the project: they load, recorded messages are the same, each difference is named."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bot.cli.importing.export_files import read_export
from bot.cli.importing.imported import ExportFile
from bot.cli.importing.rapidpro import import_bot, recognises
from bot.cli.importing.rapidpro.interpreting import FlowInterpreter, RapidProContact
from bot.cli.importing.rapidpro.reading import is_run, read_files
from tests.cli.importing.rapidpro.rapidpro_exports import proved
from tests.searches import search, some, tries

SAMPLES = Path(__file__).parents[4].parent / "shared" / "imports"
LEAST_OF_RECORDED = 0.9  # of the recorded messages, that the new bots must say


def exports() -> Iterator[list[Path]]:
    """The files of each export: the flows, and their runs."""
    for folder in ("goflow", "glific"):
        for file in sorted((SAMPLES / folder).glob("*.json")):
            if "." not in file.stem:
                yield [file, *sorted(file.parent.glob(f"{file.stem}.*.json"))]


@search
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the exports do not lie beside the project")
def test_all_exports_load_and_say_what_they_said(tmp_path: Path) -> None:
    recorded = same = unexplained = read = 0
    for paths in some(12, exports()):
        files = read_export(paths)
        if not recognises(files):
            continue
        proof = proved(import_bot(files), tmp_path / paths[0].parent.name / paths[0].stem)
        unexplained += proof.unexplained
        read += 1
        if len(paths) > 1:
            recorded += proof.messages
            same += proof.same
    assert read > tries(6, 30) and unexplained == 0
    assert same >= LEAST_OF_RECORDED * recorded > 0


def recorded_texts(run: dict[str, Any]) -> list[str]:
    """The texts of the messages that goflow has sent."""
    events = [event for output in run["outputs"] for event in output["events"]]
    return [event["msg"]["text"] for event in events if event["type"] == "msg_created"]


def played_texts(files: list[ExportFile], run: dict[str, Any]) -> list[str]:
    """The texts that the rules give for the same inputs; services answer with success."""
    fields = {key: value["text"] for key, value in (run["contact"].get("fields") or {}).items()}
    fields |= {key: value["state"] for key, value in (run["contact"].get("fields") or {}).items() if "state" in value}
    contact = RapidProContact(name=run["contact"]["name"], fields=fields)
    now = datetime.fromisoformat("2025-05-04T12:30:45-05:00")
    played = FlowInterpreter(read_files(files), contact, now, lambda flow, node, ways: 0)
    played.session.params = run["trigger"].get("params")
    played.session.parent = run["trigger"].get("run_summary") or {}
    message = (run["trigger"].get("event") or {}).get("msg") or {}
    played.start(run["trigger"]["flow"]["uuid"], message.get("text"))
    for resume in run["resumes"] or ():
        if played.node is not None:
            played.reply(resume["event"]["msg"].get("text", ""))
    return [message.text for message in played.take()[0]]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the exports do not lie beside the project")
def test_the_rules_say_what_goflow_has_recorded() -> None:
    """Except for what they leave out: answers of services, groups by query, old names of results."""
    told = {"resthook", "webhook", "webhook_noresult", "legacy_webhook", "extra", "smart_groups"}
    compared = 0
    for paths in exports():
        files = read_export(paths)
        for run in (each.data for each in files if is_run(each.data) and paths[0].stem not in told):
            assert played_texts(files, run) == recorded_texts(run), paths[0].name
            compared += 1
    assert compared > 10
