"""What keeps failover's promises: every account once at most, its own credential, bounds, order, ejection."""

from __future__ import annotations

from mutation import Edit, Mutation

_request = "src/failover/request.rs"
_choice = "src/failover/request/choice.rs"
_order = "src/failover/order.rs"
_states = "src/failover/states.rs"
_report = "src/failover/report.rs"
_attempt = "src/failover/attempt.rs"
_dispatch = "src/exchange/dispatch.rs"
_direct = "accounts/test_direct.py::"

_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key")
_PRIVATE = "{remove_on_match: {key_matcher: {prefix: x-envoy-, ignore_case: true}}}"

FAILOVER: tuple[Mutation, ...] = (
    # ---- Which account
    Mutation(
        "an account is asked twice",
        _choice,
        "let is_new = !progress.asked.contains(&place) && !progress.full.contains(&place);",
        "let is_new = !progress.full.contains(&place);",
    ),
    Mutation(
        "an ejected account is asked first",
        _order,
        "            self.ejected,\n            self.priority,",
        "            false,\n            self.priority,",
    ),
    Mutation(
        "priorities do not count",
        _order,
        "            self.ejected,\n            self.priority,",
        "            self.ejected,\n            0,",
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
        _choice,
        "if progress.asked.len() >= self.plan.bounds.attempts {",
        "if progress.asked.len() > 40 {",
    ),
    Mutation(
        "`total_seconds` does not bound",
        _dispatch,
        "until_us: began_us.saturating_add(total_us),",
        "until_us: began_us.saturating_add(total_us).max(u64::MAX),",
    ),
    Mutation(
        "an error of the request is taken elsewhere",
        _attempt,
        "kind == AttemptFailure::Request\n            || next",
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
        "let direct = (is_known && first.source == 0 && !may_wait) || !has_hop;",
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
    # ---- Where conversations stay
    Mutation(
        "a conversation that has moved goes back at once",
        _choice,
        "let stays = moved.is_within(self.cache_life_us(), now_us)\n            && !self.is_set_aside(place, states, now_us);",
        "let stays = false;",
        ("accounts/test_moved.py::test_a_conversation_stays_where_it_moved_and_returns",),
    ),
    Mutation(
        "a conversation that has moved never goes back",
        _choice,
        "let stays = moved.is_within(self.cache_life_us(), now_us)\n",
        "let stays = moved.is_within(u64::MAX, now_us)\n",
        ("accounts/test_moved.py::test_a_conversation_stays_where_it_moved_and_returns",),
        besides=(Edit(_states, "now_us < self.moved_until_us", "self.moved_until_us > 0"),),
    ),
    Mutation(
        "every failure moves its conversation",
        _choice,
        "others.is_some_and(|first| stays || self.is_set_aside(first, states, now_us))",
        "others.is_some()",
        ("accounts/test_moved.py::test_a_failure_that_sets_nobody_aside_moves_no_conversation",),
        besides=(
            Edit(_choice, "if !stays && is_quiet() {", "if false && is_quiet() {"),
        ),
    ),
    Mutation(
        "labels do not count",
        _choice,
        "is_new && self.may_own(owners, place)",
        "is_new && (self.may_own(owners, place) || true)",
        ("accounts/test_moved.py::test_what_an_account_keeps_is_asked_for_where_it_is",),
    ),
    # ---- Limits of accounts
    Mutation(
        "limits of accounts do not count",
        "src/failover/request/reserved.rs",
        "        is_reserved\n    }",
        "        let _ = is_reserved;\n        true\n    }",
        ("accounts/test_account_limits.py::test_an_account_at_its_limit_is_passed_over",),
    ),
    Mutation(
        "a failed attempt keeps its place",
        "src/failover/request/reserved.rs",
        "            limiter.settle(over, Consumption::default(), host, now());\n",
        "            drop(over);\n",
        ("accounts/test_account_limits.py::test_a_failed_attempt_gives_its_place_back",),
    ),
    Mutation(
        "load does not count",
        "src/failover/order.rs",
        "load: load(under_way, account.weight),",
        "load: u64::from(load(under_way, account.weight) > u64::MAX),",
        ("accounts/test_account_limits.py::test_the_least_busy_first",),
    ),
    Mutation(
        "an only account has no limits",
        "src/exchange/admitted_request.rs",
        "                limits.reserve_account(upstream, environment)?;\n",
        "",
        ("accounts/test_account_limits.py::test_an_only_account",),
    ),
    Mutation(
        "the length of another attempt's body",
        _attempt,
        "|| without_usage.is_some() || attempts.has_changed_body()",
        "|| without_usage.is_some()",
        ("accounts/test_sequence.py::test_random_states",),
    ),
    # ---- The option that reports usage
    Mutation(
        "an account that refuses the option is not asked again",
        _attempt,
        "attempts.ask_again();",
        "",
        ("accounts/test_usage_option.py::test_it_is_asked_without_it",),
    ),
    Mutation(
        "it is asked again with the option",
        _attempt,
        "filter(|_| refuses() == Some(true))",
        "filter(|_| refuses().is_none())",
        ("accounts/test_usage_option.py::test_it_is_asked_without_it",),
    ),
    Mutation(
        "a refusal of what the client asked is taken for its own",
        _attempt,
        "&& attempts.has_put_in_usage()",
        "&& attempts.has_asked_usage()",
        ("accounts/test_usage_option.py::test_it_is_asked_without_it",),
    ),
)
