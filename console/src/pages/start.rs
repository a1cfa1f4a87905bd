//! What is still to be done before the first request: a document, an Envoy, a key.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::Method;

use super::{PageProblem, PageShell, SignedIn, page, text};
use crate::api::keys::{self, KeyListParams};
use crate::api::paging::PageParams;
use crate::api::parts::Params;
use crate::api::{ConsoleState, envoys, key_models};

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage {
    shell: PageShell,
    groups: usize,
    envoys: usize,
    has_keys: bool,
    may_create: bool,
    address: String,
}

impl StartPage {
    /// How an Envoy enrols.
    fn enrolment(&self) -> String {
        let address = &self.address;
        format!(
            "curl -H \"$auth\" -H 'content-type: application/json' -d '{{\"id\": \"edge-1\"}}' {address}/api/v1/envoys\n\
             trilane up --console-url {address} --enrolment-token-file token"
        )
    }

    /// A number of things: `1 group`, `2 groups`.
    fn count(&self, number: &usize, name: &str) -> String {
        let s = if *number == 1 { "" } else { "s" };
        let number = i64::try_from(*number).unwrap_or(i64::MAX);
        format!("{} {name}{s}", text::number(&number))
    }
}

/// What is still to be done.
pub async fn start(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    headers: http::HeaderMap,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::GET, "/api/v1/envoys")?;
    let caller = signed_in.api(Method::GET, "/api/v1/keys")?;
    let one = PageParams {
        cursor: None,
        limit: Some(1),
    };
    let asked = Params(KeyListParams::default());
    let keys = keys::list(State(state.clone()), caller, asked, Params(one))
        .await?
        .0;
    let envoys = envoys::list(State(state.clone()), Params(PageParams::default()))
        .await?
        .0;
    let host = headers.get(http::header::HOST);
    let host = host
        .and_then(|host| host.to_str().ok())
        .unwrap_or("CONSOLE");
    let scheme = if state.https { "https" } else { "http" };
    page(&StartPage {
        shell: signed_in.shell("Get started"),
        groups: key_models::groups(&state).await?.len(),
        envoys: envoys.items.len(),
        has_keys: !keys.items.is_empty(),
        may_create: signed_in.may(&Method::POST, "/api/v1/keys"),
        address: format!("{scheme}://{host}"),
    })
}
