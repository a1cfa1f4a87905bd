#!/usr/bin/env python3
"""Takes one check after another out of the filter, and demands that the cases that belong to it fail then.

    PYTHONPATH=envoy:tests/runner target/venv/bin/python tests/e2e/abuse/mutations.py [--only NAME] [--list] [--check]

Each `Mutation` replaces one text of one file of the source. The filter is built of a copy of the tree, in
`target/mutations`, and the cases run there on a real Envoy; the tree itself is not touched. A text that is not found
exactly once, a mutation that does not compile, and a case that passes without its check are errors. `make build
programs envoy venv` must have run.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
#: The copy of the tree, and what cargo builds of it: kept, so that the next run builds little.
TREE = TARGET / "mutations" / "tree"
BUILT = TARGET / "mutations" / "target"
#: Made by `make build programs envoy venv`, and used as they are.
SHARED = ("release/trilane", "release/trilane-upstream", "envoy-1.40.0")
#: Builds fast rather than small.
PROFILE = {"LTO": "off", "CODEGEN_UNITS": "16", "INCREMENTAL": "true", "OPT_LEVEL": "1"}
#: How long the cases of one mutation may take, in seconds.
PATIENCE = 600


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One check, and how it is taken out."""

    name: str
    #: Below the root.
    file: str
    #: Stands in the file exactly once.
    old: str
    new: str
    #: What pytest is to run, below this directory: a file's test, with or without its parameters. Of each at least one fails.
    cases: tuple[str, ...]


_record = "src/exchange/record.rs"
_estimating = "src/exchange/estimating.rs"
_model_check = "src/exchange/model_check.rs"
_member = "src/body/json/member.rs"
_unreported = "test_abuse_unreported.py::"
_fields = "test_abuse_fields.py::"
_event = "test_abuse_usage_event.py::"
_charges = "test_abuse_charges.py::"

