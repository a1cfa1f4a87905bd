//! Makes a response of a template.

use askama::Template;
use axum::response::{Html, IntoResponse as _};
use http::StatusCode;

use super::error::PageResult;

/// A page.
///
/// # Errors
/// It cannot be rendered.
pub fn page<T: Template>(template: &T) -> PageResult {
    Ok(Html(template.render()?).into_response())
}

/// A page with a form: 422 where it is shown again with what is wrong.
///
/// # Errors
/// It cannot be rendered.
pub fn form_page<T: Template>(template: &T, failed: bool) -> PageResult {
    let status = if failed {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    Ok((status, page(template)?).into_response())
}
