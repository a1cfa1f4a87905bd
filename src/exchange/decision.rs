//! The decision on a request's head, in the order in which the reasons to reject it are looked at.

use serde_json::json;

use super::admitted_request::AdmittedRequest;
use super::authentication::{Authenticated, authenticate};
use super::authorization::{authorize, check_rights};
use super::cors;
use super::edits::Edits;
use super::environment::{ClientAddress, Environment, Forwarding, LedgerState, Origin};
use super::include_usage::may_be_refused;
use super::limits::{RequestLimits, needs_body};
use super::lists;
use super::media::{self, Media};
use super::model_check::Expectation;
use super::record::RecordBuilder;
use super::reply_context::ReplyContext;
use super::request::{AuthenticatedCaller, NamedModel, RequestLine};
use super::request_body::{BodyTerms, RequestBody};
use super::response::UpstreamResult;
use super::route::Route;
use super::several_accounts::SeveralAccounts;
use super::step::Step;
use super::upstream_head::{head_edits, source_edits};
use super::upstream_request::{UpstreamRequest, fits};
use super::usage_report;
use crate::body::BodyError;
use crate::config::Policy;
use crate::config::snapshot::InForce;
use crate::head::Head;
use crate::limits::Quotas;
use crate::model::Model;
use crate::protocol::query::RequestTarget;
use crate::protocol::{Dialect, Endpoint, EndpointSpec, Mismatch, ModelPlace, Protocol};
use crate::reply::{Rejection, Reply};

/// The treatment of a request, by its head.
#[derive(Debug)]
pub(super) enum Decision {
    /// It is answered here, as asked.
    Reply(Box<RecordBuilder>, Reply),
    /// It is rejected.
    Reject(Box<RecordBuilder>, ReplyContext, Rejection),
    /// It goes upstream, if its body has nothing against it.
    Forward(Box<AdmittedRequest>),
}

impl Decision {
    fn reject(known: RecordBuilder, context: ReplyContext, rejection: Rejection) -> Self {
        Self::Reject(Box::new(known), context, rejection)
    }

    /// The reply, or the rejection, to a request that only this is known of.
    fn of(known: RecordBuilder, context: ReplyContext, reply: Result<Reply, Rejection>) -> Self {
        match reply {
            Ok(reply) => Self::Reply(Box::new(known), reply),
            Err(rejection) => Self::reject(known, context, rejection),
        }
    }
}

/// Decides on a request by its head; `end` says that no body follows.
pub(super) fn decide(
    head: &Head,
    end: bool,
    in_force: Option<&InForce>,
    environment: &impl Environment,
) -> Decision {
    let target = RequestTarget::parse(head.target());
    let line = RequestLine::new(head, &target);
    let context = ReplyContext::new(line.protocol(), head);
    environment.begin(Step::Endpoint);
    let policy = in_force.map(|it| &it.policy);
    if let Some(reply) = policy.and_then(|it| cors::preflight(it, head, &target, &context)) {
        let known = RecordBuilder::new(line.of_preflight());
        return Decision::Reply(Box::new(known), reply);
    }
    let endpoint = match check_line(&line, head) {
        Ok(endpoint) => endpoint,
        Err(rejection) => return Decision::reject(RecordBuilder::new(line), context, rejection),
    };
    if *endpoint == Endpoint::Health {
        let reply = health(in_force, &context);
        return Decision::of(RecordBuilder::new(line), context, reply);
    }
    let authenticated = check_head(head)
        .map_err(Into::into)
        .and_then(|()| authenticate(head, &target, endpoint, in_force, environment));
    let (authenticated, policy) = match (authenticated, in_force) {
        (Ok(authenticated), Some(in_force)) => (authenticated, &in_force.policy),
        (Ok(_), None) => {
            let known = RecordBuilder::new(line);
            return Decision::reject(known, context, Rejection::NotReady);
        }
        (Err(denied), _) => {
            let known = RecordBuilder {
                refused_key: denied.key,
                ..RecordBuilder::new(line)
            };
            return Decision::reject(known, context, denied.rejection);
        }
    };
    let answered = match endpoint {
        _ if let Err(rejection) = check_address(&authenticated.caller, environment) => {
            Some(Err(rejection))
        }
        Endpoint::Usage => Some(usage(&authenticated, &context, environment)),
        _ if endpoint.spec().list.is_some() => {
            environment.begin(Step::List);
            let caller = &authenticated.caller;
            Some(list(caller, endpoint, &target, &context, environment))
        }
        _ => None,
    };
    let caller = authenticated.caller;
    if let Some(reply) = answered {
        let known = RecordBuilder {
            caller: Some(caller),
            ..RecordBuilder::new(line)
        };
        return Decision::of(known, context, reply);
    }
    let upstream = upstream_request(head, end, &target, endpoint, &caller, policy, environment);
    let admitted = match upstream {
        Ok(upstream) => AdmittedRequest {
            reply: context.with_left_out(endpoint, &target),
            line,
            caller,
            upstream,
            limits: RequestLimits::new(policy.limits_service),
        },
        Err(Unauthorized {
            named,
            stream,
            rejection,
        }) => {
            let known = RecordBuilder {
                caller: Some(caller),
                named,
                stream,
                ..RecordBuilder::new(line)
            };
            return Decision::reject(known, context, rejection);
        }
    };
    environment.begin(Step::Limits);
    let counted = admitted.limits.require_service(environment);
    match counted.and_then(|()| require_ledger(admitted.upstream.spec, policy, environment)) {
        Ok(()) => Decision::Forward(Box::new(admitted)),
        Err(rejection) => {
            let context = admitted.reply.clone();
            let known = Box::new(admitted).into_record(UpstreamResult::None);
            Decision::Reject(known, context, rejection)
        }
    }
}