MUTATIONS: tuple[Mutation, ...] = (
    # ---- What nobody reported
    Mutation(
        "an answer without usage is not estimated",
        _record,
        "            } else {\n                unreported\n            };",
        "            } else {\n                UsageStatus::Partial\n            };",
        tuple(
            _unreported + test
            for test in (
                "test_a_stream_without_usage",
                "test_an_answer_without_usage",
                "test_chat_whatever_is_asked_for",
                "test_a_group_that_asks_for_no_usage",
                "test_a_mixed_key",
                "test_leaving_before_the_last_event",
                "test_leaving_an_answer_in_its_middle",
                "test_a_reset_in_a_stream",
                "test_an_error_in_a_stream",
                "test_of_each_kind_the_greater",
                "test_images_are_no_text",
                "test_answers_that_nobody_reads",
                "test_a_budget_ends",
                "test_a_limit_of_output_counts_what_is_estimated",
            )
        ),
    ),
    Mutation(
        "leaving before the head is free",
        _record,
        "Ending::ClientAbort if upstream.body.sent_whole => unreported,",
        "Ending::ClientAbort if upstream.body.sent_whole => UsageStatus::None,",
        (
            f"{_unreported}test_leaving_a_stream_before_its_head",
            f"{_unreported}test_leaving_before_the_answer",
            f"{_unreported}test_output_of_an_answer_left_early_grows_with_time",
            f"{_unreported}test_a_budget_ends",
        ),
    ),
    Mutation(
        "leaving before the body was sent is charged",
        _record,
        "Ending::ClientAbort if upstream.body.sent_whole => unreported,",
        "Ending::ClientAbort => unreported,",
        (f"{_unreported}test_leaving_before_the_body_was_sent",),
    ),
    Mutation(
        "what an error reports is charged",
        _record,
        "_ if self.result.relayed().is_some() => UsageStatus::Failed,",
        "_ if self.result.relayed().is_some() => unreported,",
        (f"{_unreported}test_errors_cost_nothing",),
    ),
    Mutation(
        "unreported usage is never free",
        _record,
        "let unreported = if upstream.route.source.unreported_free {",
        "let unreported = if false {",
        (f"{_unreported}test_a_group_where_it_is_free",),
    ),
    Mutation(
        "no input is estimated",
        _estimating,
        "        input: input_tokens(body),",
        "        input: input_tokens(body).min(0),",
        (f"{_unreported}test_leaving_a_stream_before_its_head", f"{_unreported}test_leaving_before_the_answer"),
    ),
    Mutation(
        "no output is estimated",
        _estimating,
        "        output: written(response_bytes, reading),",
        "        output: written(response_bytes, reading).min(0),",
        (f"{_unreported}test_a_stream_without_usage", f"{_unreported}test_leaving_before_the_last_event"),
    ),
    Mutation(
        "time counts without a cap",
        _estimating,
        "tokens_in(waited_us()).min(reserved)",
        "tokens_in(waited_us()).max(reserved)",
        (f"{_unreported}test_output_of_an_answer_left_early_grows_with_time",),
    ),
    Mutation(
        "answers that nobody reads are not counted",
        "src/metrics/exchanges.rs",
        "let unread = u64::from(record.reading.unreadable);",
        "let unread = u64::from(record.reading.unreadable).min(0);",
        (f"{_unreported}test_answers_that_nobody_reads",),
    ),
    # ---- The usage event
    Mutation(
        "the gateway does not ask by itself",
        "src/exchange/include_usage.rs",
        "None if source.catalog.has_prices() => Self::IfPriced,",
        "None if source.catalog.has_prices() => Self::No,",
        (f"{_event}test_it_is_withheld",),
    ),
    Mutation(
        "the event is not withheld",
        "src/exchange/unasked.rs",
        "rest = if is_usage_event(event) {",
        "rest = if is_usage_event(event) && event.is_empty() {",
        (
            f"{_event}test_it_is_withheld",
            f"{_event}test_it_is_withheld_from_who_said_no",
            f"{_event}test_wherever_the_stream_is_cut",
            f"{_event}test_several_of_them",
        ),
    ),
    Mutation(
        "the event is not withheld at the end of a stream",
        "src/exchange/unasked.rs",
        "Err(_) if end && is_usage_event(rest) =>",
        "Err(_) if end && is_usage_event(rest) && rest.is_empty() =>",
        (f"{_event}test_as_the_last_bytes_of_a_stream",),
    ),
    # ---- Members of bodies
    Mutation(
        "stream may be of any type",
        _member,
        "_ => return Err(BodyError::WrongType(Field::Stream)),",
        "_ => {}",
        (f"{_fields}test_members_of_one_type", f"{_fields}test_members_behind_the_window"),
    ),
    Mutation(
        "background may be of any type",
        _member,
        "_ => return Err(BodyError::WrongType(Field::Background)),",
        "_ => {}",
        (f"{_fields}test_members_of_one_type[a /v1/responses background 1]",),
    ),
    Mutation(
        "include_usage may be of any type",
        "src/body/json/usage_option.rs",
        "_ => return Err(BodyError::WrongType(Field::IncludeUsage)),",
        "_ => {}",
        (f"{_fields}test_members_of_one_type",),
    ),
    Mutation(
        "work in the background",
        _model_check,
        "if scanner.background() == Some(true) {",
        "if scanner.background() == Some(true) && false {",
        (f"{_fields}test_work_in_the_background",),
    ),
    Mutation(
        "image tools without the right",
        _model_check,
        "if scanner.image_tool() && !route.may_make_images() {",
        "if scanner.image_tool() && !route.may_make_images() && false {",
        (
            f"{_fields}test_whatever_runs_a_model[image tool]",
            f"{_fields}test_whatever_runs_a_model[image tool, found]",
            f"{_fields}test_whatever_runs_a_model_behind_the_window[image tool]",
        ),
    ),
    Mutation(
        "other models are not looked at",
        _model_check,
        "            renamed.extend(self.check_other(&other, scanner, released, route)?);",
        "            renamed.extend(self.check_other(&other, scanner, released, route).unwrap_or_default());",
        (
            f"{_fields}test_whatever_runs_a_model[advisor]",
            f"{_fields}test_whatever_runs_a_model[fallback]",
            f"{_fields}test_whatever_runs_a_model[image tool, unlisted]",
            f"{_fields}test_whatever_runs_a_model[SVG]",
            f"{_fields}test_whatever_runs_a_model[a batch with another model]",
            f"{_fields}test_whatever_runs_a_model_behind_the_window[advisor]",
        ),
    ),
    Mutation(
        "the upstream may choose the model",
        _member,
        "return Err(BodyError::NotSupported(Field::ModelRouting));",
        "return Ok(());",
        (f"{_fields}test_whatever_runs_a_model[routing]",),
    ),
    Mutation(
        "dearer classes at the plain price",
        _model_check,
        "        self.check_class(scanner)?;",
        "        let _ = self.check_class(scanner);",
        (
            f"{_fields}test_classes_without_a_price",
            f"{_fields}test_classes_with_a_price",
            f"{_fields}test_whatever_runs_a_model[fallback, fast]",
        ),
    ),
    Mutation(
        "one answer is reserved, however many are asked for",
        _estimating,
        "Estimate::of(body_bytes, body.scanner().output_cap(), body.candidates())",
        "Estimate::of(body_bytes, body.scanner().output_cap(), body.candidates().min(1))",
        (f"{_fields}test_several_answers_reserve_several",),
    ),
    Mutation(
        "embeddings have an output",
        _estimating,
        "Some(Operation::Embeddings) => Estimate::of_reading(body_bytes),",
        "Some(Operation::Embeddings) if body_bytes == 0 => Estimate::of_reading(body_bytes),",
        (f"{_fields}test_embeddings_have_no_output",),
    ),
    # ---- Charges
    Mutation(
        "other models are not charged",
        "src/exchange/charging.rs",
        "let others = reading.others.iter().filter_map(",
        "let others = reading.others.iter().take(0).filter_map(",
        (f"{_charges}test_iterations_of_messages", f"{_charges}test_a_model_that_nobody_listed"),
    ),
    Mutation(
        "a class is charged at the plain price and not told",
        "src/money/bill.rs",
        "let prices = applicable(&item, &mut uncovered);",
        "let prices = Some(applicable(&item, &mut Uncovered::default())).map_or(item.prices, |_| item.prices);",
        (
            f"{_charges}test_a_class_that_the_answer_reports",
            f"{_charges}test_a_speed_that_the_answer_reports",
            f"{_charges}test_a_class_of_protocol_c",
            f"{_charges}test_what_no_price_covers_is_counted",
        ),
    ),
    Mutation(
        "calls without a price are not told",
        "src/money/bill.rs",
        "if usage.calls(call) > 0 && prices.call(call).is_none() {",
        "if usage.calls(call) > u64::MAX - 1 && prices.call(call).is_none() {",
        (f"{_charges}test_searches_that_are_reported", f"{_charges}test_searches_of_responses"),
    ),
    # ---- One reading
    Mutation(
        "parameters of protocol C go on",
        "src/exchange/authorization.rs",
        "            parameters::of_call(target)?;",
        "            let _ = parameters::of_call(target);",
        ("test_wire_parameters.py::test_parameters_of_calls",),
    ),
    Mutation(
        "headers go on",
        "src/exchange/upstream_head.rs",
        "for name in head.names().filter_map(kept_back) {",
        'for name in head.names().filter_map(kept_back).filter(|name| name.contains("api-key")) {',
        ("test_wire_headers.py::test_headers_that_stay_here", "test_abuse_paths.py::test_headers_that_choose"),
    ),
    # ---- The ledger
    Mutation(
        "the path in the ledger is not cut",
        "src/exchange/request.rs",
        "path: excerpt(target.path, MAX_PATH),",
        "path: excerpt(target.path, usize::MAX),",
        ("test_abuse_lines.py::test_without_a_key", "test_abuse_lines.py::test_what_is_kept_of_a_path"),
    ),
    Mutation(
        "the method in the ledger is not cut",
        "src/exchange/request.rs",
        "method: excerpt(head.method(), MAX_METHOD),",
        "method: excerpt(head.method(), usize::MAX),",
        ("test_abuse_lines.py::test_without_a_key[a long method-h2]",),
    ),
)


