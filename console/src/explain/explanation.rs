//! A decision, with its reasons.

use std::rc::Rc;

use serde::Serialize;
use serde_json::{Map, Value};
use trilane::SmolStr;
use trilane::config::account::Account;
use trilane::exchange::{HeaderEdit, Route, Step};
use trilane::ledger::Record;
use trilane::protocol::match_request;
use trilane::protocol::query::RequestTarget;
use trilane::reply::Reply;

use super::request::DescribedRequest;
use super::step::{self, Credentials, DecisionStep};
use super::words::{
    group_text, later_text, limits, limits_text, message, model_text, own_list_lacks,
    own_list_text, prices, prices_text, route_text,
};
use crate::gateway::{BodyChange, KeyHolder, LocalGateway, RequestResult};

/// A decision, with its reasons.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// `forwarded`, `answered` or `refused`.
    pub decision: &'static str,
    /// The request's method.
    pub method: String,
    /// The path, without the query, which may contain a key.
    pub path: String,
    /// Each step of the decision.
    pub steps: Vec<DecisionStep>,
    /// The values that the decision resolved.
    #[serde(flatten)]
    pub found: Resolved,
    /// The upstream request, if there is one.
    pub upstream: Option<ForwardedRequest>,
    /// The gateway's own response, if there is one.
    pub answer: Option<ExplainedReply>,
}

/// The values that the decision resolved; `null` if it ended before.
#[derive(Debug, Default, Serialize)]
pub struct Resolved {
    /// The endpoint.
    pub endpoint: Option<String>,
    /// The protocol: `A`, `B` or `C`.
    pub protocol: Option<String>,
    /// The key's id.
    pub key: Option<String>,
    /// The key's group.
    pub group: Option<String>,
    /// The source that is asked first.
    pub source: Option<String>,
    entry: Option<&'static str>,
    /// The final multiplier.
    pub multiplier: Option<String>,
    /// The model as the request names it.
    pub named_model: Option<String>,
    /// The model of the group.
    pub model: Option<String>,
    /// The model as the source names it.
    pub upstream_model: Option<String>,
    /// The model's prices before the multiplier, as in a document; `free` where the document says so.
    prices: Option<Value>,
    /// By subject: `key`, `group`.
    pub limits: Map<String, Value>,
}

/// The upstream request.
#[derive(Debug, Serialize)]
pub struct ForwardedRequest {
    /// The Envoy cluster.
    pub cluster: String,
    /// The accounts; one of them gets the request.
    pub accounts: Vec<String>,
    /// The final URL with each account, without its query.
    pub urls: Vec<Url>,
    /// Names of headers that are removed.
    pub headers_removed: Vec<String>,
    /// Headers that are set.
    pub headers_set: Vec<(String, String)>,
    /// Places of the body that change.
    pub body_changes: Vec<BodyReplacement>,
}

/// A final URL.
#[derive(Debug, Serialize)]
pub struct Url {
    /// The account.
    pub account: String,
    /// The URL.
    pub url: String,
}

/// A replacement in the body.
#[derive(Debug, Serialize)]
pub struct BodyReplacement {
    /// The offset in the client's body, in bytes.
    pub at: usize,
    /// The number of bytes that are replaced.
    pub length: usize,
    /// The new bytes.
    pub replacement: String,
}

/// The gateway's own response.
#[derive(Debug, Serialize)]
pub struct ExplainedReply {
    /// The HTTP status.
    pub status: u16,
    /// The error code of a rejection.
    pub code: Option<String>,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body, exactly.
    pub body: String,
}

