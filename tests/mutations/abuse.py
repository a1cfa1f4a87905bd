"""The checks that keep key holders from what is not theirs."""

from __future__ import annotations

from mutation import Edit, Mutation

_record = "src/exchange/record.rs"
_estimating = "src/exchange/estimating.rs"
_model_check = "src/exchange/model_check.rs"
_member = "src/body/json/member.rs"

ABUSE: tuple[Mutation, ...] = (
    # ---- What no budget can count
    Mutation(
        "a budget lets a model without a price pass",
        "src/limits/limiter.rs",
        "        if estimate.unpriced\n",
        "        if estimate.unpriced && estimate.charge == Amount::GREATEST\n",
    ),
    # ---- What would have no line
    Mutation(
        "a ledger that cannot be written refuses nothing",
        "src/exchange/decision.rs",
        "    if policy.requires_ledger && spec.usage.is_some() && ledger.ledger_is_unwritable() {\n",
        "    if policy.requires_ledger && spec.usage.is_none() && ledger.ledger_is_unwritable() {\n",
    ),
    # ---- What vendors report
    Mutation(
        "text without output costs what is reported",
        _record,
        "(!reading.one_sided && (",
        "((!reading.one_sided || reading.one_sided) && (",
    ),
    Mutation(
        "a side that nobody reports is nothing",
        "src/usage/witness.rs",
        "            (Some(input), None) => whole.output = Some(rest(input)?),",
        "            (Some(input), None) => whole.output = rest(input).map(|_| 0),",
    ),
    Mutation(
        "the region of an account has no price",
        _record,
        "    let region = || account?.region.clone();",
        "    let region = || account?.region.clone().filter(|it| it.is_empty());",
    ),
    # ---- Who spends
    Mutation(
        "each key of a member has a budget of its own",
        "src/exchange/authentication.rs",
        "let all = all.map(Subject::told).chain(member);",
        "let all = all.map(Subject::told).chain(member.filter(|_| false));",
    ),
    Mutation(
        "an old value has a budget of its own",
        "src/exchange/authentication.rs",
        "let counters = key.counts_as.as_ref().unwrap_or(&key.id);",
        "let counters = key.counts_as.as_ref().filter(|_| false).unwrap_or(&key.id);",
    ),
    # ---- What nobody reported
    Mutation(
        "an answer without usage is not estimated",
        _record,
        "            } else {\n                unreported\n            };",
        "            } else {\n                UsageStatus::Partial\n            };",
    ),
    Mutation(
        "leaving before the head is free",
        _record,
        "Ending::ClientAbort if upstream.body.sent_json => unreported,",
        "Ending::ClientAbort if upstream.body.sent_json => UsageStatus::None,",
    ),
    Mutation(
        "leaving before the body was sent is charged",
        _record,
        "Ending::ClientAbort if upstream.body.sent_json => unreported,",
        "Ending::ClientAbort => unreported,",
    ),
    Mutation(
        "what an error reports is charged",
        _record,
        "_ if self.result.relayed().is_some() => UsageStatus::Failed,",
        "_ if self.result.relayed().is_some() => unreported,",
    ),
    Mutation(
        "unreported usage is never free",
        _record,
        "let unreported = if upstream.route.source.unreported_free {",
        "let unreported = if false {",
    ),
    Mutation(
        "no input is estimated",
        _estimating,
        "estimate.set(Kind::Input, input_tokens(body));",
        "estimate.set(Kind::Input, input_tokens(body).min(0));",
    ),
    Mutation(
        "no output is estimated",
        _estimating,
        "let text = written(self.response_bytes, reading);",
        "let text = written(self.response_bytes, reading).min(0);",
    ),
    Mutation(
        "time counts without a cap",
        _estimating,
        "tokens_in(waited_us()).min(reserved)",
        "tokens_in(waited_us()).max(reserved)",
    ),
    Mutation(
        "answers that nobody reads are not counted",
        "src/metrics/exchanges.rs",
        "let unread = u64::from(record.reading.unreadable);",
        "let unread = u64::from(record.reading.unreadable).min(0);",
    ),
    Mutation(
        "pictures that passed are not counted",
        _estimating,
        "estimate.set(Kind::OutputImage, self.picture_tokens(reading));",
        "estimate.set(Kind::OutputImage, self.picture_tokens(reading).min(0));",
    ),
    Mutation(
        "pictures of a tool are not counted",
        _estimating,
        "Some(Wire::Responses) => self.picture_tokens(reading),",
        "Some(Wire::Responses) => self.picture_tokens(reading).min(0),",
    ),
    Mutation(
        "sound that passed is not counted",
        _estimating,
        "estimate.set(Kind::OutputAudio, self.sound_tokens(reading));",
        "estimate.set(Kind::OutputAudio, self.sound_tokens(reading).min(0));",
    ),
    Mutation(
        "an event that is cut counts for nothing",
        "src/usage/sse.rs",
        "        if cut {\n            tally.cut();",
        "        if cut {\n            tally.discard();",
    ),
    Mutation(
        "searches of Messages are not counted",
        "src/usage/tally/entry.rs",
        'b"server_tool_use" => Self::ServerTool,',
        'b"server_tool_use" => Self::Other,',
    ),
    Mutation(
        "searches count when they are done",
        "src/usage/tally/sums.rs",
        ".saturating_add(self.open.calls(call))",
        ".saturating_add(self.open.calls(call).min(0))",
    ),
    Mutation(
        "silence is free",
        _record,
        "silent_us: left.map_or(0, |response| response.silent_us(clock)),",
        "silent_us: left.map_or(0, |response| response.silent_us(clock)).min(0),",
    ),
    Mutation(
        "silence counts from the first byte on",
        "src/exchange/response.rs",
        "None if !is_told && meter.has_begun() =>",
        "None if !is_told =>",
    ),
    Mutation(
        "caps of other endpoints count",
        _member,
        "if self.member == Some(KnownMember::OutputCap) && !self.cap.members.has(scope, key) {",
        "if self.member == Some(KnownMember::OutputCap) && !self.cap.members.has(scope, key) && false {",
    ),
    Mutation(
        "an estimate goes beyond the cap",
        _estimating,
        "                cap_output(&mut estimate, cap);",
        "                cap_output(&mut estimate, cap.max(1_000_000));",
        besides=(
            Edit(
                _estimating,
                "tokens_in(self.silent_us).min(cap.unwrap_or(MOST_HIDDEN_TOKENS));",
                "tokens_in(self.silent_us).min(MOST_HIDDEN_TOKENS);",
            ),
        ),
    ),
    Mutation(
        "complete JSON is not sent without its end",
        "src/exchange/request_body.rs",
        "self.sent_json |= end || (self.scanner.complete() && self.released == self.seen);",
        "self.sent_json |= end;",
    ),
    Mutation(
        "what is refused behind complete JSON is free",
        _record,
        "Ending::Refused if upstream.body.sent_json && self.result.is_none() => unreported,",
        "Ending::Refused if upstream.body.sent_json && self.result.is_none() => UsageStatus::None,",
    ),
    Mutation(
        "any number is a count",
        "src/usage/tally.rs",
        "if value > MAX_COUNT && !is_money {",
        "if value > u64::MAX - 1 && !is_money {",
        besides=(Edit("src/usage/template.rs", "filter(|value| *value <= MAX_COUNT)", "filter(|value| *value <= MAX_COUNT.max(u64::MAX))"),),
    ),
    # ---- The usage event
    Mutation(
        "the gateway does not ask by itself",
        "src/exchange/include_usage.rs",
        "None if source.catalog.has_prices() => Self::IfPriced,",
        "None if source.catalog.has_prices() => Self::No,",
    ),
    Mutation(
        "the event is not withheld",
        "src/exchange/include_usage.rs",
        "rest = if is_usage_event(event) {",
        "rest = if is_usage_event(event) && event.is_empty() {",
    ),
    Mutation(
        "the event is not withheld at the end of a stream",
        "src/exchange/include_usage.rs",
        "Err(_) if end && is_usage_event(rest) =>",
        "Err(_) if end && is_usage_event(rest) && rest.is_empty() =>",
    ),
    # ---- Members of bodies
    Mutation(
        "stream may be of any type",
        _member,
        "_ => return Err(BodyError::WrongType(Field::Stream)),",
        "_ => {}",
    ),
    Mutation(
        "background may be of any type",
        _member,
        "_ => return Err(BodyError::WrongType(Field::Background)),",
        "_ => {}",
    ),
    Mutation(
        "include_usage may be of any type",
        "src/body/json/usage_option.rs",
        "_ => return Err(BodyError::WrongType(Field::IncludeUsage)),",
        "_ => {}",
    ),
    Mutation(
        "work in the background",
        _model_check,
        "if scanner.background() == Some(true) {",
        "if scanner.background() == Some(true) && false {",
    ),
    Mutation(
        "image tools without the right",
        _model_check,
        "if scanner.image_tool() && !route.may_make_images() {",
        "if scanner.image_tool() && !route.may_make_images() && false {",
    ),
    Mutation(
        "the vendor chooses the model of an image tool",
        _model_check,
        "if scanner.image_tool_unnamed() && !route.has_image_model() {",
        "if scanner.image_tool_unnamed() && !route.has_image_model() && false {",
    ),
    Mutation(
        "caches under a budget",
        "src/exchange/decision.rs",
        "if *endpoint == Endpoint::CreateCache && caller.subjects.iter().any(limits_input) {",
        "if *endpoint == Endpoint::CreateCache && caller.subjects.iter().any(limits_input) && false {",
    ),
    Mutation(
        "caches cost nothing",
        "src/protocol/path.rs",
        'Some(allow) if text == "/v1beta/cachedContents" && method == b"POST" => {',
        'Some(allow) if text == "/v1beta/cachedContents" && method == b"-" => {',
    ),
    # ---- Members that choose elsewhere
    Mutation(
        "members that choose elsewhere go on",
        _model_check,
        "if let Some(member) = scanner.steering().first_outside(route.source.passes) {",
        "if let Some(member) = scanner.steering().first_outside(route.source.passes).filter(|_| false) {",
    ),
    Mutation(
        "only their plain spelling is known",
        "src/body/steering.rs",
        "[byte, behind @ ..] => Some((byte.to_ascii_lowercase(), behind)),",
        "[byte, behind @ ..] => Some((*byte, behind)),",
    ),
    Mutation(
        "words of a member's name have one joint",
        "src/body/steering.rs",
        "[byte, behind @ ..] if is_joint(*byte) => {",
        "[byte, behind @ ..] if is_joint(*byte) && *byte == b'_' => {",
    ),
    Mutation(
        "a list of models holds anything",
        _member,
        "            _ => return Err(BodyError::NotModels),\n",
        "            _ => {}\n",
    ),
    Mutation(
        "names of models in a list are not read",
        _member,
        "            b'\"' => self.begin_other(ModelRole::Runs, at),\n",
        "            b'\"' => {}\n",
    ),
    Mutation(
        "an entry of a list need not name a model",
        "src/body/json.rs",
        "Some((KeyScope::Fallback, marks)) if !marks.has(ScopeMarks::MODEL) => {",
        "Some((KeyScope::Fallback, marks)) if !marks.has(ScopeMarks::MODEL) && false => {",
    ),
    Mutation(
        "parts of a form choose elsewhere",
        "src/body/multipart.rs",
        "            self.steering.insert(id);",
        "            let _ = id;",
    ),
    Mutation(
        "tools choose elsewhere",
        _member,
        "if let Some(id) = steering {",
        "if let Some(id) = steering.filter(|_| false) {",
    ),
    Mutation(
        "names of members hold a NUL",
        "src/body/json/string.rs",
        "Some('\\0') if self.text == StringRole::Key => Err(BodyError::NulInName),",
        "Some('\\0') if self.text == StringRole::Key => Ok(()),",
    ),
    Mutation(
        "parameters of protocols A and B go on",
        "src/protocol/parameters.rs",
        "parameter.is_empty() || is_known(name, value)",
        "parameter.is_empty() || is_known(name, value) || true",
    ),
    Mutation(
        "a parameter has another behind a semicolon",
        "src/protocol/parameters.rs",
        "KNOWN.contains(&name) && ValueRule::Text.has(value)",
        "KNOWN.contains(&name) && !value.is_empty()",
    ),
    Mutation(
        "tenants share idempotency keys",
        "src/exchange/upstream_head.rs",
        "    hasher.update(key);",
        "    let _ = key;",
    ),
    Mutation(
        "other models are not looked at",
        _model_check,
        "            renamed.extend(self.check_other(&other, scanner, released, route)?);",
        "            renamed.extend(self.check_other(&other, scanner, released, route).unwrap_or_default());",
    ),
    Mutation(
        "the upstream may choose the model",
        _member,
        "return Err(BodyError::NotSupported(Field::ModelRouting));",
        "return Ok(());",
    ),
    Mutation(
        "dearer classes at the plain price",
        _model_check,
        "        check_class(prices, scanner)?;",
        "        let _ = check_class(prices, scanner);",
    ),
    Mutation(
        "dearer places at the plain price",
        _model_check,
        "let uncovered = unpriced(prices, tier, speed, scanner.inference_geo());",
        "let uncovered = unpriced(prices, tier, speed, None);",
    ),
    Mutation(
        "one answer is reserved, however many are asked for",
        _estimating,
        "Estimate::of(input(), body.scanner().output_cap(), body.candidates())",
        "Estimate::of(input(), body.scanner().output_cap(), body.candidates().min(1))",
    ),
    Mutation(
        "embeddings have an output",
        _estimating,
        "Some(operation) if operation.only_reads() => Estimate::of_reading(input()),",
        "Some(Operation::CreateCache) => Estimate::of_reading(input()),",
    ),
    # ---- Charges
    Mutation(
        "another model answers at the price of the one that was asked for",
        "src/exchange/charging.rs",
        "dearer(as_asked(), as_answered())",
        "as_asked().or(as_answered())",
    ),
    Mutation(
        "the answer's model is believed where it is cheaper",
        "src/exchange/charging.rs",
        "dearer(as_asked(), as_answered())",
        "as_answered().or(as_asked())",
    ),
    Mutation(
        "a model that is not listed is not told",
        "src/exchange/charging.rs",
        "        Some(AnsweredModel::Unlisted) => {",
        "        Some(AnsweredModel::Unlisted) if asked.prices.is_none() => {",
        besides=(Edit("src/exchange/charging.rs", "None | Some(AnsweredModel::Asked) => as_asked(),", "None | Some(AnsweredModel::Asked | AnsweredModel::Unlisted) => as_asked(),"),),
    ),
    Mutation(
        "spellings are other models",
        "src/model/answered.rs",
        "        if asked.is_called(&bare) {",
        "        if asked.is_called(&bare) && false {",
        besides=(
            Edit("src/model/answered.rs", "[bare.whole, bare.untagged, bare.base]", "[name, name, name]"),
            Edit("src/model/answered.rs", "others.find(|model| model.is_called(&bare))", "others.find(|model| model.is_called(&bare) && false)"),
        ),
    ),
    Mutation(
        "other models are not charged",
        "src/exchange/charging.rs",
        "let others = reading.others.iter().filter_map(",
        "let others = reading.others.iter().take(0).filter_map(",
    ),
    Mutation(
        "a class is charged at the plain price and not told",
        "src/money/bill.rs",
        "let (prices, left) = item.applicable();",
        "let (_, (prices, left)) = (item.applicable(), (item.prices, Uncovered::default()));",
    ),
    Mutation(
        "calls without a price are not told",
        "src/money/bill.rs",
        "if usage.calls(*call) > 0 && price().is_none() {",
        "if usage.calls(*call) > u64::MAX - 1 && price().is_none() {",
    ),
    # ---- Which source
    Mutation(
        "a tool's model of another source goes on",
        "src/exchange/route.rs",
        "Some(_) if elsewhere && !self.is_open => Err(",
        "Some(_) if elsewhere && self.is_open => Err(",
    ),
    Mutation(
        "a source counts tokens that does not",
        "src/exchange/upstream_request.rs",
        "        self.route.check_rights(endpoint)?;",
        "        let _ = self.route.check_rights(endpoint);",
    ),
    Mutation(
        "a multiplier of another source is charged",
        "src/exchange/route.rs",
        "        self.multiplier = own.unwrap_or(offer.multiplier);",
        "        self.multiplier = own.unwrap_or(self.multiplier);",
    ),
    Mutation(
        "a list by protocol has all",
        "src/exchange/local_replies.rs",
        "if of_c || mixed.lists_by_protocol =>",
        "if of_c =>",
    ),
    # ---- One reading
    Mutation(
        "parameters of protocol C go on",
        "src/exchange/decision.rs",
        "            parameters::of_call(target)?;",
        "            let _ = parameters::of_call(target);",
    ),
    Mutation(
        "headers go on",
        "src/exchange/upstream_head.rs",
        "for name in head.names().filter_map(stripped) {",
        'for name in head.names().filter_map(stripped).filter(|name| name.contains("api-key")) {',
    ),
    Mutation(
        "conditions go on",
        "src/exchange/upstream_head.rs",
        '        | b"if"\n',
        "",
    ),
    Mutation(
        "headers of answers lead elsewhere",
        "src/exchange/upstream_head.rs",
        "                || leads_elsewhere(before, word)\n",
        "",
    ),
    Mutation(
        "headers of answers name accounts",
        "src/exchange/upstream_head.rs",
        "                || names_an_account(before, word);",
        "                || false;",
    ),
    Mutation(
        "headers of answers speak for the gateway's origin",
        "src/exchange/upstream_head.rs",
        "        || speaks_for_an_origin(name)\n",
        "",
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
        "src/exchange/request_head.rs",
        "path: excerpt(target.path, MAX_PATH),",
        "path: excerpt(target.path, usize::MAX),",
    ),
    Mutation(
        "the method in the ledger is not cut",
        "src/exchange/request_head.rs",
        "method: excerpt(head.method(), MAX_METHOD),",
        "method: excerpt(head.method(), usize::MAX),",
    ),
    # ---- Budgets while requests are under way
    Mutation(
        "a budget reserves nothing",
        "src/limits/budget.rs",
        "charge.min(most.half())",
        "charge.min(most.half()).min(Amount::ZERO)",
    ),
    Mutation(
        "one huge cap reserves all of a budget",
        "src/limits/budget.rs",
        "charge.min(most.half())",
        "charge.min(most)",
    ),
    Mutation(
        "what stands behind the window is not reserved",
        "src/exchange/admitted_request.rs",
        "                    extended?;\n",
        "",
    ),
    Mutation(
        "a request does not wait for its cap",
        "src/exchange/limits.rs",
        "counts_tokens(subject) || subject.may_have_budget()",
        "counts_tokens(subject)",
    ),
    Mutation(
        "a member is told what others spend of a budget",
        "src/limits/subject.rs",
        "matches!(self, Self::Key | Self::Member | Self::Owner)",
        "matches!(self, Self::Key | Self::Member | Self::Owner | Self::Team | Self::Group)",
    ),
)