class Failed(Exception):
    """What a mutation shows that it should not."""


def problems(mutations: Iterable[Mutation] = MUTATIONS) -> list[str]:
    """The mutations whose text is not there exactly once, or whose cases are in no file."""
    found = []
    for mutation in mutations:
        count = (ROOT / mutation.file).read_text(encoding="utf-8").count(mutation.old)
        if count != 1:
            found.append(f"{mutation.name}: its text stands {count} times in {mutation.file}")
        for case in mutation.cases:
            file, _, test = case.partition("::")
            text = (Path(__file__).parent / file).read_text(encoding="utf-8")
            if not re.search(rf"^def {re.escape(test.partition('[')[0])}\(", text, re.M):
                found.append(f"{mutation.name}: there is no case {case}")
    return found


def copy_tree() -> None:
    """Brings the copy up to date: only files that differ are written, so that cargo builds only these."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    names = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        source, copy = ROOT / name, TREE / name
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    for copy in TREE.rglob("*"):
        if copy.is_file() and not copy.is_symlink() and str(copy.relative_to(TREE)) not in names:
            copy.unlink()
    for name in SHARED:
        link = BUILT / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            link.symlink_to(TARGET / name)


def environment() -> dict[str, str]:
    more = {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in PROFILE.items()}
    return {**os.environ, **more, "CARGO_TARGET_DIR": str(BUILT), "PYTHONPATH": "envoy:tests/runner", "PYTHONDONTWRITEBYTECODE": "1"}


def build() -> None:
    """Builds the filter of the copy."""
    command = ["cargo", "rustc", "--release", "--lib", "--crate-type", "cdylib", "--target", "wasm32-wasip1"]
    done = subprocess.run([*command, "--package", "trilane"], cwd=TREE, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise Failed("it does not compile:\n" + done.stderr[-3000:])


def run(cases: Sequence[str]) -> dict[str, str]:
    """What became of each test that these select: `passed`, `failed`, `error` or `skipped`."""
    report = BUILT / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command += [f"tests/e2e/abuse/{case}" for case in cases]
    done = subprocess.run(command, cwd=TREE, env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    if not report.exists():
        raise Failed("the tests did not run:\n" + done.stdout[-3000:] + done.stderr[-1000:])
    became = {}
    for test in ElementTree.parse(report).iter("testcase"):
        file = test.get("classname", "").rpartition(".")[2] + ".py"
        kinds = [child.tag for child in test if child.tag in ("failure", "error", "skipped")]
        word = {"failure": "failed", "error": "error", "skipped": "skipped"}[kinds[0]] if kinds else "passed"
        became[f"{file}::{test.get('name')}"] = word
    return became


def of_case(became: dict[str, str], case: str) -> list[str]:
    """What became of the tests of one case."""
    return [word for name, word in became.items() if name == case or name.startswith(f"{case}[")]


def judge_whole(became: dict[str, str], cases: Sequence[str]) -> None:
    """Nothing is taken out: all must pass."""
    bad = [f"{name}: {word}" for name, word in became.items() if word not in ("passed", "skipped")]
    if bad:
        raise Failed("these do not pass with every check in its place:\n  " + "\n  ".join(bad))
    missing = [case for case in cases if not of_case(became, case)]
    if missing:
        raise Failed("these are no cases:\n  " + "\n  ".join(missing))


def judge(became: dict[str, str], mutation: Mutation) -> None:
    """The check is out: each case must notice."""
    blind = [case for case in mutation.cases if "failed" not in of_case(became, case)]
    if blind:
        raise Failed("these do not notice:\n  " + "\n  ".join(blind))


def mutate(mutation: Mutation) -> None:
    """Tries one mutation in the copy, and takes it back."""
    file = TREE / mutation.file
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        build()
        judge(run(mutation.cases), mutation)
    finally:
        file.write_text(whole, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", default=[], help="the mutations whose names contain this")
    parser.add_argument("--list", action="store_true", help="say which mutations there are")
    parser.add_argument("--check", action="store_true", help="only see whether every text and case is there")
    options = parser.parse_args()
    chosen = [m for m in MUTATIONS if not options.only or any(part in m.name for part in options.only)]
    if options.list:
        for mutation in chosen:
            print(f"{mutation.name}: {mutation.file}")
        return 0
    found = problems(chosen)
    if found or options.check:
        print("\n".join(found) or f"{len(chosen)} mutations can be made")
        return bool(found)
    copy_tree()
    failures = 0
    cases = sorted({case for mutation in chosen for case in mutation.cases})
    steps = [("nothing is taken out", None), *((mutation.name, mutation) for mutation in chosen)]
    for name, mutation in steps:
        began = time.monotonic()
        try:
            if mutation is None:
                build()
                judge_whole(run(cases), cases)
            else:
                mutate(mutation)
            word = "as it should be" if mutation is None else "noticed"
        except (Failed, subprocess.TimeoutExpired) as error:
            failures += 1
            word = f"FAILED: {error}"
        print(f"{name}: {word} ({time.monotonic() - began:.0f} s)", flush=True)
        if failures and mutation is None:
            return 1
    print(f"{len(chosen) - failures} of {len(chosen)} mutations were noticed")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
