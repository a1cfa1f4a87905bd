"""What the chart makes: valid for Kubernetes, locked down, and with the project's own envoy.yaml."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml
from chart import CHART, Tree, one, rendered
from stack import COMMAND, HERE, SAMPLE_DOCUMENT

VERSIONS = ["1.31", "1.35"]

VARIANTS: dict[str, Tree] = {
    "as it is": {},
    "a ConfigMap of one's own": {"document": {"text": "", "existingConfigMap": "mine", "key": "other.json"}},
    "the sample": {"document": {"text": SAMPLE_DOCUMENT.read_text()}},
    "the filter from an image": {"filter": {"from": "image", "image": {"repository": "r/f", "tag": "1"}}},
    "scaled by CPU": {"autoscaling": {"enabled": True}},
    "scaled by requests": {
        "autoscaling": {"enabled": True, "targetCPUUtilization": 0, "targetActiveRequests": 200}
    },
    "by both": {"autoscaling": {"enabled": True, "targetActiveRequests": 200}},
    "no budget": {"podDisruptionBudget": {"enabled": False}},
    "network policy": {"networkPolicy": {"enabled": True}},
    "network policy for some": {
        "networkPolicy": {"enabled": True, "clients": [{"podSelector": {"matchLabels": {"a": "b"}}}]}
    },
    "TLS only": {"service": {"plain": False, "type": "LoadBalancer", "annotations": {"a": "b"}}},
    "everything around a pod": {
        "images": {"pullSecrets": [{"name": "registry"}]},
        "podLabels": {"team": "x"},
        "podAnnotations": {"note": "y"},
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
    },
    "an operator for Prometheus": {"serviceMonitor": {"enabled": True, "labels": {"release": "p"}}},
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_kubernetes_takes_it(variant: str, version: str) -> None:
    objects = rendered(VARIANTS[variant])
    for each in objects:
        where = f"{variant}: {each['kind']} {each['metadata']['name']}"
        if each["kind"] == "ServiceMonitor":  # not Kubernetes' own
            assert (
                each["spec"]["selector"]["matchLabels"].items()
                <= one(objects, "Service", "gw-trilane-metrics")["metadata"]["labels"].items()
            )
            continue
        try:
            kubernetes_validate.validate(each, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            pytest.fail(f"{where}: {error}")
    assert one(objects, "Deployment")["metadata"]["name"] == "gw-trilane", variant


REFUSED: dict[str, tuple[Tree, str]] = {
    "no document": ({"document": {"text": ""}}, "no document"),
    "two documents": ({"document": {"text": "{}", "existingConfigMap": "mine"}}, "only one of them"),
    "nothing to scale by": (
        {"autoscaling": {"enabled": True, "targetCPUUtilization": 0}},
        "a target is needed",
    ),
    "one worker": ({"concurrency": 1}, "concurrency"),
    "a filter from nowhere": ({"filter": {"from": "air"}}, "filter"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_values_that_make_no_gateway(case: str) -> None:
    values, said = REFUSED[case]
    with pytest.raises(helm_python.HelmError) as caught:
        rendered(values)
    assert said in str(caught.value), case


def test_helm_finds_no_fault() -> None:
    found = helm_python.lint(str(CHART), values={"document": {"text": "{}"}})
    messages = found.get("messages", found) if isinstance(found, dict) else found
    bad = [
        each for each in messages if str(each.get("severity", "")).upper() in ("WARNING", "ERROR", "2", "3")
    ]
    assert not bad, bad


def test_it_is_the_projects_envoy_yaml(tmp_path: Path) -> None:
    """To the byte: in the chart, and in what Helm makes of it."""
    printed = subprocess.run([COMMAND, "envoy-config", "--mode", "helm"], check=True, capture_output=True).stdout
    assert (CHART / "files" / "envoy.yaml").read_bytes() == printed, "run `make chart`"
    packed = helm_python.package(str(CHART), destination=str(tmp_path))
    with tarfile.open(packed) as archive:
        file = archive.extractfile("trilane/files/envoy.yaml")
        assert file and file.read() == printed
    config = one(rendered(), "ConfigMap", "gw-trilane-envoy")["data"]["envoy.yaml"]
    assert config.strip() == printed.decode().strip()
    other = one(rendered({"envoyConfig": "node: {}\n"}), "ConfigMap", "gw-trilane-envoy")["data"][
        "envoy.yaml"
    ]
    assert other.strip() == "node: {}"


def test_the_document_is_the_one_given() -> None:
    text = SAMPLE_DOCUMENT.read_text(encoding="utf-8")
    found = one(rendered({"document": {"text": text}}), "ConfigMap", "gw-trilane-document")["data"]
    assert found["gateway.json"].strip() == text.strip()


def containers(objects: list[Tree]) -> list[Tree]:
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    return [*pod["initContainers"], *pod["containers"]]


def test_every_container_is_locked_down() -> None:
    objects = rendered()
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001
    for container in containers(objects):
        context: Any = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True, container["name"]
        assert context["allowPrivilegeEscalation"] is False, container["name"]
        assert context["capabilities"] == {"drop": ["ALL"]}, container["name"]
        assert container["resources"]["limits"]["memory"], container["name"]
        for mount in container["volumeMounts"]:
            assert "subPath" not in mount, f"{container['name']}: {mount} would never be updated"


def test_render_and_envoy_agree_on_paths() -> None:
    """Everything that envoy.yaml names is mounted, under the paths that `trilane render` is told."""
    objects = rendered()
    found = {
        container["name"]: container
        for container in one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    }
    mounts = {
        name: {each["mountPath"] for each in container["volumeMounts"]} for name, container in found.items()
    }
    for path in ("document", "upstreams", "credentials", "filter"):
        assert f"/etc/trilane/{path}" in mounts["envoy"] & mounts["render"], path
    assert "/etc/trilane/certs" in mounts["envoy"]
    # The one before Envoy's start has nobody to ask.
    config = one(objects, "ConfigMap", "gw-trilane-envoy")["data"]["envoy.yaml"]
    admin = yaml.safe_load(config)["admin"]["address"]["socket_address"]
    place = f"{admin['address']}:{admin['port_value']}"
    assert found["render"]["args"] == [*containers(objects)[1]["args"], "--admin", place, "--watch"]


def test_images_are_of_the_charts_version() -> None:
    told = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]
    (ours,) = re.findall(r'^version = "(.+)"$', (HERE.parent / "Cargo.toml").read_text(), re.MULTILINE)
    assert told == ours
    for values, filter_tag in [({}, told), ({"filter": {"from": "image", "image": {"tag": "2"}}}, "2")]:
        pod = one(rendered(values), "Deployment")["spec"]["template"]["spec"]
        images = {each["name"]: each["image"] for each in [*pod["initContainers"], *pod["containers"]]}
        assert images["filter"] == images["render"] == f"registry.example/trilane/command:{told}"
        assert images["envoy"] == "envoyproxy/envoy:v1.40.0"
        volumes = [each["image"]["reference"] for each in pod["volumes"] if "image" in each]
        assert volumes == ([] if not values else [f"registry.example/trilane/filter:{filter_tag}"])


def test_no_container_needs_what_its_image_has_not() -> None:
    """The command's image of a release has one program, its entry point: nothing else can be run in it."""
    for variant, values in VARIANTS.items():
        for container in containers(rendered(values)):
            if "/trilane/command:" in container["image"]:
                assert "command" not in container and container["args"], f"{variant}: {container['name']}"


