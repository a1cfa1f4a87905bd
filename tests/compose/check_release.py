#!/usr/bin/env python3
"""Runs the compose bundle of an unpacked release, and checks it from outside: the first run, then the demonstration.

Called by `run.sh --release` with the directory of this tree and the compose command, by a Python that has the SDKs. The service is
that of the repository's `docker-compose.yaml`, which check.py tests further.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from check_gateway import three_lines
from check_hardening import hardening
from compose_tools import COMPOSE, LINES, TLS_PORT, check, curl, eventually, healthy, output, run, say, service, state
from console_api import CONSOLE, call, token, usage

#: The release, unpacked, and its version.
RELEASE = Path(COMPOSE[COMPOSE.index("--file") + 1]).resolve().parents[1]
VERSION = RELEASE.name.removeprefix("trilane-")


def main() -> None:
    """As docs/compose.md, From a release: up, and the log's link; then the demonstration, in the same volumes."""
    images()
    say("the first run")
    run(COMPOSE, "up", "--detach")
    eventually("without a document: healthy", healthy("gateway"), 120)
    link = re.search(r"http://\S+/sign-in/link\?token=\S+", output("gateway"))
    check("the log has a link that signs in", link and link[0].startswith(CONSOLE))
    check("... the console answers", call("GET", "/setup").status_code == 200)
    check("... the gateway does not", curl(LINES[0]).status == 0)
    say("the demonstration")
    os.environ["TRILANE_DEMO"] = "true"
    run(COMPOSE, "up", "--detach")
    eventually("healthy", lambda: "trilane is ready" in output("gateway") and healthy("gateway")(), 120)
    three_lines()
    authority = run(COMPOSE, "exec", "-T", "gateway", "cat", "/data/certs/ca.crt")
    answer = curl(f"{LINES[0].replace('http://127.0.0.1:' + os.environ['PORT'], f'https://localhost:{TLS_PORT}', 1)} --cacert <(cat <<'E'\n{authority}\nE\n)")
    check(f"TLS with the development certificate: {answer.status}", answer.status == 200 and answer.version == "2")
    eventually("the console has what was used", lambda: "key_a" in usage(), 20)
    say("what the container may not do")
    hardening(["gateway"], token())
    say("its end")
    container = service("gateway")
    run(COMPOSE, "stop")
    ended = state("gateway")
    check("stop: it has drained, and ended by itself", container == service("gateway") and ended["ExitCode"] == 0)


def images() -> None:
    """As docs/release.md: `docker load` takes the command's and the filter's, and the command runs in its own."""
    say("the images")
    for name in ("command", "filter"):
        said = run(["docker"], "load", "--input", str(RELEASE / f"images/trilane-{name}-{VERSION}.oci.tar"))
        check(f"docker load: trilane/{name}:{VERSION}", f"trilane/{name}:{VERSION}" in said)
    locked_down = ["run", "--rm", "--network=none", "--read-only", "--cap-drop=ALL", f"trilane/command:{VERSION}"]
    check("the command runs in its image, as nobody", run(["docker"], *locked_down, "--version").split() == ["trilane", VERSION])
    for name in ("command", "filter"):
        run(["docker"], "rmi", f"trilane/{name}:{VERSION}")


if __name__ == "__main__":
    main()
