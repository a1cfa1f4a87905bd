"""The filter by extension configuration discovery (ECDS): another one is put in force without a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

from e2e.loading.variants import Edit


def discovered(file: Path) -> Edit:
    """The filter's configuration comes from a file that Envoy watches."""

    def edit(text: str) -> str:
        start = text.index("                  - name: trilane\n")
        end = text.index("                  - name: envoy.filters.http.router\n", start)
        told = {
            "name": "trilane",
            "config_discovery": {
                "config_source": {
                    "path_config_source": {"path": str(file), "watched_directory": {"path": str(file.parent)}},
                    "resource_api_version": "V3",
                },
                "type_urls": ["type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"],
            },
        }
        return f"{text[:start]}{' ' * 18}- {json.dumps(told)}\n{text[end:]}"

    return edit


def put_filter(file: Path, wasm: Path, number: int, plugin: Optional[dict[str, Any]] = None) -> None:
    """Another VM for each number, of the same program, as for another release of it; `plugin` is its configuration."""
    config: dict[str, Any] = {
        "name": "trilane",
        "root_id": "gateway",
        "allow_on_headers_stop_iteration": True,
        "failure_policy": "FAIL_RELOAD",
        "vm_config": {
            "vm_id": "trilane",
            "configuration": _string(f"filter {number}"),
            "runtime": "envoy.wasm.runtime.v8",
            "code": {"local": {"filename": str(wasm)}},
        },
    }
    if plugin is not None:
        config["configuration"] = _string(json.dumps(plugin))
    resource = {
        "@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
        "name": "trilane",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm", "config": config},
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps({"resources": [resource]}))
    part.replace(file)


def _string(value: str) -> dict[str, str]:
    return {"@type": "type.googleapis.com/google.protobuf.StringValue", "value": value}