/// The endpoint that a request asks for.
fn check_line<'a>(line: &'a RequestLine, head: &Head) -> Result<&'a Endpoint, Rejection> {
    line.endpoint.as_ref().map_err(|mismatch| match mismatch {
        Mismatch::UnknownPath { advice, .. } => Rejection::UnknownPath { advice: *advice },
        Mismatch::NotServed { .. } => Rejection::EndpointNotServed,
        Mismatch::WrongMethod { .. } if asks_for_websocket(head) => Rejection::UpgradeRequired,
        Mismatch::WrongMethod { allow, .. } => Rejection::WrongMethod { allow },
    })
}

/// Rejects what no endpoint takes.
fn check_head(head: &Head) -> Result<(), Rejection> {
    if asks_for_websocket(head) {
        return Err(Rejection::UpgradeRequired);
    }
    // HTTP/2 carries any byte in a target; an HTTP/1 upstream would see another request, or none.
    if !head.target().iter().all(u8::is_ascii_graphic) {
        return Err(Rejection::BadTarget);
    }
    Ok(())
}

/// Rejects a request from elsewhere than its key may be used from.
fn check_address(caller: &AuthenticatedCaller, origin: &impl Origin) -> Result<(), Rejection> {
    let access = caller.access.as_ref();
    let Some(allowed) = access.and_then(|access| access.addresses.as_ref()) else {
        return Ok(());
    };
    let address = match origin.client_address() {
        ClientAddress::Any => return Ok(()),
        ClientAddress::Known(address) if allowed.contains(address) => return Ok(()),
        ClientAddress::Known(address) => Some(address),
        ClientAddress::Unknown => None,
    };
    Err(Rejection::AddressNotAllowed { address })
}

/// Rejects what would be charged while the ledger cannot be written, where the document says so.
fn require_ledger(
    spec: &EndpointSpec,
    policy: &Policy,
    ledger: &impl LedgerState,
) -> Result<(), Rejection> {
    // What is not metered is not charged.
    if policy.requires_ledger && spec.usage.is_some() && ledger.ledger_is_unwritable() {
        return Err(Rejection::LedgerUnwritable);
    }
    Ok(())
}

fn health(in_force: Option<&InForce>, context: &ReplyContext) -> Result<Reply, Rejection> {
    in_force
        .filter(|policy| policy.is_ready())
        .ok_or(Rejection::NotReady)?;
    let body = json!({"status": "ok"});
    let id = context.request_id.as_deref();
    Ok(Reply::json(200, &body, context.dialect, id))
}

fn list(
    caller: &AuthenticatedCaller,
    endpoint: &Endpoint,
    target: &RequestTarget<'_>,
    context: &ReplyContext,
    quotas: &impl Quotas,
) -> Result<Reply, Rejection> {
    let body = lists::body(caller, endpoint.path_model(), target, quotas)?;
    let dialect = match caller.protocol {
        Protocol::C => Dialect::Native(Protocol::C),
        Protocol::A | Protocol::B => context.dialect,
    };
    let id = context.request_id.as_deref();
    Ok(Reply::written(200, body, dialect, id))
}

fn usage(
    authenticated: &Authenticated,
    context: &ReplyContext,
    quotas: &impl Quotas,
) -> Result<Reply, Rejection> {
    let body = usage_report::body(authenticated, quotas)?;
    let id = context.request_id.as_deref();
    Ok(Reply::written(200, body, context.dialect, id))
}

/// The rejection of a caller that may not have what it asks for, and the model that the path names.
#[derive(Debug)]
struct Unauthorized {
    named: Option<NamedModel>,
    stream: bool,
    rejection: Rejection,
}

