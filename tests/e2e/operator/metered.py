"""The sample document, a source with accounts and a key with a limit, so that every metric there is can be seen."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

from stack import SAMPLE_DOCUMENT, SIMULATOR

#: The source with accounts, and the key to it.
METERED = "metered"
METERED_KEY = "sk-metered"
#: A key to it that gets one answer a minute.
LIMITED_KEY = "sk-metered-limited"


def document(directory: Path) -> dict[str, Any]:
    """The document; the files that its accounts name are made in `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run([SIMULATOR, "certificate", "--out", directory], check=True, capture_output=True)
    (directory / "credential").write_text("of-the-account\n")
    document: dict[str, Any] = json.loads(SAMPLE_DOCUMENT.read_text(encoding="utf-8"))
    account = {"url": "http://upstream:9102", "credential": str(directory / "credential")}
    accounts = [
        {"id": "good", **account},
        # Never asked while the first is good. Some stats are there only where there is TLS.
        {"id": "tls", **account, "url": "https://127.0.0.1:1", "ca": str(directory / "ca.crt"), "priority": 1},
        {"id": "locked-out", **account, "credential": str(directory / "missing"), "priority": 1},
    ]
    model = {"id": "claude-opus-4-5", "prices": {"input": "5", "output": "25"}}
    group = {"id": METERED, "protocol": "B", "multiplier": "1.0000", "accounts": accounts, "models": [model]}
    key = {"id": METERED, "sha256": hashlib.sha256(METERED_KEY.encode()).hexdigest(), "group": METERED}
    digest = hashlib.sha256(LIMITED_KEY.encode()).hexdigest()
    limited = {**key, "id": "limited", "sha256": digest, "limits": {"requests_per_minute": 1}}
    document["groups"].append(group)
    document["keys"] += [key, limited]
    return document
