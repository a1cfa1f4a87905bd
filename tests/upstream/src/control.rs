//! The paths under `/_sim/`: reading and clearing the journal and the totals.

use hyper::http::{HeaderValue, Method, StatusCode, header};
use hyper::{Response, http};

use crate::body::AnswerBody;
use crate::journal::Journal;

/// The prefix of all control paths.
pub const PREFIX: &str = "/_sim/";

/// Answers a control request.
pub fn answer(head: &http::request::Parts, journal: &Journal) -> Response<AnswerBody> {
    let query = head.uri.query().unwrap_or_default();
    match (&head.method, head.uri.path()) {
        (&Method::GET, "/_sim/ready") => reply(StatusCode::OK, "{\"ready\":true}".to_owned()),
        (&Method::GET, "/_sim/count") => reply(StatusCode::OK, journal.counts().to_string()),
        (&Method::GET, "/_sim/requests") => entries(query, journal),
        (&Method::DELETE, "/_sim/requests") => {
            journal.clear();
            reply(StatusCode::OK, "{}".to_owned())
        }
        (&Method::GET, "/_sim/totals") => reply(StatusCode::OK, journal.totals().to_string()),
        (&Method::DELETE, "/_sim/totals") => {
            journal.reset_totals();
            reply(StatusCode::OK, "{}".to_owned())
        }
        _ => problem(StatusCode::NOT_FOUND, "no such control path"),
    }
}

fn entries(query: &str, journal: &Journal) -> Response<AnswerBody> {
    let parameter = |name| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let last = match parameter("last").map(str::parse) {
        None => usize::MAX,
        Some(Ok(last)) => last,
        Some(Err(_)) => return problem(StatusCode::BAD_REQUEST, "last: a number expected"),
    };
    match journal.entries(last, parameter("marker")) {
        Ok(list) => reply(StatusCode::OK, list),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn problem(status: StatusCode, message: &str) -> Response<AnswerBody> {
    reply(status, serde_json::json!({"error": message}).to_string())
}

fn reply(status: StatusCode, body: String) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    response
}
