//! A request that goes upstream: what was decided about it, and its body.

use super::authentication::AuthenticatedCaller;
use super::environment::{Forwarding, Step};
use super::limits::RequestLimits;
use super::outcome::HeaderEdit;
use super::record::RecordBuilder;
use super::request_body::BodyStep;
use super::request_head::RequestLine;
use super::response::UpstreamResult;
use super::upstream_request::UpstreamRequest;
use crate::limits::Quotas;
use crate::protocol::Endpoint;
use crate::reply::{Rejection, ReplyContext};

// Every forwarded request has one: docs/memory.md says what that comes to.
#[cfg(target_arch = "wasm32")]
const _: () = assert!(size_of::<AdmittedRequest>() <= 896);

/// A request that goes upstream, or will once its body has named the model.
#[derive(Debug)]
pub(super) struct AdmittedRequest {
    pub line: RequestLine,
    pub caller: AuthenticatedCaller,
    pub reply: ReplyContext,
    pub upstream: UpstreamRequest,
    pub limits: RequestLimits,
}

impl AdmittedRequest {
    /// Reads the next bytes of the body; `end` says that they are the last. Before the head is released the request is
    /// counted against its limits: one that is rejected for another reason costs nothing. Where the head had to be
    /// released before the body was known, budgets are asked again before its last bytes are.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        end: bool,
        environment: &impl Forwarding,
    ) -> Result<BodyStep, Rejection> {
        let Self {
            line,
            caller,
            upstream,
            limits,
            ..
        } = self;
        let mut bytes = bytes;
        if upstream.route.is_open() {
            upstream.body.read_ahead(core::mem::take(&mut bytes));
            upstream.choose(line, caller, environment)?;
        }
        let held = !upstream.body.head_released();
        let (sent_whole, sent_json) = (upstream.body.sent_whole, upstream.body.sent_json);
        let asked = upstream.body.usage_added;
        let mut step = upstream
            .body
            .read(bytes, end, &upstream.route, environment)?;
        if let BodyStep::Release(edits) = &mut step {
            environment.begin(Step::Limits);
            let endpoint = line.endpoint.as_ref().ok();
            let method = || endpoint.and_then(Endpoint::method);
            if let Some(endpoint) = endpoint {
                if held {
                    upstream.find_later(endpoint);
                }
                if upstream.body.sent_json && !sent_json {
                    upstream.settle_later(endpoint, || caller.has_budget(environment));
                }
            }
            if held {
                let reserved = limits.reserve(caller, upstream, method(), environment);
                // What was to be released goes nowhere.
                upstream.body.sent_json &= reserved.is_ok();
                reserved?;
                limits.reserve_account(upstream, environment)?;
                upstream.dispatch(&mut edits.headers, endpoint, environment);
                edits.descriptors = limits.ask_service(caller, upstream.body.models().model());
            } else {
                if upstream.body.sent_json && !sent_json {
                    let extended = limits.extend(caller, upstream, method(), environment);
                    upstream.body.sent_json &= extended.is_ok();
                    extended?;
                }
                if upstream.body.sent_whole
                    && !sent_whole
                    && let Some(several) = &upstream.several
                {
                    several.on_body_end(&upstream.body, environment);
                }
            }
        }
        if let BodyStep::Release(edits) = &mut step
            && !asked
        {
            upstream.leave_out_usage(edits, environment);
        }
        Ok(step)
    }

    /// The headers of a response that say what is left of the caller's limits.
    pub(super) fn limit_headers(&self, quotas: &impl Quotas) -> impl Iterator<Item = HeaderEdit> {
        let headers = self.limits.headers(&self.caller, quotas).into_iter();
        headers.map(|(name, value)| HeaderEdit::Set(name, value.into_bytes()))
    }

    /// Returns the builder of the exchange's record, the upstream having done `result`.
    pub(super) fn into_record(self: Box<Self>, result: UpstreamResult) -> Box<RecordBuilder> {
        let Self {
            line,
            caller,
            mut upstream,
            limits,
            ..
        } = *self;
        upstream.follow_attempts();
        Box::new(RecordBuilder {
            line,
            caller: Some(caller),
            named: upstream.body.models_mut().take_named(),
            stream: upstream.body.stream,
            upstream: Some(upstream),
            limits,
            result,
            ..RecordBuilder::default()
        })
    }
}
