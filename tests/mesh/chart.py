"""The chart, rendered by Helm itself (its library, from PyPI)."""

from __future__ import annotations

from typing import Any, Optional

import helm_python
import yaml
from stack import HERE

CHART = HERE / "helm" / "trilane"
DOCUMENT = {"document": {"text": '{"groups": [], "keys": []}\n'}}

Tree = dict[str, Any]


def rendered(values: Optional[Tree] = None, name: str = "gw") -> list[Tree]:
    """Every object of a release."""
    with helm_python.Chart.load(str(CHART)) as chart:
        chart.validate_schema({**DOCUMENT, **(values or {})})
        files = chart.render({**DOCUMENT, **(values or {})}, name=name, namespace="trilane")
    objects = [yaml.safe_load_all(text) for path, text in sorted(files.items()) if path.endswith(".yaml")]
    return [each for file in objects for each in file if each]


def one(objects: list[Tree], kind: str, name: str = "") -> Tree:
    (found,) = [each for each in objects if each["kind"] == kind and name in ("", each["metadata"]["name"])]
    return found
