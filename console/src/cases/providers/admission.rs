//! Makes a person of verified claims: who is admitted, and role, teams and group of keys by the rules.

use super::rules::{self, Given, domain_of};
use super::settings::ProviderSettings;
use crate::cases::people;
use crate::cases::problem::ApiProblem;
use crate::cases::role::Role;
use crate::cases::{fields, notice_choices, team_members};
use crate::identity_providers::Claims;
use crate::store::audit::{self, Actor};
use crate::store::erasures::Pseudonyms;
use crate::store::identities::{self, Identity};
use crate::store::memberships::{self, Membership};
use crate::store::people::{self as stored, Person};
use crate::store::{LockedRow, Transaction, teams};

/// The reason that claims admit nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is no e-mail address, or none that can be an id.
    NoEmail,
    /// The provider does not say that the address is verified.
    NotVerified,
    /// The address is of a domain that is not allowed.
    Domain,
    /// Nobody has this address here, and neither its domain nor a rule lets the person in.
    NotAdmitted,
    /// Another account of the provider is linked with the person.
    OtherAccount,
    /// The person is disabled, or the agent of an Envoy.
    Disabled,
    /// The data of a person with this address was erased.
    Erased,
}

impl Refusal {
    /// The name, for the audit.
    const fn name(self) -> &'static str {
        match self {
            Self::NoEmail => "no_email",
            Self::NotVerified => "email_not_verified",
            Self::Domain => "domain",
            Self::NotAdmitted => "not_admitted",
            Self::OtherAccount => "other_account",
            Self::Disabled => "disabled",
            Self::Erased => "erased",
        }
    }
}

/// The verified e-mail address of claims, in lower case: a person's id.
fn verified_email(settings: &ProviderSettings, claims: &Claims) -> Result<String, Refusal> {
    let email = claims.text("email").ok_or(Refusal::NoEmail)?;
    // Letters of other alphabets stay, and are refused: some look like ours in lower case.
    let email = email.to_ascii_lowercase();
    let is_whole = email.split_once('@').is_some_and(|(name, domain)| {
        !name.is_empty() && !domain.is_empty() && !domain.contains('@')
    });
    if !is_whole || !stored::is_id(&email) {
        return Err(Refusal::NoEmail);
    }
    let verified = claims.get(&settings.verified_claim);
    if verified != Some(&serde_json::Value::Bool(true)) {
        return Err(Refusal::NotVerified);
    }
    Ok(email)
}

/// Whether this may be a `sub`: 255 ASCII characters at most (OpenID Connect Core, section 2).
fn is_subject(text: &str) -> bool {
    (1..=255).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The claims of a person who signs in, or who is asked about again.
#[derive(Debug)]
pub(super) struct Vouched<'a> {
    /// The provider's id.
    pub(super) provider: &'a str,
    /// Its settings.
    pub(super) settings: &'a ProviderSettings,
    /// The verified claims.
    pub(super) claims: &'a Claims,
    /// The address that the request comes from.
    pub(super) address: &'a str,
    /// Whether the person signs in. Else nobody is added or linked.
    pub(super) signs_in: bool,
}

/// Admits the person of verified claims: added at the first sign-in, with role, teams and group of keys as the rules say. The person's id and
/// the identity, which is not stored yet.
///
/// # Errors
/// Those of the database. `Ok(Err)`: the person is not admitted, which is audited if somebody is known by the address.
pub(super) async fn admit(
    transaction: &mut Transaction,
    vouched: &Vouched<'_>,
    now: i64,
) -> Result<Result<Identity, Refusal>, ApiProblem> {
    let erased = Pseudonyms::read(transaction).await?;
    stored::lock(transaction).await?;
    let refused = match admitted(transaction, &erased, vouched, now).await? {
        Ok(identity) => return Ok(Ok(identity)),
        Err(refused) => refused,
    };
    let (refusal, person) = refused;
    if let Some(person) = person {
        let actor = Actor {
            id: audit::STRANGER.to_owned(),
            address: vouched.address.to_owned(),
        };
        let mut entry = actor.entry(now, "session.refuse", &person);
        let after = serde_json::json!({"by": vouched.provider, "reason": refusal.name()});
        entry.after = Some(after.to_string());
        audit::insert(transaction, &entry).await?;
    }
    Ok(Err(refusal))
}

type Refused = (Refusal, Option<String>);

