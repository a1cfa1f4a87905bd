"""The guides' commands, run: with stand-ins for kubectl, helm and docker that look at what they are given."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart import CHART
from pages import blocks
from stack import COMMAND, HERE

ROOT = HERE.parent
GUIDES = {
    name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("istio", "envoy-gateway", "helm")
}

#: What stands in for the three programs. It fails for a file that is not there, and for objects that are none.
STAND_IN = """#!{python}
import os, re, subprocess, sys
sys.path[:0] = {path!r}
import yaml
program, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(" ".join([program, *arguments]) + chr(10))
values = [each.split("=", 1) for each in arguments if "=" in each]
for name, value in values:
    for file in [value] if name in ("--filename", "--from-file", "--cert", "--key") else []:
        if file != "-" and not os.path.exists(file):
            sys.exit(f"{{program}}: there is no {{file}}")
        if program == "kubectl" and name == "--filename":
            text = sys.stdin.read() if file == "-" else open(file).read()
            objects = [each for each in yaml.safe_load_all(text) if each]
            if not objects or not all(each.get("kind") and each.get("apiVersion") for each in objects):
                sys.exit(f"kubectl: no objects in {{file}}")
if program == "kubectl" and "--dry-run=client" in arguments:
    print(yaml.safe_dump({{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": arguments[4]}}}}))
if program == "docker" and arguments[0] == "build":
    text = sys.stdin.read() if "--file" in arguments else open("Dockerfile").read()
    if "--target" in arguments and f" AS {{arguments[arguments.index('--target') + 1]}}" not in text:
        sys.exit("docker: no such target")
    for file in re.findall(r"COPY (.*) /$", text, re.M) if "--file" in arguments else []:
        for each in file.split():
            if not os.path.exists(os.path.join(arguments[-1], each)):
                sys.exit(f"docker: there is no {{each}}")
if program == "helm" and any("envoy/helm/trilane" in each for each in arguments):
    import helm_python
    given = {{}}
    for option, text in zip(arguments, arguments[1:]):
        if option == "--set-file":
            name, file = text.split("=", 1)
            text = None
            outer, inner = name.split(".")
            given.setdefault(outer, {{}})[inner] = open(file).read()
        elif option == "--set":
            for outer, members in helm_python.parse_set_string(text).items():
                given.setdefault(outer, {{}}).update(members) if isinstance(members, dict) else given.update({{outer: members}})
    if "--reuse-values" in arguments:
        given.setdefault("document", {{}})["text"] = "{{}}"
    with helm_python.Chart.load("envoy/helm/trilane") as chart:
        chart.validate_schema(given)
        chart.render(given, name=arguments[1], namespace="trilane")
"""


def texts(guide: str, language: str) -> list[str]:
    return [block.text for block in blocks(GUIDES[guide], language)]


@pytest.mark.parametrize("guide", GUIDES)
def test_the_commands_run(guide: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "bin").mkdir()
    path = [each for each in sys.path if "site-packages" in each]
    for program in ("kubectl", "helm", "docker"):
        file = tmp_path / "bin" / program
        file.write_text(STAND_IN.format(python=sys.executable, path=path, log=str(log)))
        file.chmod(0o755)
    # What is built elsewhere, and what the reader has.
    (tmp_path / "bin" / "make").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "bin" / "make").chmod(0o755)
    for name in ("envoy", "docs", "Dockerfile"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "target" / "wasm32-wasip1" / "release").mkdir(parents=True)
    (tmp_path / "target" / "wasm32-wasip1" / "release" / "trilane.wasm").write_bytes(b"\0asm")
    for name in ("server.crt", "server.key"):
        (tmp_path / name).write_text(name)
    credentials = tmp_path / "etc" / "trilane" / "credentials"
    credentials.mkdir(parents=True)
    for each in (HERE / "credentials").iterdir():
        (credentials / each.name).write_bytes(each.read_bytes())
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{COMMAND.parent}:{os.environ['PATH']}"}
    script = "set -eu -o pipefail\n" + "".join(texts(guide, "sh"))
    script = script.replace("/etc/trilane", f"{tmp_path}/etc/trilane")
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "kubectl" in log.read_text()


@pytest.mark.parametrize("guide", GUIDES)
def test_yaml_blocks_are_yaml(guide: str) -> None:
    for text in texts(guide, "yaml"):
        assert isinstance(yaml.safe_load(text), dict), text


@pytest.mark.parametrize("guide", GUIDES)
def test_files_that_are_named_are_there(guide: str) -> None:
    for path in re.findall(r"`(envoy/[\w./-]+|docs/[\w./-]+)`", GUIDES[guide]):
        assert (ROOT / path).exists(), path
    for path, _ in re.findall(r"\]\(([\w.-]+\.md)(#[\w-]+)?\)", GUIDES[guide]):
        assert (ROOT / "docs" / path).exists(), path


def test_every_value_of_the_guide_is_a_value_of_the_chart() -> None:
    values: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    table = GUIDES["helm"].split("## Values")[1].split("\n\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([\w.…]+)`", row.split("|")[1])}
    for name in named:
        place: Any = values
        for part in name.removesuffix(".…").split("."):
            assert part in place, name
            place = place[part]
    assert {name.split(".")[0] for name in named} == set(values), "every value is explained"
