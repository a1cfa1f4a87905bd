"""Stacks that tests of several directories need, and clusters to add to them."""

from __future__ import annotations

from stack import Stack

_CLUSTERS = "  clusters:\n    - name: config_source\n"


class PromptStack(Stack):
    """Writes its ledger every 20 ms, so that the tests need not wait for lines."""

    def envoy_command(self, *arguments: str) -> list[str]:
        command = super().envoy_command(*arguments)
        flush = "--file-flush-interval-msec"
        if flush in command:
            command[command.index(flush) + 1] = "20"
        return command


def more_clusters(**ports: int) -> tuple[str, str]:
    """Clusters of these names at ports of this machine, for a stack's `extra_substitutions`."""
    written = "".join(_static_cluster(name, port) for name, port in ports.items())
    return _CLUSTERS, _CLUSTERS.replace("    - name", f"{written}    - name")


def _static_cluster(name: str, port: int) -> str:
    endpoint = f"{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}}}}}"
    return (
        f"    - {{name: {name}, type: STATIC, connect_timeout: 1s, load_assignment: "
        f"{{cluster_name: {name}, endpoints: [{{lb_endpoints: [{endpoint}]}}]}}}}\n"
    )