async fn admitted(
    transaction: &mut Transaction,
    erased: &Pseudonyms,
    vouched: &Vouched<'_>,
    now: i64,
) -> Result<Result<Identity, Refused>, ApiProblem> {
    let nobody = |refusal| Ok(Err((refusal, None)));
    let subject = vouched.claims.text("sub");
    let Some(subject) = subject.filter(|it| is_subject(it)) else {
        return nobody(Refusal::NoEmail);
    };
    let email = match verified_email(vouched.settings, vouched.claims) {
        Ok(email) => email,
        Err(refusal) => return nobody(refusal),
    };
    let linked = identities::find(transaction, vouched.provider, subject).await?;
    let id = linked.as_ref().map_or(&email, |linked| &linked.person);
    let given = rules::apply(&vouched.settings.rules, vouched.claims, &email);
    // Teams before the person, as everywhere.
    let mut teams_given = Vec::new();
    let before = memberships::given_by(transaction, vouched.provider, id).await?;
    let mut named: Vec<&String> = given.teams.iter().chain(&before).collect();
    named.sort_unstable();
    named.dedup();
    for team in named {
        // A rule may name a team that is removed by now.
        teams_given.extend(teams::find_locked(transaction, team).await?);
    }
    let known = stored::find_locked(transaction, id).await?;
    let person = known.as_ref().map(|known| known.id.clone());
    let refused = |refusal| Ok(Err((refusal, person.clone())));
    let domains = &vouched.settings.allowed_domains;
    let is_of_domain = domains.iter().any(|domain| domain == domain_of(&email));
    if !domains.is_empty() && !is_of_domain {
        return refused(Refusal::Domain);
    }
    if let Some(known) = &known {
        if known.disabled || known.role == Role::Agent.name() {
            return refused(Refusal::Disabled);
        }
        let others = identities::of_person(transaction, &known.id).await?;
        let is_other = |it: &Identity| it.provider == vouched.provider && it.subject != subject;
        if others.iter().any(is_other) {
            return refused(Refusal::OtherAccount);
        }
    } else if !is_of_domain && !given.any {
        return refused(Refusal::NotAdmitted);
    }
    if linked.is_none() && !vouched.signs_in {
        return refused(Refusal::NotAdmitted);
    }
    if known.is_none() && erased.of(&email).is_some() {
        return refused(Refusal::Erased);
    }
    let actor = Actor {
        id: id.clone(),
        address: vouched.address.to_owned(),
    };
    follow_person(
        transaction,
        &actor,
        known,
        linked.as_ref(),
        vouched,
        &given,
        now,
    )
    .await?;
    if vouched.signs_in {
        notice_choices::offer(transaction, &actor, &actor.id, &email, now).await?;
    }
    follow_teams(
        transaction,
        &actor,
        erased,
        &teams_given,
        vouched,
        &given,
        now,
    )
    .await?;
    Ok(Ok(Identity {
        provider: vouched.provider.to_owned(),
        subject: subject.to_owned(),
        person: actor.id,
        refresh_token: linked
            .as_ref()
            .and_then(|linked| linked.refresh_token.clone()),
        checked_at: now,
        asked_at: now,
        ended: false,
        given_role: given.role.map(|role| role.name().to_owned()),
        given_key_group: given.key_group,
        created_at: linked.map_or(now, |linked| linked.created_at),
    }))
}

/// Role and group of keys follow the rules. What a rule gave and gives no longer goes; what was chosen by hand stays.
async fn follow_person(
    transaction: &mut Transaction,
    actor: &Actor,
    known: Option<LockedRow<Person>>,
    linked: Option<&Identity>,
    vouched: &Vouched<'_>,
    given: &Given,
    now: i64,
) -> Result<(), ApiProblem> {
    let name = vouched
        .claims
        .text("name")
        .filter(|name| fields::is_name(name));
    let Some(before) = known else {
        let person = Person {
            id: actor.id.clone(),
            name: name.unwrap_or_default().to_owned(),
            role: given.role.unwrap_or(Role::Member).name().to_owned(),
            disabled: false,
            created_at: now,
            key_group: given.key_group.clone(),
        };
        stored::insert(transaction, &person).await?;
        let mut entry = actor.entry(now, "person.create", &person.id);
        entry.after = Some(people::told(&person));
        audit::insert(transaction, &entry).await?;
        return Ok(());
    };
    let mut person = Person::clone(&before);
    if person.name.is_empty() {
        name.unwrap_or_default().clone_into(&mut person.name);
    }
    let given_role = linked.and_then(|linked| linked.given_role.as_ref());
    match given.role {
        Some(role) => role.name().clone_into(&mut person.role),
        None if given_role == Some(&person.role) => {
            Role::Member.name().clone_into(&mut person.role);
        }
        None => {}
    }
    let given_group = linked.and_then(|linked| linked.given_key_group.as_ref());
    if given.key_group.is_some() {
        person.key_group.clone_from(&given.key_group);
    } else if given_group.is_some() && given_group == person.key_group.as_ref() {
        person.key_group = None;
    }
    if before.role == Role::Admin.name()
        && person.role != before.role
        && stored::count_admins(transaction).await? <= 1
    {
        // Nobody could change anything any more.
        person.role.clone_from(&before.role);
    }
    if person == *before {
        return Ok(());
    }
    let tokens = stored::update(transaction, &before, &person).await?;
    let mut entry = actor.entry(now, "person.change", &person.id);
    entry.before = Some(people::told(&before));
    entry.after = Some(people::told(&person));
    audit::insert(transaction, &entry).await?;
    for token in tokens {
        audit::insert(transaction, &actor.entry(now, "token.remove", &token)).await?;
    }
    Ok(())
}

/// Memberships follow the rules; those that were given by hand stay as they are.
async fn follow_teams(
    transaction: &mut Transaction,
    actor: &Actor,
    erased: &Pseudonyms,
    locked: &[LockedRow<teams::Team>],
    vouched: &Vouched<'_>,
    given: &Given,
    now: i64,
) -> Result<(), ApiProblem> {
    for team in locked {
        let before = memberships::find(transaction, &team.id, &actor.id).await?;
        let is_given = given.teams.contains(&team.id);
        match before {
            None if is_given => {
                let membership = Membership {
                    team: team.id.clone(),
                    person: actor.id.clone(),
                    manager: false,
                    created_at: now,
                    provider: Some(vouched.provider.to_owned()),
                };
                team_members::put(transaction, actor, erased, team, None, &membership, now).await?;
            }
            Some(before) if !is_given && before.provider.as_deref() == Some(vouched.provider) => {
                team_members::take(transaction, actor, team, &before, now).await?;
            }
            _ => {}
        }
    }
    Ok(())
}
