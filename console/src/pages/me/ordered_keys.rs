//! Keys that were ordered for oneself: each is made when one takes it.

use askama::Template;
use axum::extract::Path;
use trilane::limits::SubjectKind;

use crate::cases::ConsoleState;
use crate::cases::names::{Name, WantedNames};
use crate::cases::ordered_keys::{self, KeyOrderView};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::pages::form::Fields;
use crate::pages::keys::{MadeKeyPlace, made_page};
use crate::pages::{
    FieldProblems, PageResult, PageShell, SignedForm, SignedIn, Visit, form_page, limit_fields,
};

/// A key that waits.
struct WaitingKey {
    take: String,
    label: Option<String>,
    group: Name,
    team: Option<Name>,
    expires: Option<String>,
    limits: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "me_ordered_keys.html")]
struct WaitingKeysPage {
    shell: PageShell,
    keys: Vec<WaitingKey>,
    may_take: bool,
    once: String,
    problems: FieldProblems,
}

async fn show(state: &ConsoleState, signed_in: &SignedIn, problems: FieldProblems) -> PageResult {
    let caller = &signed_in.caller;
    let found = ordered_keys::own(state, caller, PageParams::default()).await?;
    let mut wanted = WantedNames::default();
    for KeyOrderView { key, .. } in &found.items {
        wanted.add(SubjectKind::Group, &key.group);
        wanted.all(SubjectKind::Team, key.team.as_deref());
    }
    let names = wanted.find(state, caller).await?;
    let keys = found.items.into_iter().map(|order| WaitingKey {
        take: format!("/me/ordered-keys/{}/take", order.id),
        group: names.group(&order.key.group),
        team: order.key.team.as_deref().map(|id| names.team(id)),
        limits: limit_fields::shown(&serde_json::to_value(&order.key.limits).unwrap_or_default()),
        label: order.key.label,
        expires: order.key.expires_at,
    });
    let failed = !problems.is_empty();
    form_page(
        &WaitingKeysPage {
            shell: signed_in.shell(t!("Keys waiting for you")),
            keys: keys.collect(),
            may_take: caller.may(rights::CHANGE_OWN_KEYS),
            once: Fields::once()?.get("once").to_owned(),
            problems,
        },
        failed,
    )
}

/// The keys that wait for whoever looks.
pub async fn waiting(Visit { state, signed_in }: Visit) -> PageResult {
    show(&state, &signed_in, FieldProblems::default()).await
}

/// Makes one of them and shows it, this once.
pub async fn take(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let once = Some(fields.get("once"));
    match ordered_keys::take(&state, &signed_in.caller, once, &id).await {
        Ok(made) => made_page(&state, &signed_in, made.body, MadeKeyPlace::made()).await,
        Err(problem) => show(&state, &signed_in, FieldProblems::of(problem)?).await,
    }
}
