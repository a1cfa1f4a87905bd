//! The part of the page Settings for the settings that clients ask gateways for.

use serde_json::{Map, Value};

use super::form::Fields;
use super::{FieldProblems, Notice, PageResult, SignedForm, SignedIn, done, settings};
use crate::cases::client_settings::{self, ClientSettingsBody};
use crate::cases::{ApiProblem, ConsoleState, rights};
use crate::client_settings::SettingsFaults;

/// The form of the settings.
#[derive(Debug)]
pub struct ClientSettingsForm {
    /// The settings as JSON; empty: there are none.
    pub text: String,
    /// The time at which those that are stored were written.
    pub changed_at: Option<String>,
    /// The members that are not inert: name, reason, and whether each is approved.
    pub beyond: Vec<(String, String, bool)>,
    /// Whether the person may change them.
    pub may_change: bool,
    /// Whether the person may approve members that are not inert.
    pub may_approve: bool,
}

impl ClientSettingsForm {
    /// The form as it was sent, or with what is stored.
    ///
    /// # Errors
    /// Those of the use case.
    pub async fn of(
        state: &ConsoleState,
        signed_in: &SignedIn,
        fields: &Fields,
    ) -> Result<Self, ApiProblem> {
        let caller = &signed_in.caller;
        let stored = client_settings::find(state, caller).await?;
        let is_sent = fields.has("settings");
        let text = match &stored {
            _ if is_sent => fields.exact("settings").to_owned(),
            Some(stored) => serde_json::to_string_pretty(&stored.settings).unwrap_or_default(),
            None => String::new(),
        };
        let is_approved = |name: &str| {
            if is_sent {
                fields.all("approve").any(|approved| approved == name)
            } else {
                let stored = stored.as_ref();
                stored.is_some_and(|stored| stored.approved.iter().any(|approved| approved == name))
            }
        };
        let beyond = read(&text).map(|settings| SettingsFaults::of(&settings).beyond);
        let beyond = beyond.unwrap_or_default().into_iter();
        Ok(Self {
            beyond: beyond
                .map(|(name, reason)| {
                    let is_approved = is_approved(&name);
                    (name, reason, is_approved)
                })
                .collect(),
            text,
            changed_at: stored.map(|stored| stored.changed_at),
            may_change: caller.may(rights::CHANGE_CLIENT_SETTINGS),
            may_approve: caller.may(rights::APPROVE_CLIENT_SETTINGS),
        })
    }
}

fn read(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// Saves the settings; without any text there are none any more.
pub async fn save(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let caller = &signed_in.caller;
    if fields.get("settings").is_empty() {
        return match client_settings::remove(&state, caller).await {
            Err(problem) if problem.status() != 404 => Err(problem.into()),
            _ => Ok(done("/settings", Notice::Removed)),
        };
    }
    let saved = match read(fields.get("settings")) {
        Some(settings) => {
            let approve = fields.all("approve").map(str::to_owned).collect();
            let new = ClientSettingsBody { settings, approve };
            client_settings::put(&state, caller, new).await
        }
        None => Err(ApiProblem::invalid(
            "settings",
            text!("must be a JSON object"),
        )),
    };
    match saved {
        Ok(_) => Ok(done("/settings", Notice::Saved)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            settings::show(&state, &signed_in, None, fields, problems).await
        }
    }
}