def test_there_is_time_to_drain() -> None:
    pod = one(rendered({"drain": {"seconds": 100, "settleSeconds": 7}}), "Deployment")["spec"]["template"][
        "spec"
    ]
    command = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert command[-2:] == ["7", "100"]
    assert pod["terminationGracePeriodSeconds"] > 107


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_the_script_is_a_script() -> None:
    script = CHART / "files" / "drain.sh"
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert (
        one(rendered(), "ConfigMap", "gw-trilane-envoy")["data"]["drain.sh"].strip()
        == Path(script).read_text().strip()
    )


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_envoys_command_line(tmp_path: Path) -> None:
    """What the shell makes of it: both configurations, the second one whole and in one argument."""
    objects = rendered({"concurrency": 3})
    config = one(objects, "ConfigMap", "gw-trilane-envoy")["data"]
    for name, text in config.items():
        (tmp_path / name).write_text(text)
    envoy = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    (script,) = envoy["args"]
    assert script.startswith("exec /usr/local/bin/envoy ")
    script = script.replace("exec /usr/local/bin/envoy", "printf '%s\\0'").replace(
        "/etc/trilane/envoy", str(tmp_path)
    )
    done = subprocess.run([*envoy["command"], script], capture_output=True, text=True, check=True)
    given = done.stdout.split("\0")[:-1]
    options = dict(zip(given, given[1:]))
    assert options["--config-path"] == str(tmp_path / "envoy.yaml")
    assert options["--config-yaml"] == config["metrics.yaml"].rstrip("\n")
    assert (options["--concurrency"], options["--drain-time-s"]) == ("3", "600")
    assert "--disable-hot-restart" in given
