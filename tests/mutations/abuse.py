"""The checks that keep key holders from what is not theirs."""

from __future__ import annotations

from mutation import Mutation

_record = "src/exchange/record.rs"
_estimating = "src/exchange/estimating.rs"
_model_check = "src/exchange/model_check.rs"
_member = "src/body/json/member.rs"
_unreported = "abuse/test_abuse_unreported.py::"
_fields = "abuse/test_abuse_fields.py::"
_event = "abuse/test_abuse_usage_event.py::"
_steering = "abuse/test_abuse_steering.py::"
_charges = "abuse/test_abuse_charges.py::"
_budgets = "limits/test_limits_budgets.py::"

ABUSE: tuple[Mutation, ...] = (
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
        "the vendor chooses the model of an image tool",
        _model_check,
        "if scanner.image_tool_unnamed() && !route.has_image_model() {",
        "if scanner.image_tool_unnamed() && !route.has_image_model() && false {",
        (f"{_steering}test_an_image_tool_without_a_model",),
    ),
    Mutation(
        "caches under a budget",
        "src/exchange/authorization.rs",
        "if *endpoint == Endpoint::CreateCache && caller.subjects.iter().any(limits_input) {",
        "if *endpoint == Endpoint::CreateCache && caller.subjects.iter().any(limits_input) && false {",
        (f"{_steering}test_no_cache_under_a_budget",),
    ),
    Mutation(
        "caches cost nothing",
        "src/protocol/path.rs",
        'Some(allow) if text == "/v1beta/cachedContents" && method == b"POST" => {',
        'Some(allow) if text == "/v1beta/cachedContents" && method == b"-" => {',
        (f"{_steering}test_a_cache_is_charged",),
    ),
    # ---- Members that choose elsewhere
    Mutation(
        "members that choose elsewhere go on",
        _model_check,
        "if let Some(member) = scanner.steering().first_outside(route.source.passes) {",
        "if let Some(member) = scanner.steering().first_outside(route.source.passes).filter(|_| false) {",
        (
            f"{_steering}test_members_that_choose_elsewhere",
            f"{_steering}test_every_endpoint",
            f"{_steering}test_behind_the_window[provider]",
            f"{_steering}test_parts_of_forms",
            f"{_steering}test_tools_that_run_a_model_elsewhere",
            f"{_steering}test_what_a_source_lets_pass",
        ),
    ),
    Mutation(
        "only their plain spelling is known",
        "src/body/steering.rs",
        "[byte, behind @ ..] => Some((byte.to_ascii_lowercase(), behind)),",
        "[byte, behind @ ..] => Some((*byte, behind)),",
        (f"{_steering}test_members_that_choose_elsewhere", f"{_steering}test_lists_of_models"),
    ),
    Mutation(
        "words of a member's name have one joint",
        "src/body/steering.rs",
        "[byte, behind @ ..] if is_joint(*byte) => {",
        "[byte, behind @ ..] if is_joint(*byte) && *byte == b'_' => {",
        (f"{_steering}test_members_that_choose_elsewhere",),
    ),
    Mutation(
        "a list of models holds anything",
        _member,
        "            _ => return Err(BodyError::NotModels),\n",
        "            _ => {}\n",
        (f"{_steering}test_lists_of_models",),
    ),
    Mutation(
        "names of models in a list are not read",
        _member,
        "            b'\"' => self.begin_other(ModelRole::Runs, at),\n",
        "            b'\"' => {}\n",
        (f"{_steering}test_lists_of_models", f"{_fields}test_whatever_runs_a_model[fallback, by its name alone]"),
    ),
    Mutation(
        "an entry of a list need not name a model",
        "src/body/json.rs",
        "Some((KeyScope::Fallback, marks)) if !marks.has(ScopeMarks::MODEL) => {",
        "Some((KeyScope::Fallback, marks)) if !marks.has(ScopeMarks::MODEL) && false => {",
        (f"{_steering}test_lists_of_models",),
    ),
    Mutation(
        "parts of a form choose elsewhere",
        "src/body/multipart.rs",
        "            self.steering.insert(id);",
        "            let _ = id;",
        (f"{_steering}test_parts_of_forms",),
    ),
    Mutation(
        "tools choose elsewhere",
        _member,
        "if let Some(id) = steering {",
        "if let Some(id) = steering.filter(|_| false) {",
        (f"{_steering}test_tools_that_run_a_model_elsewhere",),
    ),
    Mutation(
        "names of members hold a NUL",
        "src/body/json/string.rs",
        "Some('\\0') if self.text == StringRole::Key => Err(BodyError::NulInName),",
        "Some('\\0') if self.text == StringRole::Key => Ok(()),",
        (f"{_steering}test_names_with_a_nul",),
    ),
    Mutation(
        "parameters of protocols A and B go on",
        "src/protocol/query.rs",
        "parameter.is_empty() || parameters::is_known(name, value)",
        "parameter.is_empty() || parameters::is_known(name, value) || true",
        (
            f"{_steering}test_parameters_that_are_not_known",
            "abuse/test_wire_parameters.py::test_credentials_in_queries_of_other_protocols",
        ),
    ),
    Mutation(
        "a parameter has another behind a semicolon",
        "src/protocol/parameters.rs",
        "KNOWN.contains(&name) && ValueRule::Text.has(value)",
        "KNOWN.contains(&name) && !value.is_empty()",
        (f"{_steering}test_a_parameter_behind_a_semicolon",),
    ),
    Mutation(
        "tenants share idempotency keys",
        "src/exchange/upstream_head.rs",
        "    hasher.update(key);",
        "    let _ = key;",
        (f"{_steering}test_idempotency_keys_of_two_tenants",),
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
        "Estimate::of(input(), body.scanner().output_cap(), body.candidates())",
        "Estimate::of(input(), body.scanner().output_cap(), body.candidates().min(1))",
        (f"{_fields}test_several_answers_reserve_several",),
    ),
    Mutation(
        "embeddings have an output",
        _estimating,
        "Some(Operation::Embeddings | Operation::CreateCache) => Estimate::of_reading(input()),",
        "Some(Operation::CreateCache) => Estimate::of_reading(input()),",
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
        ("abuse/test_wire_parameters.py::test_parameters_of_calls",),
    ),
    Mutation(
        "headers go on",
        "src/exchange/upstream_head.rs",
        "for name in head.names().filter_map(kept_back) {",
        'for name in head.names().filter_map(kept_back).filter(|name| name.contains("api-key")) {',
        ("abuse/test_wire_headers.py::test_headers_that_stay_here", "abuse/test_abuse_paths.py::test_headers_that_choose"),
    ),
    Mutation(
        "conditions go on",
        "src/exchange/kept_back.rs",
        '        | b"if"\n',
        "",
        ("abuse/test_wire_headers.py::test_headers_that_stay_here",),
    ),
    Mutation(
        "headers of answers lead elsewhere",
        "src/exchange/kept_back.rs",
        "                || leads_elsewhere(before, word)\n",
        "",
        ("abuse/test_wire_headers.py::test_headers_of_answers",),
    ),
    Mutation(
        "headers of answers name accounts",
        "src/exchange/kept_back.rs",
        "                || names_an_account(before, word);",
        "                || false;",
        ("abuse/test_wire_headers.py::test_headers_of_answers",),
    ),
    Mutation(
        "headers of answers speak for the gateway's origin",
        "src/exchange/kept_back.rs",
        "        || speaks_for_an_origin(name)\n",
        "",
        ("abuse/test_wire_headers.py::test_headers_of_answers",),
    ),
    Mutation(
        "trailers of answers lead elsewhere",
        "src/filter/http.rs",
        "        host::withhold_response_trailers();\n",
        "",
        ("accounts/test_trailers.py::test_trailers",),
    ),
    # ---- The ledger
    Mutation(
        "the path in the ledger is not cut",
        "src/exchange/request.rs",
        "path: excerpt(target.path, MAX_PATH),",
        "path: excerpt(target.path, usize::MAX),",
        ("abuse/test_abuse_lines.py::test_without_a_key", "abuse/test_abuse_lines.py::test_what_is_kept_of_a_path"),
    ),
    Mutation(
        "the method in the ledger is not cut",
        "src/exchange/request.rs",
        "method: excerpt(head.method(), MAX_METHOD),",
        "method: excerpt(head.method(), usize::MAX),",
        ("abuse/test_abuse_lines.py::test_without_a_key[a long method-h2]",),
    ),
    # ---- Budgets while requests are under way
    Mutation(
        "a budget reserves nothing",
        "src/limits/budget.rs",
        "charge.min(most.half())",
        "charge.min(most.half()).min(Amount::ZERO)",
        (
            f"{_budgets}test_sixty_at_once_spend_a_budget_and_no_more",
            f"{_budgets}test_a_huge_cap_leaves_half_for_others",
            f"{_budgets}test_a_cap_behind_the_window_is_reserved_before_the_last_byte_goes",
        ),
    ),
    Mutation(
        "one huge cap reserves all of a budget",
        "src/limits/budget.rs",
        "charge.min(most.half())",
        "charge.min(most)",
        (f"{_budgets}test_a_huge_cap_leaves_half_for_others",),
    ),
    Mutation(
        "what stands behind the window is not reserved",
        "src/exchange/forwarded.rs",
        "                local::extend(caller, upstream, method(), environment)?;\n",
        "",
        (f"{_budgets}test_a_cap_behind_the_window_is_reserved_before_the_last_byte_goes",),
    ),
    Mutation(
        "a request does not wait for its cap",
        "src/exchange/limits/local.rs",
        "counts_tokens(subject) || subject.may_have_budget()",
        "counts_tokens(subject)",
        (f"{_budgets}test_a_cap_at_the_end_is_reserved_before_anything_goes",),
    ),
    Mutation(
        "a member is told what others spend of a budget",
        "src/limits/subject.rs",
        "matches!(self, Self::Key | Self::Owner)",
        "matches!(self, Self::Key | Self::Owner | Self::Team | Self::Group)",
        (
            "limits/test_limits_headers.py::test_a_budget_that_others_use_as_well_is_not_told",
            f"{_budgets}test_a_group_s_budget_is_told_of_without_amounts",
        ),
    ),
)
