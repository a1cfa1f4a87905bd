//! The meaning of each ending, and its remedy.

use trilane::ledger::{AttemptFailure, Ending, UsageStatus};

use super::line::LedgerLine;

/// The meaning of a `trilane.outcome`.
pub fn ending(outcome: &str) -> Option<&'static str> {
    Some(match Ending::named(outcome)? {
        Ending::Finished => text!("the answer was relayed whole"),
        Ending::ErrorEvent => {
            text!("the answer was relayed, with an error of the vendor's in its middle")
        }
        Ending::Truncated => text!("the answer ended before its protocol's end"),
        Ending::ClientAbort => text!("the client went away"),
        Ending::UpstreamReset => text!("the upstream broke off in the middle of its answer"),
        Ending::Timeout => text!("nothing moved any more in the middle of the answer"),
        Ending::UpstreamError => text!("the upstream's own error was relayed"),
        Ending::UpstreamFailed => {
            text!("no upstream gave an answer that could be relayed: the client has the gateway's")
        }
        Ending::Refused => text!("the gateway refused the request"),
        Ending::Answered => text!("the gateway answered itself"),
    })
}

/// The meaning of a failed attempt's `kind`.
pub fn failure(kind: &str) -> &str {
    use AttemptFailure as Failure;
    match Failure::named(kind) {
        Some(Failure::RateLimited) => text!("has reached a limit"),
        Some(Failure::Overloaded) => text!("is overloaded"),
        Some(Failure::ServerError) => text!("had a fault of its own"),
        Some(Failure::Unauthorized) => text!("refused its credential, or its balance is used up"),
        Some(Failure::Redirected) => text!("sent the request elsewhere (3xx)"),
        Some(Failure::NoCredential) => {
            text!("has no credential that can be read: nothing was sent")
        }
        Some(Failure::Connection) => text!("could not be reached, or broke off before an answer"),
        Some(Failure::Tls) => {
            text!("has a certificate that is not believed, or speaks no TLS: nothing was sent")
        }
        Some(Failure::NoHost) => text!("has a name without an address"),
        Some(Failure::NoAnswer) => text!("began no answer in time"),
        Some(Failure::NoModel) => text!("does not have the model"),
        Some(Failure::NoTime) => text!("was not asked any more: the time was over"),
        Some(Failure::BodyTooLarge) => {
            text!(
                "was not asked any more: the body is longer than what is kept for another attempt"
            )
        }
        Some(Failure::AccountLimit) => text!("was not asked: its own limits did not allow it"),
        Some(Failure::Request) | None => kind,
    }
}

/// The meaning of a `trilane.usage.status`.
pub fn numbers(status: &str) -> &str {
    match UsageStatus::named(status) {
        Some(UsageStatus::Complete) => "as the upstream reported them",
        Some(UsageStatus::Estimated) => "not all of it was reported, the rest is estimated",
        Some(UsageStatus::Partial) => {
            "not all of it was reported, and the source lets the rest go: lower bounds"
        }
        Some(UsageStatus::None) => "nothing was made",
        Some(UsageStatus::Failed) => "the upstream gave an error, or no answer",
        None => status,
    }
}

/// A cause and its remedy.
#[derive(Debug, Clone, Copy)]
pub struct Cause {
    /// The cause.
    pub why: &'static str,
    /// The remedy.
    pub cure: &'static str,
}