impl Explanation {
    /// Explains the result of a request.
    pub fn new(
        gateway: &LocalGateway,
        request: &DescribedRequest,
        asker: Option<&KeyHolder>,
        ran: &RequestResult,
    ) -> Self {
        let head = &request.head;
        let target = RequestTarget::parse(head.target());
        let matched = match_request(head.method(), target.path);
        let endpoint = matched.as_ref().ok();
        let credentials = endpoint.map(|endpoint| Credentials::new(endpoint, head, &target));
        let record = ran.record.as_ref();
        let key = record.and_then(|record| record.key.as_deref());
        let group = record.and_then(|record| gateway.policy().group(record.group.as_deref()?));
        let limits = limits(gateway, key, group);
        let code = record
            .filter(|_| ran.is_refused())
            .and_then(|record| record.error.clone());
        let end = ran.refused_at();
        let access = key
            .and_then(|id| gateway.world.key_of(id)?.access.clone())
            .map(Rc::from);
        let of_group = group.and_then(|group| {
            let record = record?;
            let mut route = Route::find(group, record.protocol?).ok()?;
            if let Some(taken) = &record.route {
                route.take_source(&taken.source);
            }
            Some(route)
        });
        let route = of_group
            .clone()
            .map(|route| route.with_access(access.as_ref()));
        let access = access.as_deref();
        let said = ran
            .reply
            .as_ref()
            .filter(|_| ran.is_refused())
            .and_then(message);
        let steps = step::ordered(ran, endpoint, !limits.is_empty(), |name| {
            let credentials = credentials.as_ref();
            match name {
                Step::Credential => credentials.map(Credentials::found),
                Step::Key => credentials.map(|c| c.standings(gateway, asker, end != Some(name))),
                Step::Model if end == Some(name) => {
                    let model = record.and_then(|record| record.requested_model.as_deref());
                    let own = route
                        .as_ref()
                        .zip(model)
                        .and_then(|(route, model)| own_list_lacks(route, access, model));
                    said.as_ref()
                        .map(|said| format!("{said}{}", own.unwrap_or_default()))
                }
                _ if end == Some(name) => said.clone(),
                // What no path takes is answered only where a browser asks what it may send.
                Step::Endpoint if matched.is_err() => {
                    Some(t!("a preflight of a listed web page: no key is asked for").into_owned())
                }
                Step::Endpoint => Some(step::endpoint(&matched)),
                Step::Route => group.zip(route.as_ref().zip(of_group.as_ref())).map(
                    |(group, (route, of_group))| {
                        let own = own_list_text(access);
                        format!("{}{own}", route_text(group, route, of_group.multiplier))
                    },
                ),
                Step::List => {
                    group.map(|group| format!("{}{}", group_text(group), own_list_text(access)))
                }
                Step::Version => Some(t!("as the group takes it").into_owned()),
                Step::Rights => Some(t!("the group may ask for it").into_owned()),
                Step::Body => Some(t!("{count} bytes", count = request.body.len())),
                Step::Model => record.map(|record| {
                    let later = route.as_ref().map(|route| later_text(route, record));
                    format!(
                        "{}{}",
                        model_text(record, endpoint),
                        later.unwrap_or_default()
                    )
                }),
                Step::Limits => Some(limits_text(&limits)),
            }
            .unwrap_or_default()
        });
        let decision = match &ran.reply {
            Some(_) if ran.is_refused() => "refused",
            Some(_) => "answered",
            None => "forwarded",
        };
        Self {
            decision,
            method: String::from_utf8_lossy(head.method()).into_owned(),
            path: String::from_utf8_lossy(target.path).into_owned(),
            steps,
            found: Resolved::new(record, asker, route.as_ref(), limits),
            upstream: route
                .filter(|_| ran.forwarded)
                .map(|route| ForwardedRequest::new(&route, target.path, ran)),
            answer: ran
                .reply
                .as_ref()
                .map(|reply| ExplainedReply::new(reply, code.map(String::from))),
        }
    }
}

impl Resolved {
    fn new(
        record: Option<&Record>,
        asker: Option<&KeyHolder>,
        taken: Option<&Route>,
        limits: Map<String, Value>,
    ) -> Self {
        let Some(record) = record else {
            return Self::default();
        };
        let route = record.route.as_ref();
        let owned = |text: &Option<SmolStr>| text.as_deref().map(str::to_owned);
        Self {
            endpoint: owned(&record.endpoint),
            protocol: record.protocol.map(|protocol| protocol.to_string()),
            key: owned(&record.key).filter(|_| !asker.is_some_and(KeyHolder::is_anybody)),
            group: owned(&record.group),
            source: route.map(|route| route.source.to_string()),
            entry: route.map(|route| route.entry.name()),
            multiplier: route.map(|route| route.multiplier.to_string()),
            named_model: owned(&record.requested_model),
            model: owned(&record.model),
            upstream_model: owned(&record.upstream_model).filter(|_| record.model.is_some()),
            prices: taken.and_then(|route| prices(record, route)),
            limits,
        }
    }

    /// The prices as text; `None` where nothing is charged.
    pub fn prices_text(&self) -> Option<String> {
        self.prices.as_ref().map(prices_text)
    }
}

impl ForwardedRequest {
    /// `path` is the request's.
    fn new(route: &Route, path: &[u8], ran: &RequestResult) -> Self {
        let accounts = route.source.accounts.iter().flat_map(|all| &all.accounts);
        let rewritten = ran.headers.iter().find_map(|edit| match edit {
            HeaderEdit::Set(":path", target) => Some(RequestTarget::parse(target).path),
            HeaderEdit::Set(..) | HeaderEdit::Remove(_) => None,
        });
        let path = String::from_utf8_lossy(rewritten.unwrap_or(path));
        let url = |account: &Account| Url {
            account: account.id.to_string(),
            url: account.url(&path),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut upstream = Self {
            cluster: route.source.cluster.to_string(),
            accounts: accounts
                .clone()
                .map(|account| account.id.to_string())
                .collect(),
            urls: accounts.map(url).collect(),
            headers_removed: Vec::new(),
            headers_set: Vec::new(),
            body_changes: Vec::new(),
        };
        for edit in &ran.headers {
            match edit {
                HeaderEdit::Remove(name) => upstream.headers_removed.push(name.to_string()),
                HeaderEdit::Set(name, value) => {
                    upstream.headers_set.push(((*name).to_owned(), text(value)))
                }
            }
        }
        let change = |BodyChange { at, length, bytes }: &BodyChange| BodyReplacement {
            at: *at,
            length: *length,
            replacement: text(bytes),
        };
        upstream.body_changes = ran.body.iter().map(change).collect();
        upstream
    }
}

impl ExplainedReply {
    fn new(reply: &Reply, code: Option<String>) -> Self {
        let header = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
        Self {
            status: reply.status,
            code,
            headers: reply.headers.iter().map(header).collect(),
            body: String::from_utf8_lossy(&reply.body).into_owned(),
        }
    }
}
