//! Requests to the console.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::contact::ConsoleContact;
use crate::console_http::{ConsoleHttp, ConsoleResponse, ConsoleUrl, NoAnswer, RequestBody};

/// The token with which an agent authenticates to the console. `Debug` does not print it.
#[derive(Clone)]
pub struct AgentCredential(String);

impl AgentCredential {
    /// This token.
    pub const fn new(token: String) -> Self {
        Self(token)
    }

    /// The token itself, for a header and for the file that keeps it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AgentCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentCredential(..)")
    }
}

/// The reason that a request failed. No text has a credential.
#[derive(Debug, PartialEq, Eq)]
pub enum ConsoleError {
    /// The console did not answer; why.
    Away(String),
    /// The credential is not good, or not for this.
    Refused(String),
    /// The agent is not approved on the console's machine.
    NotApproved,
    /// The requested object does not exist.
    NotFound,
    /// The console wants the ledger file from this position, not from that of the request.
    Elsewhere(u64),
    /// The cursor is not known any more.
    Gone,
    /// Another answer, in words.
    Other(String),
}

impl fmt::Display for ConsoleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(why) => write!(f, "the console does not answer: {why}"),
            Self::Refused(why) => write!(f, "the console refuses this agent: {why}"),
            Self::NotApproved => f.write_str("this agent waits for its approval"),
            Self::NotFound => f.write_str("the console has no such thing"),
            Self::Elsewhere(position) => write!(f, "the console goes on from {position}"),
            Self::Gone => f.write_str("the console begins its feed anew"),
            Self::Other(why) => write!(f, "the console answers {why}"),
        }
    }
}

/// An answer.
#[derive(Debug)]
pub struct ConsoleAnswer {
    /// The ETag of the answer.
    pub etag: Option<String>,
    /// The body of the answer.
    pub body: Vec<u8>,
}

/// The members of a problem details object (RFC 9457) that an agent reads; what answers in the console's place may have none.
#[derive(Debug, Default, Deserialize)]
struct ConsoleProblem {
    #[serde(rename = "type")]
    kind: Option<String>,
    detail: Option<String>,
    position: Option<u64>,
}

/// A console, as one agent reaches it.
#[derive(Debug, Clone)]
pub struct ConsoleClient {
    http: ConsoleHttp,
    credential: Option<AgentCredential>,
    contact: Arc<ConsoleContact>,
}

impl ConsoleClient {
    /// The console at this address, whose certificate is trusted by the authorities of the system or of a file.
    ///
    /// # Errors
    /// The file has no certificate.
    pub fn new(url: ConsoleUrl, ca: Option<&Path>) -> Result<Self, String> {
        Ok(Self {
            http: ConsoleHttp::new(url, ca, "trilane-agent")?,
            credential: None,
            contact: Arc::default(),
        })
    }

    /// The same with this credential.
    pub fn with(mut self, credential: AgentCredential) -> Self {
        self.credential = Some(credential);
        self
    }

    /// Whether it answers.
    pub fn contact(&self) -> Arc<ConsoleContact> {
        Arc::clone(&self.contact)
    }

    fn note<T>(&self, ended: Result<T, ConsoleError>) -> Result<T, ConsoleError> {
        self.contact.note(&ended);
        ended
    }

    /// Reads something; `None`: it is still what has this ETag.
    ///
    /// # Errors
    /// The request failed, or the console rejected it.
    pub fn get(
        &self,
        path: &str,
        etag: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Result<Option<ConsoleAnswer>, ConsoleError> {
        let known = etag.map(|etag| ("if-none-match", etag));
        let headers: Vec<_> = headers.iter().copied().chain(known).collect();
        let response = self.send("GET", path, &headers, None);
        self.note(response.and_then(|response| {
            if response.status == 304 {
                return Ok(None);
            }
            answer(response).map(Some)
        }))
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// The request failed, or the console rejected it.
    pub fn post(&self, path: &str, kind: &str, body: &[u8]) -> Result<ConsoleAnswer, ConsoleError> {
        let response = self.send("POST", path, &[], Some((kind, body)));
        self.note(response.and_then(answer))
    }

    /// Sends JSON in the place of what is there.
    ///
    /// # Errors
    /// The request failed, or the console rejected it.
    pub fn put(&self, path: &str, json: &[u8]) -> Result<ConsoleAnswer, ConsoleError> {
        let response = self.send("PUT", path, &[], Some(("application/json", json)));
        self.note(response.and_then(answer))
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<RequestBody<'_>>,
    ) -> Result<ConsoleResponse, ConsoleError> {
        let credential = self.credential.as_ref();
        let credential = credential.map(|credential| format!("Bearer {}", credential.reveal()));
        let own = credential.as_deref().map(|value| ("authorization", value));
        let headers: Vec<_> = headers.iter().copied().chain(own).collect();
        let sent = self.http.send(method, path, &headers, body);
        sent.map_err(|NoAnswer(why)| ConsoleError::Away(why))
    }
}

fn answer(response: ConsoleResponse) -> Result<ConsoleAnswer, ConsoleError> {
    let ConsoleResponse { status, etag, body } = response;
    if status.is_success() {
        return Ok(ConsoleAnswer { etag, body });
    }
    let problem: ConsoleProblem = serde_json::from_slice(&body).unwrap_or_default();
    let detail = problem.detail.unwrap_or_default();
    if problem.kind.as_deref() == Some("/problems/not-approved") {
        return Err(ConsoleError::NotApproved);
    }
    Err(match (status.as_u16(), problem.position) {
        (409, Some(position)) => ConsoleError::Elsewhere(position),
        (401 | 403, _) => ConsoleError::Refused(detail),
        (404, _) => ConsoleError::NotFound,
        (410, _) => ConsoleError::Gone,
        (502..=504, _) => ConsoleError::Away(format!("{status} {detail}").trim_end().to_owned()),
        _ => ConsoleError::Other(format!("{status} {detail}").trim_end().to_owned()),
    })
}

/// The path of a page of a feed: the first one has no cursor.
pub fn page_path(path: &str, cursor: Option<&str>) -> String {
    match cursor {
        None => path.to_owned(),
        Some(cursor) => format!(
            "{path}&cursor={}",
            utf8_percent_encode(cursor, NON_ALPHANUMERIC)
        ),
    }
}
