//! One key, for whoever has it: without an account, and without a cookie.

use askama::Template;
use axum::extract::State;
use axum::response::IntoResponse as _;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::left::{Holder, LeftShown};
use super::own::sums;
use super::spend::SpendShown;
use crate::cases::me::key::{HeldKeyView, HeldRequestView, held};
use crate::cases::names::Names;
use crate::cases::{ConsoleState, KeyModel};
use crate::client_address::RemoteAddress;
use crate::pages::client_setup::{self, ClientSetup};
use crate::pages::form::OpenForm;
use crate::pages::keys::{SOME_KEY, gateway, name_of, spent_text, state_of};
use crate::pages::models::ModelRow;
use crate::pages::shell::Appearance;
use crate::pages::{PageResult, PageShell, ShownAmount, page, text};
use crate::timestamp::moment;

#[derive(Template)]
#[template(path = "me_key.html")]
struct OwnKeyPage {
    shell: PageShell,
    problem: &'static str,
}

#[derive(Template)]
#[template(path = "me_key_shown.html")]
struct HeldKeyPage {
    shell: PageShell,
    name: String,
    state: (&'static str, &'static str),
    held: HeldKeyView,
    left: LeftShown,
    today: ShownAmount,
    month: ShownAmount,
    spend: SpendShown,
    requests: Vec<HeldRequest>,
    models: Vec<ModelRow>,
    names: Names,
    clients: Vec<ClientSetup>,
}

/// A request, in a line.
struct HeldRequest {
    at: String,
    model: String,
    state: (&'static str, String),
    tokens: String,
    charge: ShownAmount,
}

impl HeldRequest {
    fn of(request: &HeldRequestView) -> Self {
        let outcome = request.outcome.as_deref().unwrap_or("before the filter");
        let count = |tokens: Option<u64>| tokens.map_or_else(|| "0".to_owned(), text::count);
        let used = request.input_tokens.is_some() || request.output_tokens.is_some();
        let [input, output] = [request.input_tokens, request.output_tokens].map(count);
        let currency = request.currency.as_deref().unwrap_or_default();
        let charge = request.charge.as_deref();
        Self {
            at: request.timestamp.clone().unwrap_or_default(),
            model: request.model.clone().unwrap_or_default(),
            state: crate::pages::requests::ending(request.status, outcome),
            tokens: if used {
                format!("{input} / {output}")
            } else {
                String::new()
            },
            charge: charge.map_or_else(ShownAmount::default, |charge| {
                ShownAmount::of(currency, charge)
            }),
        }
    }
}

/// Asks for the key.
pub async fn ask(headers: HeaderMap) -> PageResult {
    page(&OwnKeyPage {
        shell: PageShell::new(t!("What is left for a key"), Appearance::of(&headers)),
        problem: "",
    })
}

/// Shows what there is of the key that was pasted. It is on no page, in no cookie and in no address.
pub async fn show(
    State(state): State<ConsoleState>,
    RemoteAddress(address): RemoteAddress,
    headers: HeaderMap,
    OpenForm(fields): OpenForm,
) -> PageResult {
    let appearance = Appearance::of(&headers);
    let held = match held(&state, Some(fields.get("key")), &address).await {
        Ok(held) => held,
        Err(problem) if matches!(problem.status(), 401 | 429) => {
            let (status, problem) = match problem.status() {
                401 => (
                    StatusCode::UNPROCESSABLE_ENTITY,
                    text!(
                        "No key is like that. Paste the whole key, as it was shown when it was made."
                    ),
                ),
                _ => (
                    StatusCode::TOO_MANY_REQUESTS,
                    text!("Too many keys were unknown. Wait a while, then try again."),
                ),
            };
            let shell = PageShell::new(t!("What is left for a key"), appearance);
            let page = page(&OwnKeyPage { shell, problem })?;
            let mut response = (status, page).into_response();
            if status == StatusCode::TOO_MANY_REQUESTS {
                let wait = HeaderValue::from_static("60");
                response.headers_mut().insert(RETRY_AFTER, wait);
            }
            return Ok(response);
        }
        Err(problem) => return Err(problem.into()),
    };
    let now = moment(state.now());
    let currency = held.models.currency.as_deref().unwrap_or_default();
    let models = held.models.items.iter();
    let callable: Vec<KeyModel> = models.clone().map(|of| of.model.clone()).collect();
    // Names of others are for those who have an account.
    page(&HeldKeyPage {
        shell: PageShell::new(name_of(&held.key), appearance),
        name: name_of(&held.key).to_owned(),
        state: state_of(&held.key, &now),
        left: LeftShown::of(
            name_of(&held.key),
            &held.remaining,
            &Names::default(),
            Holder::Anybody,
        ),
        today: sums(&held.spent_today),
        month: spent_text(&held.key),
        spend: SpendShown::of(&state, &held.usage),
        requests: held.requests.iter().map(HeldRequest::of).collect(),
        clients: client_setup::clients(gateway(&state), SOME_KEY, &callable),
        models: models.map(|of| ModelRow::of(of, currency)).collect(),
        names: Names::default(),
        held,
    })
}
