//! Settings: the Envoys and their agents, webhooks, settings of clients, and how this console is set up.

use std::borrow::Cow;

use askama::Template;
use axum::extract::Path;

use super::client_settings::ClientSettingsForm;
use super::confirm::{Confirm, ShownOnce};
use super::form::Fields;
use super::identity_providers;
use super::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page,
    page, text,
};
use crate::cases::certificate::{self, CertificateView};
use crate::cases::envoys::{self, EnrolmentView, EnvoyView, NewEnvoyBody};
use crate::cases::paging::PageParams;
use crate::cases::providers::settings::IdentityProviderView;
use crate::cases::rights;
use crate::cases::webhooks::{self, NewWebhookBody, WebhookView};
use crate::cases::{ApiProblem, ConsoleState};
use crate::cases::{documents, storage};
use crate::language::{Language, choices, list as listed};
use crate::webhooks::kind::WebhookKind;
use crate::webhooks::sender::SIGNATURE;

/// The rows of a list.
const ROWS: u16 = 100;

/// The kinds of receivers of notices, and their names.
const KINDS: [(&str, &str); 4] = [
    ("webhook", text!("Signed webhook")),
    ("slack", "Slack"),
    ("teams", "Microsoft Teams"),
    ("email", text!("E-mail")),
];

/// The name of a kind, for people.
fn kind_title(kind: &WebhookKind) -> &'static str {
    let found = KINDS.iter().find(|(name, _)| *name == kind.name());
    found.map_or("", |(_, title)| *title)
}

/// The percents at which a receiver is told.
fn percents(thresholds: &[u32]) -> String {
    let each = thresholds.iter().map(|percent| format!("{percent} %"));
    listed(&each.collect::<Vec<String>>())
}

/// An Envoy, in a line.
struct EnvoyLine {
    state: (&'static str, &'static str),
    /// Whether it has the document in force; `None`: it says nothing.
    is_current: Option<bool>,
    waiting: String,
    envoy: EnvoyView,
}

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    shell: PageShell,
    envoys: Vec<EnvoyLine>,
    next: Option<String>,
    webhooks: Vec<WebhookView>,
    kinds: Vec<(&'static str, Cow<'static, str>)>,
    kind_hint: Cow<'static, str>,
    has_mail_server: bool,
    clients: ClientSettingsForm,
    gateway: Option<String>,
    is_https: bool,
    certificate: CertificateView,
    has_sealing_keys: bool,
    /// The size of the database, and the free room on its disk.
    room: String,
    free_room: Option<String>,
    may_change: bool,
    providers: Vec<IdentityProviderView>,
    passwords: bool,
    may_change_sign_in: bool,
    fields: Fields,
    problems: FieldProblems,
}

/// Shows the settings with a form as it was sent.
pub async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    cursor: Option<String>,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let place = |cursor| PageParams::at(cursor, ROWS);
    let found = envoys::list(state, &signed_in.caller, place(cursor)).await?;
    let hooks = webhooks::list(state, &signed_in.caller, place(None)).await?;
    let in_force = documents::in_force(state, &signed_in.caller)
        .await?
        .map(|document| document.etag);
    let (providers, passwords) = identity_providers::all(state, signed_in).await?;
    let clients = ClientSettingsForm::of(state, signed_in, &fields).await?;
    let storage = storage::get(state, &signed_in.caller).await?;
    let lines = found.items.into_iter().map(|envoy| {
        let report = envoy.report.as_ref();
        let troubled = report.is_some_and(|report| !report.troubles.is_empty());
        let document = report.and_then(|report| report.document.as_ref());
        let waiting = report.map_or(0, |report| report.ledger_waiting);
        EnvoyLine {
            state: match envoy.state {
                "enrolled" if troubled => ("warn", text!("Has troubles")),
                "enrolled" => ("good", text!("Enrolled")),
                "revoked" => ("off", text!("Revoked")),
                _ => ("off", text!("Not enrolled yet")),
            },
            is_current: document.map(|document| Some(document) == in_force.as_ref()),
            waiting: text::number(&i64::try_from(waiting).unwrap_or(i64::MAX)),
            envoy,
        }
    });
    let failed = !problems.is_empty();
    form_page(
        &SettingsPage {
            shell: signed_in.shell(t!("Settings")),
            envoys: lines.collect(),
            next: found.next,
            webhooks: hooks.items,
            kinds: choices(&KINDS),
            has_mail_server: state.sender.has_mail(),
            kind_hint: if state.sender.has_mail() {
                "".into()
            } else {
                t!("E-mail needs a mail server: --smtp-url.")
            },
            clients,
            gateway: state.gateway.clone(),
            is_https: state.https,
            certificate: certificate::get(state, &signed_in.caller).await?,
            has_sealing_keys: state.sealing_keys.is_some(),
            room: text::bytes(storage.bytes),
            free_room: storage.disk_free_bytes.map(text::bytes),
            may_change: signed_in.caller.may(rights::CHANGE_ENVOYS),
            providers,
            passwords,
            may_change_sign_in: signed_in.caller.may(rights::CHANGE_SIGN_IN),
            fields,
            problems,
        },
        failed,
    )
}

