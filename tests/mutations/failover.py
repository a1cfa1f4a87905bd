"""What keeps failover's promises: every account once at most, its own credential, bounds, order, ejection."""

from __future__ import annotations

from mutation import Edit, Mutation

_request = "src/failover/request.rs"
_order = "src/failover/order.rs"
_states = "src/failover/states.rs"
_report = "src/failover/report.rs"
_attempt = "src/failover/attempt.rs"
_several = "src/exchange/several_accounts.rs"
_direct = "accounts/test_direct.py::"
_aside = "accounts/test_set_aside.py::"
_one_key = "accounts/test_one_key.py::"
_redirects = "accounts/test_redirects.py::"

_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key")
_PRIVATE = "{remove_on_match: {key_matcher: {prefix: x-envoy-, ignore_case: true}}}"

FAILOVER: tuple[Mutation, ...] = (
    # ---- Which account
    Mutation(
        "an account is asked twice",
        _request,
        "let fresh = |index| !progress.asked.contains(index);",
        "let fresh = |_| true;",
        (_direct + "test_all_ejected", "accounts/test_all_fail.py::test_last_answer"),
    ),
    Mutation(
        "an ejected account is asked first",
        _order,
        "(self.ejected, self.priority, self.draw, self.index)",
        "(false, self.priority, self.draw, self.index)",
        (_aside + "test_aside_and_back", _aside + "test_next_tier_only_without_the_first"),
    ),
    Mutation(
        "priorities do not count",
        _order,
        "(self.ejected, self.priority, self.draw, self.index)",
        "(self.ejected, 0, self.draw, self.index)",
        (_aside + "test_next_tier_only_without_the_first",),
    ),
    Mutation(
        "weights do not count",
        _order,
        "weight: u64::from(weight.max(1)),",
        "weight: u64::from(weight.clamp(1, 1)),",
        ("accounts/test_affinity.py::test_weights",),
    ),
    Mutation(
        "conversations wander",
        _order,
        "number: mix(affinity ^ marks.id),",
        "number: mix(marks.id),",
        ("accounts/test_affinity.py::test_a_conversation_stays_with_its_account",),
    ),
    # ---- Within which bounds
    Mutation(
        "`tries` does not bound",
        _request,
        "if progress.asked.len() >= self.plan.bounds.attempts {",
        "if progress.asked.len() > 40 {",
        ("accounts/test_time.py::test_tries",),
    ),
    Mutation(
        "`total_seconds` does not bound",
        _several,
        "until_us: began_us.saturating_add(total_us),",
        "until_us: began_us.saturating_add(total_us).max(u64::MAX),",
        ("accounts/test_time.py::test_total_time",),
    ),
    Mutation(
        "an error of the request is taken elsewhere",
        _attempt,
        "kind == AttemptFailure::Request || next",
        "next",
        ("accounts/test_not_again.py::test_faults_of_the_request_behind_the_hop",),
        (Edit("envoy/envoy.yaml", "retriable_status_codes: [401,", "retriable_status_codes: [400, 401,"),),
    ),
    # ---- Whose credential, and by which way
    Mutation(
        "an account gets the credential of the account before",
        "control/src/render/account_cluster.rs",
        "const NAMES: [&str; 6] = [\n" + "".join(f'{" " * 8}"{each}",\n' for each in _CREDENTIALS),
        "const NAMES: [&str; 3] = [\n",
        (_direct + "test_a_direct_attempt_fails[429-chat]",),
        (
            Edit(
                "envoy/envoy.yaml",
                "".join(f"{' ' * 20}- {each}\n" for each in (*(f"{{remove: {each}}}" for each in _CREDENTIALS), _PRIVATE)),
                f"{' ' * 20}- {_PRIVATE}\n",
            ),
        ),
    ),
    Mutation(
        "every attempt passes the hop",
        _request,
        "let direct = states.has_answered(marks) || !has_hop;",
        "let direct = !has_hop;",
        (_direct + "test_a_direct_attempt_fails[429-chat]",),
    ),
    # ---- What ejects
    Mutation(
        "a failed direct attempt counts against nobody",
        _report,
        "        registry.note(event, source, accounts, index, host);",
        "        let _ = (source, accounts, index, registry, host, event);",
        (_direct + "test_a_direct_attempt_fails[429-chat]", _aside + "test_what_sets_aside"),
    ),
    Mutation(
        "an answer does not wipe out failures",
        _states,
        "entry.ejection.on_answer();",
        "",
        (_aside + "test_only_after_so_many_failures",),
    ),
    Mutation(
        "one key sets accounts aside for all",
        _states,
        "AccountEvent::Interrupted(key) if self.keys.is_only(key, now_us) => {",
        "AccountEvent::Interrupted(key) if self.keys.is_only(key, now_us) || true => {",
        (_one_key + "test_stalled_uploads", _one_key + "test_a_client_that_reads_too_late", _one_key + "test_streams_that_break_off"),
    ),
    Mutation(
        "the only key is not believed",
        _states,
        "AccountEvent::Interrupted(key) if self.keys.is_only(key, now_us) => {",
        "AccountEvent::Interrupted(key) if self.keys.is_only(key, now_us) && false => {",
        (_one_key + "test_an_only_key_finds_out_at_once",),
    ),
    Mutation(
        "a broken upload is its account's fault",
        _report,
        "None => attempts.silence(now_us),",
        "None => AccountEvent::Failed,",
        (_one_key + "test_stalled_uploads[asked directly]",),
    ),
    Mutation(
        "a broken upload by way of the hop is its account's fault",
        _attempt,
        "AttemptFailure::Connection if !was_not_made(&report) => attempts.silence(now_us),",
        "AttemptFailure::Connection if !was_not_made(&report) && false => attempts.silence(now_us),",
        (_one_key + "test_stalled_uploads[by way of the hop]",),
    ),
    Mutation(
        "an answer that breaks off is its account's fault",
        _report,
        "Some(status) if status < 300 => attempts.break_off(),",
        "Some(status) if status < 300 => AccountEvent::Failed,",
        (_one_key + "test_a_client_that_reads_too_late", _one_key + "test_streams_that_break_off"),
    ),
    Mutation(
        "a missing connection is not believed",
        _report,
        "None if report.flags & NO_CONNECTION != 0 => AccountEvent::Failed,",
        "None if report.flags & NO_CONNECTION != 0 => attempts.silence(now_us),",
        (_one_key + "test_failures_of_its_own_count_at_once[refuses]",),
    ),
    Mutation(
        "an answer's end does not wipe out interruptions",
        _states,
        "AccountEvent::Finished => entry.ejection.on_end(),",
        "AccountEvent::Finished => {}",
        (_one_key + "test_streams_that_break_off",),
    ),
    Mutation(
        "an attempt does not wait for the body",
        _attempt,
        "if attempts.asked() > 0 && !attempts.has_whole_body() {",
        "if attempts.asked() > 999 && !attempts.has_whole_body() {",
        (_one_key + "test_stalled_uploads", _one_key + "test_failures_of_its_own_count_at_once"),
    ),
    # ---- What leads elsewhere
    Mutation(
        "3xx is relayed",
        "src/exchange/response_head.rs",
        "    if status >= 300\n",
        "    if status >= 400\n",
        (_redirects + "test_one_account",),
    ),
    Mutation(
        "3xx is an answer, by way of the hop",
        _attempt,
        "if status < 300 {",
        "if status < 400 {",
        (_redirects + "test_two_accounts",),
    ),
    Mutation(
        "3xx does not count against an account that was asked directly",
        _report,
        "Some(status) if status >= 300 => {",
        "Some(status) if status >= 400 => {",
        (_redirects + "test_two_accounts",),
    ),
    Mutation(
        "ejections survive a change of their terms",
        _states,
        "(entry.terms == marks.terms).then_some(entry.ejection)",
        "Some(entry.ejection)",
        (_aside + "test_what_sets_aside",),
    ),
)
