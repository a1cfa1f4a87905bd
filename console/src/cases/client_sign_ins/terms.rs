//! The terms of the key of a sign-in: those that the team's allowance has, each time anew.

use trilane::config::document::LimitsDocument;

use crate::allowance::KeyAllowance;
use crate::cases::me::keys::{self as own_keys, OwnKeyBody};
use crate::cases::problem::ApiProblem;
use crate::store::{Transaction, memberships};

/// The teams of a person that are looked at.
const TEAMS: i64 = 100;

/// A team and a group that a sign-in may be of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInChoice {
    /// The id of the team.
    pub team: String,
    /// The name of the team.
    pub team_name: String,
    /// The id of the group.
    pub group: String,
}

/// The terms of a key of a sign-in.
#[derive(Debug, Clone)]
pub struct SignInTerms {
    /// The models that it may use; `None`: all of its group.
    pub models: Option<Vec<String>>,
    /// The limits of the key.
    pub limits: Option<LimitsDocument>,
    /// The days after which a sign-in ends at the latest, where the team says so.
    pub lifetime_days: Option<u32>,
}

/// The teams and groups that a sign-in of a person may be of, in the order of the teams' ids.
///
/// # Errors
/// Those of the database.
pub async fn choices(
    transaction: &mut Transaction,
    person: &str,
) -> Result<Vec<SignInChoice>, ApiProblem> {
    let mut choices = Vec::new();
    for of in memberships::of_person(transaction, person, "", TEAMS).await? {
        let Some(allowance) = KeyAllowance::stored(of.team.allowance.as_deref()) else {
            continue;
        };
        for group in allowance.groups {
            choices.push(SignInChoice {
                team: of.team.id.clone(),
                team_name: of.team.name.clone(),
                group,
            });
        }
    }
    Ok(choices)
}

/// The terms of a key of this person in this team and group, once nobody else makes keys.
///
/// # Errors
/// The team does not let the person have one.
pub async fn of(
    transaction: &mut Transaction,
    person: &str,
    team: &str,
    group: &str,
    now: i64,
) -> Result<SignInTerms, ApiProblem> {
    let asked = OwnKeyBody {
        team: team.to_owned(),
        group: group.to_owned(),
        ..OwnKeyBody::default()
    };
    let (allowance, terms) = own_keys::terms(transaction, person, &asked, now).await?;
    Ok(SignInTerms {
        models: terms.models,
        limits: terms.limits,
        lifetime_days: allowance.lifetime_days,
    })
}
