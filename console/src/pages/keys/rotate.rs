//! The form of a rotation: of anybody's key, and of one's own.

use std::borrow::Cow;

use askama::Template;
use axum::extract::Path;

use super::change::{MadeKeyPlace, made_page};
use super::{name_of, path_of};
use crate::cases::ConsoleState;
use crate::cases::key_rotation::{self, KeyRotationBody, RotationReason};
use crate::cases::keys;
use crate::cases::me::keys as own_keys;
use crate::cases::rights::{self, Right};
use crate::language::choices;
use crate::pages::form::Fields;
use crate::pages::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page, me,
    text,
};

/// The periods for which an old value may stay good, in seconds.
const PERIODS: [(&str, &str); 5] = [
    ("3600", text!("An hour")),
    ("86400", text!("24 hours")),
    ("604800", text!("A week")),
    ("2592000", text!("30 days")),
    ("", text!("Until the time below")),
];
/// The period that is chosen at first.
const FIRST: &str = "86400";

#[derive(Template)]
#[template(path = "key_rotate.html")]
struct RotatePage {
    shell: PageShell,
    crumbs: Vec<(String, String)>,
    action: String,
    back: String,
    name: String,
    /// The id of the key, for those who see old values as keys of their own.
    id: Option<String>,
    periods: Vec<(&'static str, Cow<'static, str>)>,
    fields: Fields,
    problems: FieldProblems,
}

/// The key of a form: somebody's, on its page, or one's own, on the page Me.
#[derive(Clone, Copy)]
pub(in crate::pages) struct RotateForm<'a> {
    /// The id of the key.
    pub id: &'a str,
    /// Whether it is on one's own page.
    pub is_own: bool,
}

impl RotateForm<'_> {
    /// The right that a rotation needs.
    fn right(self) -> Right {
        if self.is_own {
            rights::CHANGE_OWN_KEYS
        } else {
            rights::CHANGE_KEYS
        }
    }

    /// The path of an act on the key.
    fn path(self, act: &str) -> String {
        if self.is_own {
            me::path_of(self.id, act)
        } else {
            format!("{}/{act}", path_of(self.id))
        }
    }
}

/// Asks how a key is to be rotated.
pub(in crate::pages) async fn ask(
    state: &ConsoleState,
    signed_in: &SignedIn,
    of: RotateForm<'_>,
) -> PageResult {
    signed_in.caller.must(of.right())?;
    rotate_form(state, signed_in, of, None).await
}

/// Gives a key a new value as a form says, and shows it, this once.
pub(in crate::pages) async fn by_form(sent: SignedForm, of: RotateForm<'_>) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let caller = &signed_in.caller;
    caller.must(of.right())?;
    let mut problems = FieldProblems::default();
    let asked = terms(&fields, &mut problems);
    if problems.is_empty() {
        let once = Some(fields.get("once"));
        let made = if of.is_own {
            own_keys::rotate(&state, caller, once, of.id, asked).await
        } else {
            key_rotation::rotate(&state, caller, once, of.id, asked).await
        };
        match made {
            Ok(made) => {
                let place = MadeKeyPlace {
                    title: text!("The key is rotated"),
                    end_old: of.path("end-old"),
                };
                return made_page(&state, &signed_in, made.body, place).await;
            }
            Err(problem) => problems = FieldProblems::of(problem)?,
        }
    }
    rotate_form(&state, &signed_in, of, Some((fields, problems))).await
}

/// Shows the form, as it was sent and with its faults, or as it is at first.
async fn rotate_form(
    state: &ConsoleState,
    signed_in: &SignedIn,
    of: RotateForm<'_>,
    sent: Option<(Fields, FieldProblems)>,
) -> PageResult {
    let key = keys::get(state, &signed_in.caller, of.id).await?;
    let name = name_of(&key).to_owned();
    let (fields, problems) = match sent {
        Some(sent) => sent,
        None => (
            Fields::once()?.with("overlap_seconds", FIRST),
            FieldProblems::default(),
        ),
    };
    let failed = !problems.is_empty();
    let (crumbs, back) = if of.is_own {
        (
            vec![(t!("Me").into_owned(), "/me".to_owned())],
            "/me".to_owned(),
        )
    } else {
        let page = path_of(&key.id);
        let keys = (t!("Keys").into_owned(), "/keys".to_owned());
        (vec![keys, (name.clone(), page.clone())], page)
    };
    form_page(
        &RotatePage {
            shell: signed_in.shell(t!("Rotate the key")),
            crumbs,
            action: of.path("rotate"),
            back,
            name,
            id: (!of.is_own).then_some(key.id),
            periods: choices(&PERIODS),
            fields,
            problems,
        },
        failed,
    )
}

/// Reads the terms of a rotation from a form. The form asks for the reason: without one nothing is done.
fn terms(fields: &Fields, problems: &mut FieldProblems) -> KeyRotationBody {
    match fields.get("reason") {
        "leaked" => KeyRotationBody {
            reason: Some(RotationReason::Leaked),
            ..KeyRotationBody::default()
        },
        "planned" => {
            let seconds = fields.get("overlap_seconds").parse().unwrap_or_default();
            let until = fields.given("old_good_until").filter(|_| seconds == 0);
            KeyRotationBody {
                reason: Some(RotationReason::Planned),
                overlap_seconds: seconds,
                old_good_until: until.map(|typed| text::from_local(&typed)),
            }
        }
        _ => {
            problems.push("reason", text!("choose one"));
            KeyRotationBody::default()
        }
    }
}

/// The form for anybody's key.
pub async fn confirm_rotate(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    let of = RotateForm {
        id: &id,
        is_own: false,
    };
    ask(&state, &signed_in, of).await
}

/// Rotates anybody's key.
pub async fn rotate(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let of = RotateForm {
        id: &id,
        is_own: false,
    };
    by_form(sent, of).await
}

/// Ends the old values of a key before their time.
pub async fn end_old(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    key_rotation::end_old(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done(&path_of(&id), Notice::OldValueEnded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_terms_a_form_has() {
        for (form, want) in [
            (
                "reason=leaked&overlap_seconds=86400",
                Some((RotationReason::Leaked, 0, None)),
            ),
            (
                "reason=planned&overlap_seconds=3600",
                Some((RotationReason::Planned, 3600, None)),
            ),
            (
                "reason=planned&overlap_seconds=3600&old_good_until=2027-01-01T00:00",
                Some((RotationReason::Planned, 3600, None)),
            ),
            (
                "reason=planned&overlap_seconds=&old_good_until=2027-01-01T00:00",
                Some((RotationReason::Planned, 0, Some("2027-01-01T00:00:00Z"))),
            ),
            ("overlap_seconds=3600", None),
        ] {
            let mut problems = FieldProblems::default();
            let got = terms(&Fields::parse(form.as_bytes()), &mut problems);
            assert_eq!(problems.is_empty(), want.is_some(), "{form}");
            if let Some((reason, seconds, until)) = want {
                let got = (
                    got.reason,
                    got.overlap_seconds,
                    got.old_good_until.as_deref(),
                );
                assert_eq!(got, (Some(reason), seconds, until), "{form}");
            }
        }
    }
}
