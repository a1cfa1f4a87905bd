//! One exchange: receive the request, decide the answer, obey the instructions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::http::{HeaderMap, HeaderValue, StatusCode, Version, header};
use hyper::{Request, Response};

use crate::answer::UnpacedResponse;
use crate::body::{AnswerBody, Cut};
use crate::call::{Family, SimulatedEndpoint};
use crate::control;
use crate::course::Guard;
use crate::entry::JournalEntry;
use crate::error;
use crate::fields::{Collector, RequestFields};
use crate::journal::Journal;
use crate::limits;
use crate::receive::receive;
use crate::steer::{Early, Point, Steer};
use crate::view::View;

/// The state that all requests of one listener share.
#[derive(Debug)]
pub struct Listener {
    /// The name of the listener.
    pub name: Arc<str>,
    /// The name as a header value.
    pub label: HeaderValue,
    /// The number of the listener in the journal.
    pub index: usize,
    /// The journal of all listeners.
    pub journal: Arc<Journal>,
}

/// Answers one request that came over a connection whose socket listens to `reset`.
pub async fn answer(
    request: Request<Incoming>,
    listener: Arc<Listener>,
    reset: Arc<AtomicBool>,
) -> Result<Response<AnswerBody>, Cut> {
    let (head, body) = request.into_parts();
    if head.uri.path().starts_with(control::PREFIX) {
        return Ok(control::answer(&head, &listener.journal));
    }
    let id = listener.journal.count(listener.index);
    let call = SimulatedEndpoint::of(
        &head.method,
        head.uri.path(),
        head.uri.query(),
        &head.headers,
    );
    let (steer, misled) = match Steer::read(&head.headers, &listener.name) {
        Ok(steer) => (steer, None),
        Err(problem) => (Steer::default(), Some(problem)),
    };
    // Only HTTP/1 is cut with its connection; HTTP/2 has a reset of its own.
    let reset = (head.version < Version::HTTP_2).then_some(reset);
    let course = listener.journal.begin();
    let entry = listener
        .journal
        .open(id, &listener.name, &head, &course, steer.echo);
    let exchange = SimulatedExchange {
        id,
        call,
        steer,
        misled,
        head,
        entry,
        guard: Guard(course),
        reset,
    };
    exchange.run(body, &listener.label).await
}

/// A request with its instructions.
struct SimulatedExchange {
    id: u64,
    call: SimulatedEndpoint,
    steer: Steer,
    /// The mistake in the instructions, if there is one.
    misled: Option<String>,
    head: Parts,
    entry: Option<Arc<JournalEntry>>,
    guard: Guard,
    reset: Option<Arc<AtomicBool>>,
}

impl SimulatedExchange {
    async fn run(self, body: Incoming, label: &HeaderValue) -> Result<Response<AnswerBody>, Cut> {
        let fields = self.take(body).await.map_err(|_| Cut)?;
        if !self.steer.delay.is_zero() {
            tokio::time::sleep(self.steer.delay).await;
        }
        if self.steer.stall == Some(Point::Head) {
            std::future::pending::<()>().await;
        }
        if self.steer.cut == Some(Point::Head) {
            if let Some(reset) = &self.reset {
                reset.store(true, Ordering::Relaxed);
            }
            return Err(Cut);
        }
        Ok(self.respond(fields, label))
    }

    /// Takes the request body, or not, as the request asked for.
    async fn take(&self, body: Incoming) -> Result<Result<RequestFields, String>, hyper::Error> {
        let into = |collector| {
            let course = Arc::clone(&self.guard.0);
            receive(
                body,
                course,
                self.entry.clone(),
                collector,
                self.steer.slow_read,
            )
        };
        match self.steer.early {
            Early::No => into(self.collector()).await,
            Early::Drain => {
                tokio::spawn(into(Collector::Skip));
                Ok(Ok(RequestFields::default()))
            }
            Early::Close => Ok(Ok(RequestFields::default())),
        }
    }

    fn collector(&self) -> Collector {
        if self.answers_blindly() || !self.call.reads_body() {
            return Collector::Skip;
        }
        Collector::new(
            self.head
                .headers
                .get(header::CONTENT_TYPE)
                .map(HeaderValue::as_bytes),
        )
    }

    /// Whether the answer is known before the body.
    fn answers_blindly(&self) -> bool {
        self.steer.echo || self.steer.error().is_some() || self.misled.is_some()
    }

    fn respond(
        self,
        fields: Result<RequestFields, String>,
        label: &HeaderValue,
    ) -> Response<AnswerBody> {
        let answer = self.decide(fields);
        let asked = self.steer.status.filter(|_| !answer.is_refusal());
        let status = asked.unwrap_or(answer.status);
        self.guard.0.answering(status);
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(answer.content_type),
        );
        headers.insert("x-sim-upstream", label.clone());
        if let Ok(id) = HeaderValue::from_str(&format!("sim-{}", self.id)) {
            if self.call.family() == Family::B {
                headers.insert("request-id", id.clone());
            }
            headers.insert("x-request-id", id);
        }
        if let Some(mark) = answer.mark {
            headers.insert("x-sim", HeaderValue::from_static(mark));
        }
        if let Some(seconds) = &self.steer.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.clone());
        }
        if self.steer.limits {
            limits::add(&mut headers, self.call.family());
        }
        let mut response = Response::new(AnswerBody::new(
            answer.source,
            &self.steer,
            self.reset,
            Some(self.guard),
        ));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }

    fn decide(&self, fields: Result<RequestFields, String>) -> UnpacedResponse {
        let refuse = |status, message: &str| {
            UnpacedResponse::error(self.call.family(), status, message, self.id, &self.steer)
        };
        if let Some(problem) = &self.misled {
            return UnpacedResponse::refusal(self.call.family(), problem, self.id, &self.steer);
        }
        if let Some(status) = self.steer.error() {
            if self.steer.scenario.leak {
                return refuse(status, &error::leak(self.call.family(), status));
            }
            return refuse(
                status,
                &format!("The simulator was asked for a {}.", status.as_u16()),
            );
        }
        if let Some(echo) = self.echo() {
            return echo;
        }
        if self.call.family() == Family::B
            && self.call.reads_body()
            && !self.head.headers.contains_key("anthropic-version")
        {
            return refuse(
                StatusCode::BAD_REQUEST,
                "anthropic-version: header is required",
            );
        }
        match fields {
            Err(problem) => refuse(
                StatusCode::BAD_REQUEST,
                &format!("Invalid JSON body: {problem}"),
            ),
            Ok(fields) if self.lacks_model(&fields) => {
                refuse(StatusCode::BAD_REQUEST, "model: field required")
            }
            Ok(fields) => UnpacedResponse::to(&self.call, &fields, &self.steer, self.id),
        }
    }

    fn lacks_model(&self, fields: &RequestFields) -> bool {
        let named = matches!(
            self.call,
            SimulatedEndpoint::Chat
                | SimulatedEndpoint::Responses
                | SimulatedEndpoint::Compact
                | SimulatedEndpoint::Embeddings
                | SimulatedEndpoint::Messages
                | SimulatedEndpoint::CountTokens
        );
        named && fields.model.is_none() && self.steer.early == Early::No
    }

    fn echo(&self) -> Option<UnpacedResponse> {
        let entry = self.entry.as_ref().filter(|_| self.steer.echo)?;
        let body = serde_json::to_vec(&View::of(entry)).ok()?;
        Some(UnpacedResponse::json(body, &self.steer))
    }
}
