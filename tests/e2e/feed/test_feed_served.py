"""Document and keys from `trilane serve`, which is killed and comes back while requests run."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path

from demo import DEMO_KEYS
from e2e.feed.feed_desk import document, new, new_one
from e2e.feed.feed_served import Database, Served, put_file, row
from e2e.support import run_dir
from waiting import until


def empty(name: str) -> Path:
    directory = run_dir(name)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory.resolve()


def test_keys_in_a_database() -> None:
    directory = empty("feed-sqlite")
    file = directory / "keys.db"
    with Served(directory, "--sqlite", str(file)) as served:
        database = Database(file)
        steady, removed, moved, disabled = new(4)
        database.put([row(steady), row(removed), row(moved), row(disabled)])
        for value in (steady, removed, moved, disabled):
            served.wait(value, 200)
        with served.watch(steady, DEMO_KEYS["key_a"]) as watch:
            database.remove(removed)
            database.put([row(moved, "c-official"), row(disabled, disabled=True)])
            served.wait(removed, 401)
            served.wait(moved, 401)
            served.wait(disabled, 401)
            watch.never_again(removed, moved, disabled)
            # Killed, and the database goes on changing.
            version = served.metric("version")
            served.serving.kill()
            later, brief = new(2)
            database.put([row(later), row(brief)])
            database.remove(brief)
            failed = served.metric('rejections_total{reason="unreachable"}')
            until(lambda: served.metric('rejections_total{reason="unreachable"}') >= failed + 3)
            assert served.everywhere(later) == {401}
            served.serving.start()
            served.wait(later, 200)
            watch.never_again(brief)
            changes = served.metric("changes_total")
            assert served.metric("version") > version
            # It went on from where it was: nothing was read again.
            last = new_one()
            database.put([row(last)])
            served.wait(last, 200)
            assert served.metric("changes_total") == changes + 1
            # The document comes the same way.
            watch.let_go(steady)
            served.publish(document({}))
            served.wait(steady, 401)
            served.publish(document())
            served.wait(steady, 200)


def test_a_database_out_of_a_backup() -> None:
    directory = empty("feed-backup")
    file, backup = directory / "keys.db", directory / "backup.db"
    with Served(directory, "--sqlite", str(file)) as served:
        database = Database(file)
        steady, removed, after = new(3)
        database.put([row(steady), row(removed)])
        with sqlite3.connect(backup) as copy:
            database.sql.backup(copy)
        copy.close()
        served.wait(removed, 200)
        database.remove(removed)
        database.put([row(after), row(steady)])
        written = int(time.time())
        served.wait(removed, 401)
        served.wait(after, 200)
        with served.watch(steady, after) as watch:
            watch.never_again(removed)
            served.serving.stop()
            database.sql.close()
            for beside in ("", "-wal", "-shm"):
                Path(f"{file}{beside}").unlink(missing_ok=True)
            shutil.copy(backup, file)
            behind = served.metric('rejections_total{reason="behind"}')
            served.serving.start()
            until(lambda: served.metric('rejections_total{reason="behind"}') > behind + 10)
            assert served.everywhere(removed) == {401}
            assert served.everywhere(after) == {200}, "not in the backup, and not lost"
            # With the next change it is further than before, and believed. Versions follow the clock's seconds; a backup
            # that is put back within the second of the last change is nobody's.
            until(lambda: int(time.time()) > written)
            watch.let_go(after)
            later = new_one()
            Database(file).put([row(later)])
            served.wait(later, 200)
            served.wait(after, 401)
            assert served.everywhere(removed) == {401}


def test_keys_in_a_file() -> None:
    directory = empty("feed-file")
    file = directory / "keys.jsonl"
    steady, removed, moved, later = new(4)
    put_file(file, [row(steady), row(removed), row(moved)])
    with Served(directory, "--keys", str(file)) as served:
        for value in (steady, removed, moved):
            served.wait(value, 200)
        assert served.everywhere(later) == {401}
        with served.watch(steady) as watch:
            put_file(file, [row(steady), row(moved, "c-official"), row(later)])
            served.wait(removed, 401)
            served.wait(moved, 401)
            served.wait(later, 200)
            watch.never_again(removed)
            # A file that cannot be is not taken.
            with file.open("a") as lines:
                lines.write('{"sha256": "abc"}\n')
            # Killed: its versions are lost, and it is another feed when it comes back.
            served.serving.kill()
            put_file(file, [row(steady), row(later)])
            served.serving.start()
            served.wait(moved, 401)
            watch.never_again(moved)
            assert served.everywhere(later) == {200}
            assert served.everywhere(removed) == {401}
