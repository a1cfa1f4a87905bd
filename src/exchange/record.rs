//! The end of an exchange: what its phases knew becomes its record.

use std::rc::Rc;

use smol_str::SmolStr;

use super::attempts::attempts_at;
use super::authentication::{AuthenticatedCaller, RecordedKey};
use super::charging::{answering_account, bill_of, cost_of};
use super::dispatch::SeveralAccounts;
use super::environment::{Clock, StreamEnd};
use super::estimating::UnreportedExchange;
use super::limits::{RequestLimits, tokens};
use super::model_check::NamedModel;
use super::request_head::RequestLine;
use super::response::{Replaced, Response, UpstreamResult};
use super::upstream_request::UpstreamRequest;
use crate::config::account::Account;
use crate::ledger::{Ending, Record, UsageStatus};
use crate::limits::{Limit, Quotas, SubjectKind};
use crate::model::Model;
use crate::money::{Amount, is_ordinary};
use crate::protocol::{Endpoint, Operation, Protocol};
use crate::reply::Rejection;
use crate::usage::{Estimated, Reading};

/// The source of an exchange's record: the facts known of it when it was answered here, or is over.
#[derive(Debug, Default)]
pub(super) struct RecordBuilder {
    pub line: RequestLine,
    /// The holder of the valid key that the request has.
    pub caller: Option<AuthenticatedCaller>,
    /// The known key that is refused.
    pub refused_key: Option<Box<RecordedKey>>,
    /// The model that path or body name, or that a rejection found fault with.
    pub named: Option<NamedModel>,
    /// Whether the client asks for a stream.
    pub stream: bool,
    /// The upstream's side, where the request came so far.
    pub upstream: Option<UpstreamRequest>,
    /// Its limits, to be settled.
    pub limits: RequestLimits,
    /// The outcome at the upstream.
    pub result: UpstreamResult,
    /// The local reply to the request, if there was one.
    pub reply: Option<LocalReply>,
}

/// A reply without an upstream, or in place of its response.
#[derive(Debug)]
pub(super) enum LocalReply {
    /// The requested response: a model list, a health check.
    Answered,
    /// With an error.
    Rejected {
        /// The code of the rejection.
        code: &'static str,
        /// Whether the upstream is the reason.
        upstream_failed: bool,
        /// The limit that rejected it, and whose it is.
        limit: Option<(SubjectKind, Limit)>,
    },
}

impl LocalReply {
    /// Envoy's own, to a fault of the client's.
    pub(super) fn of_envoy(code: &'static str) -> Self {
        Self::Rejected {
            code,
            upstream_failed: false,
            limit: None,
        }
    }
}

impl RecordBuilder {
    /// Of a request that only the head is known of.
    pub(super) fn new(line: RequestLine) -> Self {
        Self {
            line,
            ..Self::default()
        }
    }

    /// The request is rejected.
    pub(super) fn reject(&mut self, rejection: &Rejection) {
        let replaced = matches!(
            &self.result,
            UpstreamResult::Replaced(Replaced {
                status: Some(_),
                ..
            })
        );
        if let Rejection::ModelNotFound { name, .. } | Rejection::ModelNotEntitled { name } =
            rejection
            && !replaced
        {
            self.named = Some(NamedModel::new(name, None));
        }
        self.reply = Some(LocalReply::Rejected {
            code: rejection.code(),
            upstream_failed: replaced
                || matches!(
                    rejection,
                    Rejection::UpstreamFailed
                        | Rejection::AccountsRefused
                        | Rejection::AccountsLimited { .. }
                        | Rejection::UsageOptionRefused
                        | Rejection::UpstreamForbade
                ),
            limit: match rejection {
                Rejection::LimitReached { scope, limit, .. } => Some((*scope, *limit)),
                _ => None,
            },
        });
    }

    /// The attempts at several accounts, where there were any.
    pub(super) fn several_accounts(&self) -> Option<&SeveralAccounts> {
        self.upstream.as_ref()?.several.as_deref()
    }