impl From<Rejection> for Unauthorized {
    fn from(rejection: Rejection) -> Self {
        Self {
            named: None,
            stream: false,
            rejection,
        }
    }
}

/// Prepares what goes upstream, if the caller is authorized and the body is of a form that can be read.
fn upstream_request(
    head: &Head,
    end: bool,
    target: &RequestTarget<'_>,
    endpoint: &Endpoint,
    caller: &AuthenticatedCaller,
    policy: &Policy,
    environment: &impl Forwarding,
) -> Result<UpstreamRequest, Unauthorized> {
    let spec = endpoint.spec();
    let mut route = authorize(head, target, endpoint, caller, environment)?;
    if let Some(name) = endpoint.path_model() {
        environment.begin(Step::Model);
        let fits = |route: &Route, model: &Model| fits(endpoint, route, model, caller, environment);
        if route.is_open() && route.choose(name, fits) {
            check_rights(endpoint, &route)?;
        }
    }
    let (expects, named) = expected_model(endpoint, &route)?;
    let stream = endpoint.method() == Some("streamGenerateContent");
    environment.begin(Step::Body);
    let (content_length, media) = match check_body_head(head, end, endpoint, policy.max_body) {
        Ok(checked) => checked,
        Err(rejection) => {
            return Err(Unauthorized {
                named,
                stream,
                rejection,
            });
        }
    };
    let upstream_model = match &expects {
        Expectation::SameAs {
            upstream: Some(upstream),
            ..
        } => upstream,
        _ => endpoint.path_model().unwrap_or_default(),
    };
    let path = endpoint.upstream_path(upstream_model);
    let path = path.as_deref().map_or(target.path, str::as_bytes);
    let may_be_refused = may_be_refused(&route, spec.usage, environment);
    let several = SeveralAccounts::new(head, &route, &caller.key, path, may_be_refused);
    let mut headers = head_edits(head, target, endpoint, &caller.key, path);
    if !route.is_open() {
        headers.extend(source_edits(&route, path).into_iter().flatten());
    }
    headers.extend(media.edit);
    headers.extend(cors::own_headers(policy, head));
    let edits = Edits {
        headers,
        ..Edits::default()
    };
    let terms = BodyTerms {
        policy,
        spec,
        content_length,
        awaits: needs_body(&caller.subjects, spec),
        stream,
    };
    let body = RequestBody::new(&terms, &route, media.scanner, expects, named, edits);
    Ok(UpstreamRequest {
        spec,
        route,
        began_us: environment.now_us(),
        several: several.map(Box::new),
        body,
    })
}

/// Returns the requirement on the model in the body, and the model that the path names.
fn expected_model(
    endpoint: &Endpoint,
    route: &Route,
) -> Result<(Expectation, Option<NamedModel>), Rejection> {
    match (endpoint.spec().model, endpoint.path_model()) {
        (ModelPlace::Path, Some(name)) => {
            let model = route.model(name)?;
            let expects = Expectation::SameAs {
                id: model.id.clone(),
                upstream: model.upstream.clone(),
            };
            Ok((expects, Some(NamedModel::new(name, Some(model)))))
        }
        (ModelPlace::Optional, _) => Ok((Expectation::Any, None)),
        _ => Ok((Expectation::Named, None)),
    }
}

/// Rejects a body by its head alone: too long, still encoded, missing, or of a form that the endpoint does not take.
/// Gives its length, where the head tells it, and how it is read.
fn check_body_head(
    head: &Head,
    end: bool,
    endpoint: &Endpoint,
    max_body: u64,
) -> Result<(Option<u64>, Media), Rejection> {
    let encoded = head
        .values("content-encoding")
        .any(|value| !value.trim_ascii().eq_ignore_ascii_case(b"identity"));
    if encoded {
        return Err(Rejection::EncodingNotSupported);
    }
    let spec = endpoint.spec();
    let is_optional = spec.model == ModelPlace::Optional;
    if end && !is_optional {
        return Err(Rejection::Body(BodyError::Empty));
    }
    let length = head
        .get("content-length")
        .and_then(|value| core::str::from_utf8(value).ok())
        .and_then(|text| text.parse::<u64>().ok());
    if length.is_some_and(|length| length > max_body) {
        return Err(Rejection::TooLarge { limit: max_body });
    }
    let media = if end {
        Media::none()
    } else {
        media::judge(head, spec.takes_forms)?
    };
    Ok((length, media))
}

fn asks_for_websocket(head: &Head) -> bool {
    head.values("upgrade")
        .any(|value| value.trim_ascii().eq_ignore_ascii_case(b"websocket"))
}
