"""docs/one-machine.md, done as it says: a backup while the gateway runs, everything lost, restored."""

from __future__ import annotations

import shutil
from pathlib import Path

from e2e.console.running import Api, ask
from e2e.guides.reader import DOCS, Reader, shell
from e2e.up.running import Up
from waiting import until

PAGE = DOCS / "one-machine.md"
#: The last line of the restoration: the test starts it itself, with ports of its own.
START = "trilane up --console\n"


def console(up: Up) -> Api:
    return Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())


def running(data: Path) -> Up:
    data.parent.mkdir(parents=True, exist_ok=True)
    return Up(data, "--demo", "--console", "--console-port", "0")


def test_a_backup_and_all_is_back(tmp_path: Path) -> None:
    backup, restore = [block.text for block in shell(PAGE)]
    assert restore.endswith(START)
    data = tmp_path / ".local/share/trilane"
    reader = Reader(tmp_path)
    with running(data) as up:
        kept = console(up).new_key("kept", "b-official")
        until(lambda: ask(up.url, kept) == 200, 30)
        reader.does(backup, cwd=tmp_path)
        after = console(up).new_key("after", "b-official")
        until(lambda: ask(up.url, after) == 200, 30)
    for lost in ("console", "agent", "run"):
        shutil.rmtree(data / lost)
    (data / "sealing.keys").unlink()
    reader.does(restore.removesuffix(START), cwd=tmp_path)
    with running(data) as up:
        until(lambda: ask(up.url, kept) == 200, 30)
        assert ask(up.url, after) == 401, "it was made after the backup"
        keys = {key["id"] for key in console(up).get("/keys")["items"]}
        assert "kept" in keys and "after" not in keys


def test_the_backup_names_the_sealing_keys(tmp_path: Path) -> None:
    data = tmp_path / ".local/share/trilane"
    with running(data):
        said = Reader(tmp_path).does(f"trilane console backup --database {data}/console copy 2>&1", cwd=tmp_path)
    assert f"are in {data}/sealing.keys: keep a copy of that file" in said
