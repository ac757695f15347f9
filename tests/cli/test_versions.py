"""``bot versions``."""

import json
from pathlib import Path

from tests.cli.keeping import FLOWS, kept
from tests.cli.terminal import call


def test_versions_are_listed_with_what_differs(tmp_path: Path) -> None:
    with kept(tmp_path):
        pass
    assert call("versions", "--bot", tmp_path).out == (
        "Servers follow the files of their folders: saved changes are served at once (`bot publish` ends that).\n"
    )
    call("publish", tmp_path, "--note", "first")
    (tmp_path / "flows" / "main.yml").write_text(FLOWS.replace("Hello", "Good day"))
    (tmp_path / "menu.md").write_text("Tea\n")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "menu.pdf").write_bytes(b"%PDF-\0\x1b[31m")
    call("publish", tmp_path)
    second, first = call("versions", "--bot", tmp_path).lines
    assert second.startswith("   2  ") and second.endswith("  1 changed, 2 new  (served)")
    assert first.startswith("   1  ") and first.endswith("  3 new  first")
    newest = json.loads(call("versions", "--bot", tmp_path, "-n", "1", "--json").out)[0]
    assert (newest["number"], newest["served"]) == (2, True)
    assert newest["files"] == {"changed": ["flows/main.yml"], "new": ["menu.md", "files/menu.pdf"], "gone": []}
    shown = call("versions", "2", "--bot", tmp_path).lines
    assert "-  hello: {say: Hello}" in shown and "+  hello: {say: Good day}" in shown and "+Tea" in shown
    assert "Binary files a/files/menu.pdf and b/files/menu.pdf differ" in shown and "\x1b" not in "".join(shown)
    assert call("versions", "3", "--bot", tmp_path).code == 1


def test_no_version_is_served_once_servers_follow_their_files_again(tmp_path: Path) -> None:
    with kept(tmp_path):
        pass
    call("publish", tmp_path)
    call("publish", tmp_path, "--follow-files")
    follow, first, ends = call("versions", "--bot", tmp_path).lines
    assert follow.endswith("  each server follows its own files") and first.endswith("  3 new")
    assert ends.startswith("Servers follow the files of their folders")
    assert [each["served"] for each in json.loads(call("versions", "--bot", tmp_path, "--json").out)] == [False, False]
