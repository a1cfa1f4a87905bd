//! Makes a response of a template.

use askama::Template;
use axum::response::{Html, IntoResponse as _, Response};

use super::error::PageProblem;

/// A page.
///
/// # Errors
/// It cannot be rendered.
pub fn page<T: Template>(template: &T) -> Result<Response, PageProblem> {
    Ok(Html(template.render()?).into_response())
}
