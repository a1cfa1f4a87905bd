//! The decision on a request's head, in the order in which the reasons to reject it are looked at.

use super::admitted_request::AdmittedRequest;
use super::authentication::{AuthenticatedCaller, authenticate};
use super::cors;
use super::dispatch::SeveralAccounts;
use super::environment::{
    ClientAddress, Environment, Forwarding, LedgerState, Origin, Step, Trace,
};
use super::include_usage::may_be_refused;
use super::limits::{RequestLimits, needs_body};
use super::local_replies::{health, list, usage};
use super::media;
use super::model_check::{Expectation, NamedModel};
use super::outcome::Edits;
use super::record::RecordBuilder;
use super::request_body::{BodyTerms, RequestBody};
use super::request_head::RequestLine;
use super::response::UpstreamResult;
use super::route::Route;
use super::upstream_head::{head_edits, source_edits};
use super::upstream_request::{UpstreamRequest, fits};
use crate::config::Policy;
use crate::config::policy::Clients;
use crate::config::snapshot::InForce;
use crate::head::Head;
use crate::limits::{Rate, Subject};
use crate::model::Model;
use crate::protocol::parameters;
use crate::protocol::query::RequestTarget;
use crate::protocol::{
    Endpoint, EndpointSpec, Mismatch, ModelPlace, Permission, Protocol, messages,
};
use crate::reply::{Rejection, Reply, ReplyContext};

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
            route.check_rights(endpoint)?;
        }
    }
    let (expects, named) = expected_model(endpoint, &route)?;
    let stream = endpoint.method() == Some("streamGenerateContent");
    environment.begin(Step::Body);
    let (content_length, media) = match media::judge(head, end, endpoint, policy.max_body) {
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

/// Authorizes what a caller asks of an endpoint: protocol, version, images, token counting, methods, parameters. Gives the
/// way to the source.
///
/// # Errors
/// The first of these that the caller's group may not have.
fn authorize(
    head: &Head,
    target: &RequestTarget<'_>,
    endpoint: &Endpoint,
    caller: &AuthenticatedCaller,
    trace: &impl Trace,
) -> Result<Route, Rejection> {
    trace.begin(Step::Route);
    let mut route =
        Route::find(&caller.group, caller.protocol)?.with_access(caller.access.as_ref());
    let strict = caller.group.clients == Clients::Strict;
    if strict && endpoint.is_for_current_clients(target.path) {
        return Err(Rejection::PathOfCurrentClients);
    }
    if endpoint.protocol() == Some(Protocol::B) {
        trace.begin(Step::Version);
        if !messages::takes_version(head, strict) {
            return Err(Rejection::Version { any_date: !strict });
        }
    }
    if endpoint.spec().needs.is_some() {
        trace.begin(Step::Rights);
    }
    route.check_rights(endpoint)?;
    match endpoint.spec().needs {
        None | Some(Permission::Images | Permission::CountTokens) => {}
        Some(Permission::AccountResources) => {
            if *endpoint == Endpoint::CreateCache && caller.subjects.iter().any(limits_input) {
                return Err(Rejection::CachesNotSupported);
            }
            if route.is_open() {
                route.choose_where(|source| source.account_resources);
            }
            parameters::of_resource(target)?;
        }
        Some(Permission::Method) => {
            parameters::of_call(target)?;
        }
    }
    Ok(route)
}

/// Whether a subject has a budget, or a limit of input tokens. How many tokens a cache takes nobody knows before it is made, and it
/// costs by the hour as long as it lives.
fn limits_input(subject: &Subject) -> bool {
    subject.may_have_budget() || subject.limits.per_minute(Rate::InputTokens).is_some()
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

fn asks_for_websocket(head: &Head) -> bool {
    head.values("upgrade")
        .any(|value| value.trim_ascii().eq_ignore_ascii_case(b"websocket"))
}
