//! Tokens of the API for the command `trilane`, which a person has let in: theirs, good for a working day, with scopes that the person
//! has seen. They are on the page Tokens like all others, and end with them.

use super::SECOND;
use super::grants::GrantRefusal;
use super::list::client_name;
use super::tokens::ClientTokens;
use crate::cases::caller::Caller;
use crate::cases::problem::ApiProblem;
use crate::cases::scopes::Scopes;
use crate::cases::tokens;
use crate::secret::NewSecret;
use crate::store::api_tokens::{self, ApiToken};
use crate::store::audit::{self, Actor};
use crate::store::device_grants::DeviceGrant;
use crate::store::{StoreError, Transaction, people};

/// The life of such a token, in seconds: a working day.
const LIFE: i64 = 12 * 3600;

/// The scopes that are given to who signs in, and what each lets a client do. None makes people, tokens or credentials: a code that
/// somebody was talked into must not become a way to stay.
const GIVEN: [(&str, &str); 6] = [
    ("keys:read", text!("see keys")),
    ("keys:write", text!("make, change and remove keys")),
    ("usage:read", text!("see usage and charges")),
    (
        "documents:read",
        text!("see documents, drafts and settings of clients"),
    ),
    (
        "documents:write",
        text!("change and publish documents, and change settings of clients"),
    ),
    (
        "accounts:read",
        text!("see which credentials there are, not themselves"),
    ),
];

/// Reads the scopes that a client asks for, as they are stored.
///
/// # Errors
/// One is not given to who signs in.
pub(super) fn scopes(asked: &str) -> Result<String, GrantRefusal> {
    let names = asked.split(' ').filter(|name| !name.is_empty());
    let scopes = Scopes::parse(names).map_err(|_| GrantRefusal::Scope)?;
    let names = scopes.names();
    let is_given = |name: &String| GIVEN.iter().any(|(given, _)| given == name);
    if names.is_empty() || !names.iter().all(is_given) {
        return Err(GrantRefusal::Scope);
    }
    Ok(scopes.to_stored())
}

/// Scopes, each with what it lets a client do.
pub(super) fn in_words(stored: &str) -> Vec<(String, &'static str)> {
    let names = Scopes::stored(stored).names().into_iter();
    let named = names.map(|name| {
        let words = GIVEN.iter().find(|(given, _)| *given == name);
        (name, words.map_or("", |(_, words)| *words))
    });
    named.collect()
}

/// Makes the token of a client that was let in.
///
/// # Errors
/// Those of the database.
pub(super) async fn begin(
    transaction: &mut Transaction,
    caller: &Caller,
    grant: &DeviceGrant,
    (value, id): (&NewSecret, &str),
    now: i64,
) -> Result<ClientTokens, ApiProblem> {
    let name = client_name(&grant.client);
    let token = ApiToken {
        id: format!("token_{id}"),
        digest: value.digest(),
        person_id: caller.id.clone(),
        name: match grant.device.as_str() {
            "" => format!("{name}, signed in"),
            device => format!("{name} on {device}"),
        },
        hint: value.hint().to_owned(),
        expires_at: Some(now.saturating_add(LIFE.saturating_mul(SECOND))),
        created_at: now,
        scopes: grant.scopes.clone(),
    };
    let actor = Actor {
        address: grant.address.clone(),
        ..caller.actor()
    };
    tokens::add(transaction, &actor, &token).await?;
    Ok(ClientTokens {
        access: value.clone(),
        expires_in: LIFE,
        refresh: None,
    })
}

/// Removes the token with this digest, if there is one: its holder has signed out.
///
/// # Errors
/// Those of the database.
pub(super) async fn end(
    transaction: &mut Transaction,
    digest: &str,
    now: i64,
) -> Result<(), StoreError> {
    let Some(holder) = api_tokens::holder(transaction, digest, now).await? else {
        return Ok(());
    };
    // The person first, as whoever disables a person does.
    people::find_locked(transaction, &holder.person.id).await?;
    if api_tokens::remove(transaction, &holder.token, None).await? {
        let actor = Actor {
            id: holder.person.id,
            address: String::new(),
        };
        let entry = actor.entry(now, "token.remove", &holder.token);
        audit::insert(transaction, &entry).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given() {
        for (asked, want) in [
            ("usage:read", Some("usage:read")),
            ("keys:write  usage:read", Some("keys:write usage:read")),
            ("", None),
            ("all:read", None),
            ("people:write", None),
            ("tokens:write", None),
            ("keys:write accounts:write", None),
            ("keys", None),
        ] {
            assert_eq!(scopes(asked).ok().as_deref(), want, "{asked}");
        }
        for (name, words) in GIVEN {
            assert_eq!(in_words(name), [(name.to_owned(), words)]);
        }
    }
}