/// The cause of a failure; `None` for a success.
pub fn of(line: &LedgerLine) -> Option<Cause> {
    let cause = |why, cure| Some(Cause { why, cure });
    let status = line.number("http.response.status_code").unwrap_or(0);
    let Some(outcome) = line.text("trilane.outcome") else {
        return cause(
            text!("Envoy answered before the filter saw it"),
            text!("flags and details say why, in Envoy's words (its documentation lists them)"),
        );
    };
    match outcome {
        "refused" => refusal(line),
        "upstream_failed" if line.text("error.type") == Some("model_not_entitled") => cause(
            text!("the vendor says that our account may not use this model"),
            text!(
                "give the account the right to it, or set \"entitled\": false on the model, so that lists leave it out"
            ),
        ),
        "upstream_failed" if line.text("error.type") == Some("usage_option_refused") => cause(
            text!(
                "the vendor refuses stream_options, which the gateway had added to learn the usage"
            ),
            text!(
                "send the same request again: the account is asked without it from then on, and its usage is estimated"
            ),
        ),
        "upstream_failed" if refused_everywhere(line) => cause(
            text!("every account that was asked refused its credential"),
            text!(
                "the operator renews the accounts' credentials (trilane render --check names files that are not there); clients can do nothing"
            ),
        ),
        "upstream_failed" => cause(
            text!("no upstream gave an answer that could be relayed"),
            text!(
                "see the tries and the upstream's failure: its address, its certificate, its load. The same request may be sent again"
            ),
        ),
        "upstream_error" if status == 429 => cause(
            text!("the vendor limits our account"),
            text!("wait as its retry-after says, or give the source another account"),
        ),
        "upstream_error" => cause(
            text!("the vendor's own words went to the client"),
            text!("read them there; trilane.upstream_request_id is for its support"),
        ),
        "error_event" | "truncated" | "upstream_reset" => cause(
            text!("the vendor or the network on the way to it ended the answer"),
            text!(
                "the same request may be sent again; more of them speak of the account, which trilane_account_tries_total shows"
            ),
        ),
        "timeout" => cause(
            text!("nobody sent anything for as long as Envoy's idle timeouts allow"),
            text!(
                "raise failover.answer_seconds or the route's idle timeout where the model thinks that long"
            ),
        ),
        "client_abort" => cause(
            text!("the client hung up, was stopped, or ran into its own timeout"),
            text!("raise the client's timeout where nobody stopped it"),
        ),
        _ => None,
    }
}

/// Whether every attempt failed for its credential.
fn refused_everywhere(line: &LedgerLine) -> bool {
    let failed = line.list("trilane.tries.failed");
    let kind = |each: &serde_json::Value, wanted: &str| each["kind"].as_str() == Some(wanted);
    let credential = |each| kind(each, "unauthorized") || kind(each, "no_credential");
    if failed.is_empty() {
        return line.number("trilane.upstream_status") == Some(401);
    }
    failed.iter().all(credential)
}

