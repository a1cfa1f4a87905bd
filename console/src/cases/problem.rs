//! Problem details of error responses (RFC 9457).

use http::StatusCode;
use serde::Serialize;
use trilane::config::Problems;
use utoipa::ToSchema;

use crate::documents::DocumentError;
use crate::intake::IntakeError;
use crate::store::{AsStoreError, StoreError};

/// A problem with a request, as the body of an error response (RFC 9457).
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ApiProblem {
    /// The identifier of the kind of problem, for programs.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The same for people.
    title: &'static str,
    /// The status of the response.
    status: u16,
    /// The explanation of this occurrence of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The faults of a document or of fields, each with its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<PlacedProblem>,
    /// The byte offset at which a ledger file continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<i64>,
    /// The database's reason, for the log.
    #[serde(skip)]
    reason: Option<Box<str>>,
    /// Whether the change lost against another one.
    #[serde(skip)]
    conflict: bool,
}

/// A fault and its place.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlacedProblem {
    /// The path of the invalid value: `groups[2].models[0].id`.
    pub path: String,
    /// The fault of that value, in words.
    pub reason: String,
}

/// Problems with their places.
pub fn placed(problems: Problems) -> Vec<PlacedProblem> {
    let problems = problems.0.into_iter().map(|problem| PlacedProblem {
        path: problem.path,
        reason: problem.reason,
    });
    problems.collect()
}

impl ApiProblem {
    /// A problem of this status and kind.
    pub fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind,
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail: Some(detail.into()),
            problems: Vec::new(),
            position: None,
            reason: None,
            conflict: false,
        }
    }

    /// A parameter or body that cannot be read.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "/problems/bad-request", detail)
    }

    /// A field with a wrong value.
    pub fn invalid(path: &str, reason: impl Into<String>) -> Self {
        let mut problems = Problems::default();
        problems.push(path, reason);
        Self::of(problems)
    }

    /// Fields with wrong values.
    pub fn of(problems: Problems) -> Self {
        Self {
            problems: placed(problems),
            ..Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "/problems/invalid",
                "what is wrong stands in problems, each with its place",
            )
        }
    }

    /// An error where there are problems.
    ///
    /// # Errors
    /// There are some.
    pub fn if_any(problems: Problems) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self::of(problems))
        }
    }

    /// Something that is not there, or not to be seen by this one.
    pub fn not_found() -> Self {
        let detail = "there is no such thing, or it is not yours";
        Self::new(StatusCode::NOT_FOUND, "/problems/not-found", detail)
    }

    /// No token, or one that is not good.
    pub fn unauthorized() -> Self {
        let detail = "send a token that has not expired: Authorization: Bearer tlc-…";
        Self::new(StatusCode::UNAUTHORIZED, "/problems/unauthorized", detail)
    }

    /// A token whose role may not do this.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "/problems/forbidden", detail)
    }

    /// Another state than the change is for.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "/problems/conflict", detail)
    }

    /// Another revision than the one that was named.
    pub fn precondition(detail: impl Into<String>) -> Self {
        let status = StatusCode::PRECONDITION_FAILED;
        Self::new(status, "/problems/precondition-failed", detail)
    }

    /// The status of the response.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The explanation of this occurrence of the problem.
    pub fn detail(&self) -> &str {
        self.detail.as_deref().unwrap_or(self.title)
    }

    /// The same, of a part of what was sent: its places lie below this one.
    #[must_use]
    pub fn below(mut self, place: &str) -> Self {
        for problem in &mut self.problems {
            problem.path = format!("{place}.{}", problem.path);
        }
        self
    }

    /// Returns the individual faults, each with its place.
    pub fn placed(&self) -> &[PlacedProblem] {
        &self.problems
    }

    /// The reason for the log.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The system gives no randomness, or the like.
    pub fn internal(reason: impl Into<Box<str>>) -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self {
            reason: Some(reason.into()),
            ..Self::new(
                status,
                "/problems/unavailable",
                "not at this moment; try again",
            )
        }
    }
}

/// The reason of an internal failure, for the log.
#[derive(Debug, Clone)]
pub struct FailureReason(pub Box<str>);

impl AsStoreError for ApiProblem {
    fn is_conflict(&self) -> bool {
        self.conflict
    }
}

impl From<StoreError> for ApiProblem {
    fn from(error: StoreError) -> Self {
        let conflict = error.is_conflict();
        match error {
            StoreError::Rule(rule) => Self::conflict(rule),
            error => Self {
                conflict,
                ..Self::internal(error.to_string())
            },
        }
    }
}

impl From<DocumentError> for ApiProblem {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::NotFound => Self::not_found(),
            error @ DocumentError::Changed { .. } => Self::precondition(error.to_string()),
            error @ DocumentError::Outdated { .. } => Self::conflict(t!(
                "{problem}: look at it, then change the draft with rebase, or publish with its version",
                problem = error
            )),
            DocumentError::Invalid(problems) => Self::of(problems),
            DocumentError::Store(error) => error.into(),
        }
    }
}

impl From<IntakeError> for ApiProblem {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::Elsewhere { position } => Self {
                position: Some(position),
                ..Self::new(
                    StatusCode::CONFLICT,
                    "/problems/position",
                    error.to_string(),
                )
            },
            IntakeError::Store(error) => error.into(),
        }
    }
}
