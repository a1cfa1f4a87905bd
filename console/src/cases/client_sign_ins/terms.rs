//! The terms of the key of a sign-in, each time anew: those that the team's allowance has; of a person with a group of keys, no others
//! than the group's.

use trilane::config::document::LimitsDocument;

use crate::allowance::KeyAllowance;
use crate::cases::key_models::group_in_force;
use crate::cases::me::keys::{self as own_keys, OwnKeyBody};
use crate::cases::problem::ApiProblem;
use crate::cases::teams::TeamView;
use crate::store::{Transaction, keys, memberships, people};

/// The teams of a person that are looked at.
const TEAMS: i64 = 100;

/// A team and a group that a sign-in may be of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInChoice {
    /// The id of the team; `None`: the person's own group, which is of no team.
    pub team: Option<String>,
    /// The name of the team, for people.
    pub team_name: String,
    /// The id of the group.
    pub group: String,
}

/// The terms of a key of a sign-in.
#[derive(Debug, Clone, Default)]
pub struct SignInTerms {
    /// The models that it may use; `None`: all of its group.
    pub models: Option<Vec<String>>,
    /// The limits of the key.
    pub limits: Option<LimitsDocument>,
    /// The days after which a sign-in ends at the latest, where the team says so.
    pub lifetime_days: Option<u32>,
}

/// The teams and groups that a sign-in of a person may be of: in the order of the teams' ids, then the person's own group.
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
                team: Some(of.team.id.clone()),
                team_name: TeamView::from(of.team.clone()).name,
                group,
            });
        }
    }
    let person = people::find(transaction, person).await?;
    choices.extend(
        person
            .and_then(|person| person.key_group)
            .map(|group| SignInChoice {
                team: None,
                team_name: String::new(),
                group,
            }),
    );
    Ok(choices)
}

/// The terms of a key of this person in this team and group, once nobody else makes keys.
///
/// # Errors
/// The team does not let the person have one, or the group is not the person's own.
pub async fn of(
    transaction: &mut Transaction,
    person: &str,
    team: Option<&str>,
    group: &str,
    now: i64,
) -> Result<SignInTerms, ApiProblem> {
    let Some(team) = team else {
        keys::take_turn(transaction).await?;
        let person = people::find(transaction, person).await?;
        let own = person.and_then(|person| person.key_group);
        if own.as_deref() != Some(group) || group_in_force(transaction, group).await?.is_none() {
            return Err(ApiProblem::invalid(
                "group",
                text!("is not the one of your keys"),
            ));
        }
        return Ok(SignInTerms::default());
    };
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