    /// Settles the limits of the exchange, and gives its record.
    pub(super) fn build(
        mut self,
        stream: &impl StreamEnd,
        environment: &(impl Clock + Quotas),
    ) -> Record {
        let mut reading = self.result.reading();
        reading.count_unnamed_output(self.output_cap());
        let ending = self.ending(&reading, stream);
        let status = self.status(ending, &reading);
        if status == UsageStatus::Failed {
            // A stream that begins with its input, and ends there.
            reading.usage = None;
            reading.others.clear();
        }
        let estimated = self.estimate(ending, status, &mut reading, environment);
        let model = self.model().map(Rc::clone);
        let (operation, protocol) = (self.operation(), self.protocol());
        let Self {
            line,
            caller,
            refused_key,
            named,
            stream: streamed,
            upstream,
            limits,
            result,
            reply,
        } = self;
        let upstream = upstream.as_ref();
        let endpoint = line.endpoint.as_ref().ok();
        let method = endpoint.and_then(Endpoint::method);
        let attempts = upstream.and_then(|it| attempts_at(it, &result, ending, stream));
        if status.is_of_an_answer() {
            let told = reading.inference_geo.take();
            let account = upstream.and_then(|it| answering_account(&it.route, attempts.as_ref()));
            reading.inference_geo = place_of(told, account);
        }
        let bill = upstream
            .and_then(|it| bill_of(it, model.as_ref(), method, &reading, status, environment));
        let relayed = result.relayed();
        let first_byte_us = relayed.and_then(|response| response.first_byte_us);
        let since = |earlier: Option<u64>, later: Option<u64>| later?.checked_sub(earlier?);
        let streaming_us = (streamed && ending == Ending::Finished)
            .then(|| since(first_byte_us, Some(environment.now_us())))
            .flatten();
        let (error, limit) = match reply {
            Some(LocalReply::Rejected { code, limit, .. }) => {
                (Some(SmolStr::new_static(code)), limit)
            }
            Some(LocalReply::Answered) | None => (reading.error.clone(), None),
        };
        let charged = bill.zip(upstream).and_then(|(bill, upstream)| {
            let (list, route) = (bill.list?, &upstream.route);
            let charge = list.times(route.multiplier)?;
            Some((charge, cost_of(list, route, attempts.as_ref())))
        });
        let (charge, cost) = charged.unzip();
        let (settled, counted) = limits.settle(
            upstream,
            tokens(&reading, status),
            charge.and_then(Amount::of),
            environment,
        );
        let response_bytes = relayed.map_or(0, |response| response.bytes);
        let (upstream_request_id, upstream_error, replaced) = match result {
            UpstreamResult::None => (None, None, Replaced::default()),
            UpstreamResult::Relayed(response) => {
                let (id, error) = (response.request_id, response.error);
                (
                    id.map(String::from),
                    error.map(|error| *error),
                    Replaced::default(),
                )
            }
            UpstreamResult::Replaced(mut replaced) => {
                let error = replaced.told.take().map(|told| told.error);
                (replaced.request_id.take(), error, replaced)
            }
        };
        let with_text = upstream.is_some_and(|it| it.route.source.error_text);
        let upstream_error = upstream_error.and_then(|error| error.told(with_text));
        let mut attempts = attempts;
        for failed in attempts
            .iter_mut()
            .flat_map(|attempts| &mut attempts.failed)
        {
            failed.error = failed.error.take().and_then(|error| error.told(with_text));
        }
        let key = match (caller, refused_key) {
            (Some(caller), _) => caller.into(),
            (None, Some(refused)) => *refused,
            (None, None) => RecordedKey::default(),
        };
        Record {
            endpoint: endpoint.map(|endpoint| endpoint.name().into()),
            operation: upstream.and(operation).map(Operation::name),
            protocol,
            upstream_model: named.as_ref().and_then(|named| named.upstream()),
            route: upstream.and_then(|it| it.route.taken()),
            model: model.map(|model| model.id.clone()),
            error,
            method: line.method,
            path: line.path,
            key: key.id,
            key_found_in: key.found_in,
            owner: key.owner,
            team: key.team,
            counts_as: key.counts_as,
            labels: None,
            group: key.group,
            requested_model: named.map(|named| named.requested),
            stream: streamed,
            ending,
            status,
            upstream_request_id,
            upstream_error,
            replaced_status: replaced.status,
            attempts,
            upstream_failure: replaced.failure,
            estimated,
            charge,
            cost: cost.flatten(),
            uncovered: bill.map(|bill| bill.uncovered).unwrap_or_default(),
            limit,
            settled,
            counted,
            currency: key.currency,
            request_bytes: upstream.map_or(0, |it| it.body.seen()),
            response_bytes,
            first_byte_us: since(upstream.map(|it| it.began_us), first_byte_us),
            streaming_us,
            reading,
        }
    }

    /// The protocol that the request speaks, where it is known.
    fn protocol(&self) -> Option<Protocol> {
        let caller = self.caller.as_ref();
        caller.map_or_else(|| self.line.protocol(), |caller| Some(caller.protocol))
    }

    /// The most tokens that the request allows to write.
    fn output_cap(&self) -> Option<u64> {
        let body = &self.upstream.as_ref()?.body;
        let each = body.scanner().output_cap()?;
        Some(each.saturating_mul(body.candidates()))
    }

    /// The operation that is metered.
    fn operation(&self) -> Option<Operation> {
        self.line.spec()?.operation
    }

    /// The model that the request's name for it means.
    fn model(&self) -> Option<&Rc<Model>> {
        self.named.as_ref()?.model.as_ref()
    }

    fn is_success(&self) -> bool {
        self.result.relayed().is_some_and(Response::is_success)
    }

