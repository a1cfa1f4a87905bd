"""Every command of every page is run by a test: which one runs it stands here."""

from __future__ import annotations

from pathlib import Path

import pytest
from figures import PAGES, ROOT
from pages import blocks

#: Page -> the test that runs all of its blocks of shell, and how many there were when somebody last looked whether it does; or each test,
#: and words by which the blocks that it runs are known.
RUN_BY: dict[str, tuple[str, int] | dict[str, tuple[str, ...]]] = {
    "README.md": ("tests/e2e/guides/test_readme.py", 7),
    "CONTRIBUTING.md": ("tests/e2e/guides/test_files_guides.py", 1),
    "docs/accounts.md": ("tests/e2e/guides/test_files_guides.py", 1),
    "docs/benchmarks.md": ("tests/e2e/guides/test_files_guides.py", 2),
    "docs/command.md": {
        "control/tests/command/reference.rs": (
            *("envoy-config", "trilane check", "trilane explain", "trilane models", "key create", "completions"),
        ),
        "control/tests/command/server/documents.rs": ("TRILANE_SERVER",),
        "tests/e2e/console/test_client_sign_in.py": ("login --api",),
        "tests/e2e/up/test_up.py": ("trilane up --demo",),
        "tests/e2e/up/test_envoy_install.py": ("envoy install",),
    },
    "docs/client-sign-in.md": {"tests/e2e/console/test_client_sign_in.py": ("trilane login", "trilane token")},
    "docs/compose.md": ("tests/compose/compose_page.py", 19),
    "docs/console-api.md": ("tests/e2e/guides/test_console_pages.py", 7),
    "docs/console-people.md": ("tests/e2e/guides/test_console_pages.py", 8),
    "docs/console-running.md": {
        "tests/e2e/console/backed_up.py": ("backup", "pg_dump", "console.db*", "pg_restore"),
        "tests/e2e/guides/test_running_guide.py": ("--admin-token-file", "approve"),
    },
    "docs/console.md": ("tests/e2e/guides/test_console_pages.py", 2),
    "docs/envoy-gateway.md": ("tests/mesh/test_mesh_guides.py", 4),
    "docs/guardrails.md": ("tests/e2e/guides/test_guardrails_guide.py", 3),
    "docs/helm.md": ("tests/mesh/test_mesh_guides.py", 2),
    "docs/hot-restart.md": ("tests/e2e/guides/test_hot_restart_guide.py", 11),
    "docs/istio.md": ("tests/mesh/test_mesh_guides.py", 5),
    "docs/keys-feed.md": ("tests/e2e/guides/test_running_guide.py", 2),
    "docs/laptop.md": ("tests/e2e/guides/test_laptop_guide.py", 10),
    "docs/ledger.md": ("tests/e2e/guides/test_files_guides.py", 1),
    "docs/limits.md": {
        "tests/e2e/guides/test_files_guides.py": ("trilane usage --spent",),
        "tests/e2e/guides/test_running_guide.py": ('db "UPDATE',),
    },
    "docs/me.md": ("tests/e2e/guides/test_console_pages.py", 1),
    "docs/one-key.md": ("tests/e2e/guides/test_one_key_guide.py", 1),
    "docs/one-machine.md": ("tests/e2e/guides/test_one_machine_guide.py", 2),
    "docs/operations.md": {
        "tests/e2e/guides/test_files_guides.py": ("jq",),
        "tests/e2e/guides/test_running_guide.py": ("trilane agent", "trilane console approve"),
        "tests/e2e/console/test_backup.py": ("VACUUM",),
    },
    "docs/prompt-logs.md": ("tests/e2e/guides/test_prompt_logs_guide.py", 5),
    "docs/real-vendor.md": ("tests/e2e/init/test_init_page.py", 10),
    "docs/reference/envoy.md": ("tests/e2e/guides/test_files_guides.py", 1),
    "docs/reference/prices.md": ("tests/e2e/guides/test_files_guides.py", 2),
    "docs/release.md": {
        "tests/release/test_install_script.py": ("minisign", "sh install.sh", "tar -xzf"),
        "tests/release/test_reproducible.py": ("make release",),
        "tests/compose/check_release.py": ("docker load",),
        "tests/e2e/guides/test_running_guide.py": ("drain_listeners",),
    },
    "docs/sidecar.md": ("tests/e2e/guides/test_sidecar_guide.py", 8),
    "docs/team.md": ("tests/e2e/guides/test_team_guide.py", 6),
}
#: These run the commands of a page and do not read them there.
NOT_READ = {
    # One runs until a signal, the other fetches; `reference.rs` passes over them.
    "tests/e2e/up/test_up.py",
    "tests/e2e/up/test_envoy_install.py",
    # Clones, compilers, registries: what the commands do, with a tree and with Docker that are there.
    "tests/release/test_reproducible.py",
    "tests/compose/check_release.py",
}


def commands() -> dict[str, list[str]]:
    """The blocks of shell of each page that has some, but for those of docs/clients, all of which tests/clients runs, and of docs/zh-CN,
    which are those of the English pages (`test_pages.py`)."""
    pages = {str(page.relative_to(ROOT)): page for page in (*PAGES, ROOT / "CONTRIBUTING.md")}
    found = {name: [block.text for block in blocks(page.read_text(encoding="utf-8"), "sh")] for name, page in pages.items()}
    return {name: texts for name, texts in found.items() if texts and not name.startswith(("docs/clients/", "docs/zh-CN/"))}


FOUND = commands()


def test_each_page_with_commands_has_a_test() -> None:
    assert FOUND.keys() == RUN_BY.keys()


@pytest.mark.parametrize("page", RUN_BY)
def test_each_command_of_a_page_is_run(page: str) -> None:
    """One that reads the page says itself that it leaves nothing out."""
    tests = RUN_BY[page]
    by_test = tests if isinstance(tests, dict) else {tests[0]: ("",)}
    for test, words in by_test.items():
        assert test in NOT_READ or Path(page).stem in (ROOT / test).read_text(encoding="utf-8"), f"{test} does not name {page}"
        unknown = [each for each in words if not any(each in text for text in FOUND[page])]
        assert not unknown, f"{page} has no {unknown}, which {test} is to run"
    assert isinstance(tests, dict) or len(FOUND[page]) == tests[1], f"does {tests[0]} run all of {page}?"
    lacking = [text for text in FOUND[page] if not any(each in text for words in by_test.values() for each in words)]
    assert not lacking, f"no test runs this of {page}: {lacking}"
