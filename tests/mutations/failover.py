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

_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key")
_PRIVATE = "{remove_on_match: {key_matcher: {prefix: x-envoy-, ignore_case: true}}}"

FAILOVER: tuple[Mutation, ...] = (
    # ---- Which account
    Mutation(
        "an account is asked twice",
        _request,
        "let fresh = |account| !progress.asked.contains(&place(account));",
        "let fresh = |_| true;",
    ),
    Mutation(
        "an ejected account is asked first",
        _order,
        "(self.ejected, self.priority, self.load, self.draw, self.index)",
        "(false, self.priority, self.load, self.draw, self.index)",
    ),
    Mutation(
        "priorities do not count",
        _order,
        "(self.ejected, self.priority, self.load, self.draw, self.index)",
        "(self.ejected, 0, self.load, self.draw, self.index)",
    ),
    Mutation(
        "weights do not count",
        _order,
        "weight: u64::from(weight.max(1)),",
        "weight: u64::from(weight.clamp(1, 1)),",
    ),
    Mutation(
        "conversations wander",
        _order,
        "number: mix(affinity ^ marks.id),",
        "number: mix(marks.id),",
    ),
    # ---- Within which bounds
    Mutation(
        "`tries` does not bound",
        _request,
        "if progress.asked.len() >= self.plan.bounds.attempts {",
        "if progress.asked.len() > 40 {",
    ),
    Mutation(
        "`total_seconds` does not bound",
        _several,
        "until_us: began_us.saturating_add(total_us),",
        "until_us: began_us.saturating_add(total_us).max(u64::MAX),",
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
        "let direct = (of_source.has_answered(marks) && first.source == 0 && !may_wait) || !has_hop;",
        "let direct = !has_hop;",
    ),
    # ---- What ejects
    Mutation(
        "a failed direct attempt counts against nobody",
        _report,
        "        registry.note(event, &source.group, accounts, place.account, host);",
        "        let _ = (source, accounts, place, registry, host, event);",
    ),
    Mutation(
        "an answer does not wipe out failures",
        _states,
        "entry.ejection.on_answer();",
        "",
    ),
    Mutation(
        "one key sets accounts aside for all",
        _states,
        "AccountEvent::Interrupted(key) if self.keys.is_only(key, now_us) => {",
        "AccountEvent::Interrupted(key) if self.keys.is_only(key, now_us) || true => {",
    ),
    Mutation(
        "the only key is not believed",
        _states,
        "AccountEvent::Interrupted(key) if self.keys.is_only(key, now_us) => {",
        "AccountEvent::Interrupted(key) if self.keys.is_only(key, now_us) && false => {",
    ),
    Mutation(
        "a broken upload is its account's fault",
        _report,
        "None => attempts.silence(now_us),",
        "None => AccountEvent::Failed,",
    ),
    Mutation(
        "a broken upload by way of the hop is its account's fault",
        _attempt,
        "AttemptFailure::Connection if !was_not_made(&report) => attempts.silence(now_us),",
        "AttemptFailure::Connection if !was_not_made(&report) && false => attempts.silence(now_us),",
    ),
    Mutation(
        "an answer that breaks off is its account's fault",
        _report,
        "Some(status) if status < 300 => attempts.break_off(),",
        "Some(status) if status < 300 => AccountEvent::Failed,",
    ),
    Mutation(
        "a missing connection is not believed",
        _report,
        "None if report.flags & NO_CONNECTION != 0 => AccountEvent::Failed,",
        "None if report.flags & NO_CONNECTION != 0 => attempts.silence(now_us),",
    ),
    Mutation(
        "an answer's end does not wipe out interruptions",
        _states,
        "AccountEvent::Finished => entry.ejection.on_end(),",
        "AccountEvent::Finished => {}",
    ),
    Mutation(
        "an attempt does not wait for the body",
        _attempt,
        "if attempts.awaits_body(&|source| states_of(source, host), host.steady_us()) {",
        "if attempts.awaits_body(&|source| states_of(source, host), host.steady_us()) && attempts.asked() > 999 {",
    ),
    # ---- What leads elsewhere
    Mutation(
        "3xx is relayed",
        "src/exchange/response_head.rs",
        "    if status >= 300\n",
        "    if status >= 400\n",
    ),
    Mutation(
        "3xx is an answer, by way of the hop",
        _attempt,
        "if status < 300 && judged.is_none() {",
        "if status < 400 && judged.is_none() {",
    ),
    Mutation(
        "3xx does not count against an account that was asked directly",
        _report,
        "Some(status) if status >= 300 => {",
        "Some(status) if status >= 400 => {",
    ),
    Mutation(
        "ejections survive a change of their terms",
        _states,
        "(entry.terms == marks.terms).then_some(entry.ejection)",
        "Some(entry.ejection)",
    ),
)