    /// Returns the ending of the exchange.
    fn ending(&self, reading: &Reading, stream: &impl StreamEnd) -> Ending {
        match &self.reply {
            Some(LocalReply::Rejected {
                upstream_failed: true,
                ..
            }) => return Ending::UpstreamFailed,
            Some(LocalReply::Rejected { .. }) => return Ending::Refused,
            Some(LocalReply::Answered) => return Ending::Answered,
            None => {}
        }
        let response = self.result.relayed();
        // Clients of streams hang up as soon as they have read the protocol's own end, or an error.
        let over = response.is_some_and(|response| response.ended) || reading.finished;
        if !over {
            let cut = Ending::from_details(&stream.details());
            let told = self.is_success() && reading.error.is_some();
            return if cut == Ending::ClientAbort && told {
                Ending::ErrorEvent
            } else {
                cut
            };
        }
        if response.is_some() && !self.is_success() {
            return Ending::UpstreamError;
        }
        let is_metered = self.line.spec().is_some_and(|spec| spec.usage.is_some());
        if !is_metered || reading.finished {
            Ending::Finished
        } else if reading.error.is_some() {
            Ending::ErrorEvent
        } else {
            Ending::Truncated
        }
    }

    /// Returns the reliability of the numbers.
    fn status(&self, ending: Ending, reading: &Reading) -> UsageStatus {
        let (Some(_), Some(upstream)) = (self.operation(), &self.upstream) else {
            return UsageStatus::None;
        };
        let unreported = if upstream.route.source.unreported_free {
            UsageStatus::Partial
        } else {
            UsageStatus::Estimated
        };
        if self.is_success() {
            // Even where we cut the exchange short afterwards, something came back.
            let told = self.is_reported(reading) && !reading.excessive;
            return if told && ending == Ending::Finished {
                UsageStatus::Complete
            } else if self.is_void(ending, reading) {
                UsageStatus::Failed
            } else {
                unreported
            };
        }
        match ending {
            // It was refused, or Envoy waited for its end in vain, when an upstream may have been at work on it already.
            Ending::Refused if upstream.body.sent_json && self.result.is_none() => unreported,
            Ending::Refused | Ending::Answered => UsageStatus::None,
            // It gave an error, whether or not all of its words came through.
            _ if self.result.relayed().is_some() => UsageStatus::Failed,
            // No response had come. An upstream that has the whole request may be at work on it.
            Ending::ClientAbort if upstream.body.sent_json => unreported,
            Ending::ClientAbort => UsageStatus::None,
            _ => UsageStatus::Failed,
        }
    }

    /// Whether the source ended its response with nothing in it. Whoever leaves before may have had a response.
    fn is_void(&self, ending: Ending, reading: &Reading) -> bool {
        let by_source = matches!(
            ending,
            Ending::Finished | Ending::ErrorEvent | Ending::Truncated | Ending::UpstreamReset
        );
        by_source && reading.made_nothing
    }

    /// Whether the response tells what it used: tokens of both sides, or the images that it was to make. Searches alone say
    /// nothing of tokens, and neither do zeros.
    fn is_reported(&self, reading: &Reading) -> bool {
        reading.usage.as_ref().is_some_and(|usage| {
            let makes_images = self.operation() == Some(Operation::ImageGeneration);
            (makes_images && usage.images > 0)
                || (!reading.one_sided && (usage.input_tokens() > 0 || usage.output_tokens() > 0))
        })
    }

    /// Completes what was not reported by estimates, where it is to be charged.
    fn estimate(
        &self,
        ending: Ending,
        status: UsageStatus,
        reading: &mut Reading,
        clock: &impl Clock,
    ) -> Estimated {
        let (UsageStatus::Estimated, Some(upstream)) = (status, &self.upstream) else {
            return Estimated::default();
        };
        let UpstreamRequest {
            spec,
            body,
            began_us,
            ..
        } = upstream;
        let response = self.result.relayed();
        let waited_us = || clock.now_us().saturating_sub(*began_us);
        let waited_us: &dyn Fn() -> u64 = &waited_us;
        let not_awaited = matches!(ending, Ending::ClientAbort | Ending::Timeout);
        // A source that stalls or breaks off is not known to have been at work.
        let reasons = body.scanner().asks_for_reasoning()
            || self.named.as_ref().is_some_and(NamedModel::is_thinking);
        let left = response.filter(|_| reasons && ending == Ending::ClientAbort);
        let exchange = UnreportedExchange {
            operation: spec.operation,
            wire: spec.usage,
            body,
            response_bytes: response.map_or(0, |response| response.bytes),
            waited_us: not_awaited.then_some(waited_us),
            silent_us: left.map_or(0, |response| response.silent_us(clock)),
        };
        exchange.complete(reading)
    }
}

/// The place where the model ran: by the answer's word, else the region of the account that gave it.
fn place_of(told: Option<SmolStr>, account: Option<&Account>) -> Option<SmolStr> {
    let region = || account?.region.clone();
    match told {
        // An answer that says anywhere does not know the address that it was asked at.
        Some(place) if is_ordinary(&place) => region().or(Some(place)),
        Some(place) => Some(place),
        None => region(),
    }
}
