//! The reason that there is no page, as a page.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};

use super::shell::{Appearance, PageShell};
use super::{languages, render};
use crate::cases::{ApiProblem, FailureReason};
use crate::language::translated;
use crate::store::StoreError;

/// A page, or the reason that there is none.
pub type PageResult = Result<Response, PageProblem>;

/// The reason that there is no page.
#[derive(Debug)]
pub enum PageProblem {
    /// The request has no session. The page that was requested is shown after the sign-in.
    SignedOut(Option<String>),
    /// A form that no page of this session has sent.
    Forged,
    /// A form that cannot be read.
    Unreadable,
    /// A problem that the API reports.
    Problem(Box<ApiProblem>),
    /// A template could not be rendered.
    Template(askama::Error),
}

impl From<ApiProblem> for PageProblem {
    fn from(problem: ApiProblem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl From<StoreError> for PageProblem {
    fn from(error: StoreError) -> Self {
        ApiProblem::from(error).into()
    }
}

impl From<askama::Error> for PageProblem {
    fn from(error: askama::Error) -> Self {
        Self::Template(error)
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    shell: PageShell,
    detail: String,
    hint: &'static str,
}

impl IntoResponse for PageProblem {
    fn into_response(self) -> Response {
        let (status, title, detail, hint) = match &self {
            Self::SignedOut(wanted) => {
                let query = wanted.as_ref().filter(|path| *path != "/").map(|path| {
                    let mut query = form_urlencoded::Serializer::for_suffix(String::from("?"), 1);
                    query.append_pair("to", path).finish()
                });
                let to = format!("/sign-in{}", query.unwrap_or_default());
                return Redirect::to(&to).into_response();
            }
            Self::Forged => (
                StatusCode::FORBIDDEN,
                "This form is out of date",
                "It does not belong to your session. Nothing was changed.".to_owned(),
                "Go back, load the page again, and send the form from there.",
            ),
            Self::Unreadable => (
                StatusCode::BAD_REQUEST,
                "This form cannot be read",
                "Nothing was changed.".to_owned(),
                "Go back and load the page again.",
            ),
            Self::Problem(problem) => told(problem),
            Self::Template(_) => told(&ApiProblem::internal("")),
        };
        let shell = PageShell::new(translated(title), Appearance::System);
        let page = ProblemPage {
            shell,
            detail,
            hint,
        };
        let mut response = match render::page(&page) {
            Ok(page) => (status, page).into_response(),
            Err(_) => status.into_response(),
        };
        let reason = match self {
            Self::Problem(problem) => problem.reason().map(Into::into),
            Self::Template(error) => Some(error.to_string().into()),
            _ => None,
        };
        if let Some(reason) = reason {
            response.extensions_mut().insert(FailureReason(reason));
        }
        response
    }
}

fn told(problem: &ApiProblem) -> (StatusCode, &'static str, String, &'static str) {
    let status = StatusCode::from_u16(problem.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let (title, hint) = match status {
        StatusCode::NOT_FOUND => (
            "There is no such page",
            "It may have been removed, or it is not yours to see.",
        ),
        StatusCode::FORBIDDEN => ("You may not do this", "An admin can give you another role."),
        StatusCode::SERVICE_UNAVAILABLE => (
            "The console cannot answer now",
            "Gateways go on without it. Load the page again in a moment; the console's log says why.",
        ),
        _ => ("This did not work", "Go back and try again."),
    };
    (status, title, problem.detail().to_owned(), hint)
}

/// Makes the response at a path that no route has.
pub fn not_found(headers: &HeaderMap) -> Response {
    let page = || PageProblem::from(ApiProblem::not_found()).into_response();
    let mut response = languages::asked(headers).write(page);
    super::headers::add(&mut response);
    response
}