/// The cause of a rejection, by its error code.
fn refusal(line: &LedgerLine) -> Option<Cause> {
    let code = line.text("error.type")?;
    let known_key = line.text("trilane.key.id").is_some();
    let (why, cure) = match code {
        "invalid_api_key" if known_key => (
            text!(
                "the key is known, but not good here: in a header that its group does not take, disabled, or at its end"
            ),
            text!(
                "send it in the protocol's own header, or set \"clients\": \"current\" on the group; trilane key list shows whether it is disabled or ended"
            ),
        ),
        "invalid_api_key" => (
            text!("there was no key, or one that nobody knows"),
            text!(
                "check which key the client sends, and in which header: authorization: Bearer (OpenAI-style), x-api-key (Anthropic-style), x-goog-api-key (Gemini-style). trilane explain --document FILE METHOD PATH --key-file says what is wrong with a key"
            ),
        ),
        "protocol_not_allowed" => (
            text!("the key's group does not serve this protocol"),
            text!("use the path of the group's protocol, or a key of a group that serves this one"),
        ),
        "model_not_found" => (
            text!("the key's group has no model of this name"),
            text!("name one of its models: trilane models --document FILE --key-id lists them"),
        ),
        "model_not_entitled" => (
            text!("the source's account has no right to this model"),
            text!(
                "name another model, or get the account the right and take \"entitled\": false away"
            ),
        ),
        "model_not_priced" => (
            text!(
                "the model has no price, and a budget of the key, its owner, alone or in its team, its team or its group cannot count it"
            ),
            text!(
                "name a model that has a price, or give this one prices, or \"free\": true, in the document"
            ),
        ),
        "model_above_multiplier" => (
            text!(
                "the multiplier of every source of the model is above the key's \"max_multiplier\""
            ),
            text!("name a cheaper model, or raise the key's \"max_multiplier\""),
        ),
        "address_not_allowed" => (
            text!(
                "the request came from an address that the key, or the person who owns it, does not allow; the client was told which"
            ),
            text!(
                "use the key from one of its addresses, or change \"addresses\" of the key or the person. Behind a proxy see trilane up --trusted-hops"
            ),
        ),
        "model_missing" => (
            text!("the body names no model"),
            text!("put \"model\" into the body"),
        ),
        "model_mismatch" => (
            text!(
                "the body names two models, or another one than the path or a part of it may name"
            ),
            text!("name one model, in one place"),
        ),
        "rate_limit_exceeded" => (
            text!("the limit was used up when the request came"),
            text!(
                "wait as retry-after says, use fewer requests at once, set max_tokens near to what is needed, or raise the limit"
            ),
        ),
        "insufficient_quota" => (
            text!("the budget was spent when the request came"),
            text!("wait for the next day or month (UTC), or raise the budget"),
        ),
        "server_is_overloaded" => (
            text!(
                "no policy was in force yet, the feed of keys was not read yet, or the request could not be counted"
            ),
            text!(
                "wait a second; where it stays so, see trilane_config_generation and the log of the loader"
            ),
        ),
        "ledger_unwritable" => (
            text!(
                "the gateway could not write its ledger, and its document refuses what would have no line"
            ),
            text!(
                "make room on the ledger's disk; what trilane up or the agent prints says why it cannot be written"
            ),
        ),
        "not_found" => (
            text!("there is no such path"),
            text!(
                "check the client's base address: …/v1 for OpenAI-style clients, no path for Anthropic-style ones, …/v1beta for Gemini-style ones"
            ),
        ),
        "method_not_allowed" => (
            text!("the path is there, for another method"),
            text!("see the answer's allow header"),
        ),
        "bad_path" => (
            text!("the path has characters that none may have"),
            text!("mend the client's path"),
        ),
        "invalid_version" => (
            text!("the anthropic-version header is missing, or one that strict groups do not know"),
            text!(
                "send anthropic-version: 2023-06-01, or set \"clients\": \"current\" on the group"
            ),
        ),
        "invalid_body" => (
            text!("the body is no JSON object that can be decided on"),
            text!(
                "see the message of the answer; explain the same body with trilane explain --document FILE POST PATH --body"
            ),
        ),
        "invalid_parameter" => (
            text!("a parameter of the query or the body is not allowed"),
            text!("see the message of the answer"),
        ),
        "request_too_large" => (
            text!("the body is longer than max_body"),
            text!("send less, or raise max_body"),
        ),
        "request_body_encoding_unsupported" => (
            text!("the body is compressed in a way that is not unpacked here"),
            text!("send it as it is, or unpacked by Envoy's decompressors (gzip, br, zstd)"),
        ),
        "unsupported_media_type" => (
            text!("the content-type is no JSON"),
            text!("send content-type: application/json"),
        ),
        "images_not_supported" => (
            text!("the group makes no images"),
            text!("set image_generation on the group, where its upstream can"),
        ),
        "count_tokens_not_supported" => (
            text!("the group counts no tokens"),
            text!("set count_tokens on the group, where its upstream can"),
        ),
        "caches_not_supported" => (
            text!(
                "the key, its owner, team or group has a budget or a limit of input tokens, and a cache's cost is not known before"
            ),
            text!(
                "send the content with each request, or make caches with a key without such limits"
            ),
        ),
        "member_not_allowed" => (
            text!("the body has a member that chooses a model, provider or price elsewhere"),
            text!("leave it out, or name it in \"passes\" of the source group"),
        ),
        "background_not_supported" => (
            text!("answers in the background cannot be charged"),
            text!("leave \"background\" out"),
        ),
        "service_tier_not_supported" => (
            text!("the model has no prices for the class of service that was asked for"),
            text!("ask for the ordinary one, or give the model prices for it (tiers)"),
        ),
        "upgrade_required" => (
            text!("WebSockets are not served"),
            text!("use the HTTP form of the endpoint"),
        ),
        "internal_error" => (
            text!("the gateway could not go on"),
            text!("look at Envoy's log at this time, and report it"),
        ),
        _ => (
            text!("the gateway refused it"),
            text!("see the message of the answer"),
        ),
    };
    Some(Cause { why, cure })
}