/// Shows the settings.
pub async fn list(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    let cursor = asked.given("cursor");
    show(
        &state,
        &signed_in,
        cursor,
        Fields::once()?.with("language", Language::current().tag()),
        FieldProblems::default(),
    )
    .await
}

fn enrolment_page(signed_in: &SignedIn, made: EnrolmentView) -> PageResult {
    page(&ShownOnce {
        shell: signed_in.shell(t!("Enrol {envoy}", envoy = made.envoy)),
        crumb: (t!("Settings").into_owned(), "/settings".to_owned()),
        value: Some(made.token),
        is_path: false,
        text: t!("Beside that Envoy: trilane agent, with this token as its enrolment token. It is good once. Credentials of accounts come when the agent was approved on the console's machine: trilane console approve, with the fingerprint that its log shows.").into_owned(),
        until: Some(made.expires_at),
    })
}

/// Adds an Envoy, and shows the token with which its agent enrols.
pub async fn add_envoy(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let new = NewEnvoyBody {
        id: fields.get("id").to_owned(),
        name: fields.given("name"),
    };
    match envoys::create(&state, &signed_in.caller, new).await {
        Ok(made) => enrolment_page(&signed_in, made),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(&state, &signed_in, None, fields, problems).await
        }
    }
}

/// Lets the agent of an Envoy enrol again.
pub async fn enrol(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let made = envoys::let_enrol(&sent.state, &sent.signed_in.caller, &id).await?;
    enrolment_page(&sent.signed_in, made)
}

/// Asks whether an Envoy's agent is to be revoked.
pub async fn confirm_revoke(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_ENVOYS)?;
    let envoy = envoys::get(&state, &signed_in.caller, &id).await?;
    page(&Confirm {
        shell: signed_in.shell(t!("Revoke {name}?", name = envoy.name)),
        crumb: (t!("Settings").into_owned(), "/settings".to_owned()),
        text: t!("Its agent is cut off from this console at once. The Envoy itself runs on with the document and the keys it has. Usage it has sent is kept.").into_owned(),
        action: format!("/envoys/{id}/revoke"),
        hidden: Vec::new(),
        button: text!("Revoke"),
        back: "/settings".to_owned(),
    })
}

/// Revokes the credential of an Envoy's agent.
pub async fn revoke(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    envoys::revoke(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done("/settings", Notice::Removed))
}

/// Adds a webhook, and shows the secret of its signatures.
pub async fn add_webhook(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let typed = fields.get("thresholds").split([',', ' ', '%']);
    let typed: Vec<&str> = typed.filter(|part| !part.is_empty()).collect();
    let thresholds: Result<Vec<u32>, _> = typed.iter().map(|part| part.parse()).collect();
    let made = match thresholds {
        Ok(thresholds) => {
            let kind = WebhookKind::of(fields.get("kind"));
            let typed = fields.get("url").trim();
            let url = match kind {
                WebhookKind::Email => format!("mailto:{}", typed.trim_start_matches("mailto:")),
                _ => typed.to_owned(),
            };
            let new = NewWebhookBody {
                kind,
                url,
                thresholds: (!thresholds.is_empty()).then_some(thresholds),
                language: fields.given("language"),
            };
            webhooks::create(&state, &signed_in.caller, Some(fields.get("once")), new).await
        }
        Err(_) => Err(ApiProblem::invalid(
            "thresholds",
            text!("must be whole numbers with commas between"),
        )),
    };
    match made {
        // Nothing else is signed, so there is nothing to show.
        Ok(made) if made.body.webhook.kind != WebhookKind::Webhook => {
            Ok(done("/settings", Notice::Saved))
        }
        Ok(made) => page(&ShownOnce {
            shell: signed_in.shell(t!("The webhook is added")),
            crumb: (t!("Settings").into_owned(), "/settings".to_owned()),
            value: made.body.secret,
            is_path: false,
            text: t!(
                "It is the signing secret: with it, whoever gets a message checks its header {header}, and knows where it comes from.",
                header = SIGNATURE
            ),
            until: None,
        }),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(&state, &signed_in, None, fields, problems).await
        }
    }
}

/// Sends a test message to a webhook.
pub async fn test_webhook(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let tested = webhooks::test(&sent.state, &sent.signed_in.caller, &id).await?;
    let notice = if tested.delivered {
        Notice::TestArrived
    } else {
        Notice::TestFailed
    };
    Ok(done("/settings", notice))
}

/// Removes a webhook.
pub async fn remove_webhook(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    webhooks::remove(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done("/settings", Notice::Removed))
}
