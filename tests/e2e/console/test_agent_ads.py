"""`trilane agent` serves clusters and credentials to an Envoy that somebody else runs: whichever starts first, and when it is away."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

from e2e.console.machine import Machine
from e2e.console.running import Console, ask
from e2e.up.ads import Site, Vendor, group, inotify_instances, told_by
from waiting import until


def test_either_first_and_either_away(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with Vendor("any") as vendor:
        site.save(group("g", vendor.url, "one"), group("h", vendor.url, "two"))
        with Console(tmp_path / "console", "--import-document", str(site.document)) as console:
            api = console.api
            keys = {name: api.new_key(f"ann-{name}", name) for name in ("g", "h")}
            machine = Machine(tmp_path, console)
            for name in ("one", "two"):
                (machine.credentials / name).write_text(f"sk-{name}")
                (machine.credentials / f"{name}.destinations").write_text(f"{vendor.url}\n")
            with machine.envoy() as envoy:
                until(lambda: "starting main dispatch loop" in machine.envoy_log.read_text() or "trilane_ads" in machine.envoy_log.read_text(), 20)
                threading.Event().wait(3)  # what is to be seen is that nothing happens
                assert envoy.process.poll() is None and not machine.is_open(), "it waits"
                with machine.agent() as agent:
                    until(machine.is_open, 30)
                    until(lambda: ask(machine.url, keys["g"]) == 200 and ask(machine.url, keys["h"]) == 200, 20)
                    assert inotify_instances(envoy.process.pid) == 0
                    assert machine.socket.parent.stat().st_mode & 0o777 == 0o700

                    # Killed: the gateway goes on.
                    trouble: list[int] = []
                    over = threading.Event()

                    def go_on() -> None:
                        while not over.wait(0.02):
                            if (status := ask(machine.url, keys["g"])) != 200:
                                trouble.append(status)

                    traffic = threading.Thread(target=go_on, daemon=True)
                    traffic.start()
                    agent.process.send_signal(signal.SIGKILL)
                    agent.process.wait()
                # What changes meanwhile is in force when it is back, and nothing is lost in between.
                part = machine.credentials / ".part"
                part.write_text("sk-new")
                part.rename(machine.credentials / "two")

                def change(document: dict[str, object]) -> None:
                    document["groups"].append(group("new", vendor.url, "one"))  # type: ignore[attr-defined]

                console.api.publish(change)
                keys["new"] = console.api.new_key("ann-new", "new")
                threading.Event().wait(2)
                assert vendor.seen[-1] == "sk-one" and not trouble
                with machine.agent():
                    until(lambda: ask(machine.url, keys["new"]) == 200, 30)
                    until(lambda: ask(machine.url, keys["h"]) == 200 and "sk-new" in vendor.seen[-3:], 10)
                    threading.Event().wait(4)  # so long clusters that are not needed stay
                    over.set()
                    traffic.join(30)
                    assert trouble == []
                    for page, text in told_by(machine.admin).items():
                        assert "sk-" not in text, page
                    # Another Envoy, while the agent runs.
                    envoy.process.send_signal(signal.SIGKILL)
                    envoy.process.wait()
                    with machine.envoy():
                        until(machine.is_open, 30)
                        assert all(ask(machine.url, key) == 200 for key in keys.values())
            for value in ("sk-one", "sk-new", "sk-two"):
                assert value not in machine.agent_log.read_text() + machine.envoy_log.read_text()


def test_who_may_reach_the_socket(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with Vendor("any") as vendor:
        site.save(group("g", vendor.url, "one"))
        with Console(tmp_path / "console", "--import-document", str(site.document)) as console:
            machine = Machine(tmp_path, console)
            machine.socket.parent.mkdir(mode=0o755)
            with machine.agent() as agent:
                assert agent.process.wait(30) == 1
            assert "whoever reaches the socket in it gets every credential" in machine.agent_log.read_text()
