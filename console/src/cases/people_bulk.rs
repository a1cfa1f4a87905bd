//! Many people at once: each is added, comes into a team, and gets a link. All of them, or none.

use serde::{Deserialize, Serialize};
use trilane::config::Problems;
use utoipa::ToSchema;

use super::caller::Caller;
use super::once::{IdempotentRequest, IdempotentResponse};
use super::ordered_keys::{self, KeyOrderBody};
use super::people::{self, NewPersonBody};
use super::problem::ApiProblem;
use super::rights;
use super::sign_in_links::SignInLink;
use super::state::ConsoleState;
use super::team_members;
use super::teams;
use crate::in_transaction;
use crate::sessions::{self, INVITATION};
use crate::store::erasures::Pseudonyms;
use crate::store::keys;
use crate::store::people as stored;
use crate::timestamp::moment;

/// The most people of one act.
pub(crate) const MOST: usize = 500;

/// People to be added.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPeopleBody {
    /// The people.
    #[schema(min_items = 1, max_items = 500)]
    pub(crate) people: Vec<NewPersonBody>,
    /// The team that all of them become members of. Where it lets members make keys, each makes theirs after the link: nobody else sees the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) team: Option<String>,
    /// A key that is ordered for each of them that names none of its own. Each takes theirs after the link: nobody else sees the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<KeyOrderBody>,
}

/// A person who was added, with the link that signs them in.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct InvitedPerson {
    /// The id of the person.
    pub(crate) id: String,
    /// The link that signs this person in, shown this once.
    pub(crate) link: SignInLink,
}

/// People who were added.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct InvitedPeople {
    /// The number of them.
    pub(crate) added: u32,
    /// Each of them, with a link. Missing where the request came again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) invited: Option<Vec<InvitedPerson>>,
}

/// Adds people, all of them or none, and makes a link for each.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    new: NewPeopleBody,
) -> Result<IdempotentResponse<InvitedPeople>, ApiProblem> {
    caller.must(rights::CHANGE_PEOPLE)?;
    if new.team.is_some() {
        caller.must(rights::CHANGE_TEAMS)?;
    }
    let has_keys = new.key.is_some() || new.people.iter().any(|person| person.key.is_some());
    if has_keys {
        caller.must(rights::CHANGE_KEYS)?;
    }
    let once = IdempotentRequest::new(caller, once, "POST /api/v1/people/bulk", &new)?;
    let now = state.now();
    if !(1..=MOST).contains(&new.people.len()) {
        return Err(ApiProblem::invalid("people", text!("must be 1 to 500")));
    }
    let mut problems = Problems::default();
    let mut people = Vec::new();
    for (place, new) in new.people.iter().enumerate() {
        match people::drawn(new, now) {
            Ok(person) => people.push(person),
            Err(problem) => at(place, &problem, &mut problems),
        }
    }
    ApiProblem::if_any(problems)?;
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        // Nobody else adds one meanwhile: PostgreSQL would end the transaction with the id that is taken.
        stored::lock(transaction).await?;
        let erased = Pseudonyms::read(transaction).await?;
        if has_keys {
            keys::take_turn(transaction).await?;
        }
        let team = match &new.team {
            None => None,
            Some(team) => match teams::find_locked(transaction, team).await {
                Err(problem) if problem.status() == 404 => return Err(ApiProblem::invalid("team", text!("there is no such team"))),
                found => Some(found?),
            },
        };
        let mut problems = Problems::default();
        let mut invited = Vec::new();
        for (place, person) in people.iter().enumerate() {
            match people::add(transaction, caller, person, now).await {
                Ok(()) => {}
                Err(problem) if problem.status() == 409 => {
                    problems.push(format!("people[{place}].id"), text!("is another person's"));
                    continue;
                }
                Err(problem) if problem.placed().is_empty() => return Err(problem),
                Err(problem) => {
                    at(place, &problem, &mut problems);
                    continue;
                }
            }
            if let Some(team) = &team {
                team_members::join(transaction, caller, &erased, team, (&person.id, false), now).await?;
            }
            let link = sessions::make_link(transaction, &person.id, INVITATION, &caller.actor(), now).await?;
            let link = link.ok_or_else(ApiProblem::not_found)?;
            invited.push(InvitedPerson {
                id: person.id.clone(),
                link: SignInLink { path: sessions::link_path(&link), expires_at: moment(now.saturating_add(INVITATION)) },
            });
        }
        ApiProblem::if_any(problems)?;
        let orders = people.iter().zip(&new.people);
        let orders: Vec<_> = orders
            .enumerate()
            .filter_map(|(place, (person, of))| Some((place, person, of.key.as_ref().or(new.key.as_ref())?)))
            .collect();
        let placed: Vec<_> = orders.iter().map(|(_, person, terms)| (*person, *terms)).collect();
        if !placed.is_empty() {
            let placed = ordered_keys::place(transaction, caller, &placed, now).await;
            placed.map_err(|(of, problem)| {
                let place = orders.get(of).map_or(of, |(place, ..)| *place);
                problem.below(&format!("people[{place}].key"))
            })?;
        }
        let made = InvitedPeople { added: u32::try_from(invited.len()).unwrap_or(u32::MAX), invited: Some(invited) };
        once.answer(transaction, made, Some("invited"), now).await
    })
}

/// Problems of one of the people, at its place.
fn at(place: usize, problem: &ApiProblem, problems: &mut Problems) {
    for placed in problem.placed() {
        let path = format!("people[{place}].{}", placed.path);
        problems.push(path, placed.reason.clone());
    }
}
