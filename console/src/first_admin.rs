//! The first admin, who lets others in.

use crate::in_transaction;
use crate::secret::{self, NewSecret};
use crate::sessions::{self, FIRST_LINK};
use crate::store::api_tokens::{self, ApiToken};
use crate::store::audit::{self, Actor};
use crate::store::people::{self, Person};
use crate::store::{Store, StoreError, Transaction, identities, passwords};

/// The id of the first admin.
const ID: &str = "admin";

/// Whether anybody is there.
///
/// # Errors
/// Those of the database.
pub async fn is_anybody_there(store: &Store) -> Result<bool, StoreError> {
    let mut transaction = store.read().await?;
    let people = people::list(&mut transaction, "", 1).await?;
    transaction.rollback().await;
    Ok(!people.is_empty())
}

/// Adds the first admin, with this token. False: somebody is there already, and nothing is changed.
///
/// # Errors
/// Those of the database.
pub async fn add(store: &Store, token: &NewSecret, now: i64) -> Result<bool, StoreError> {
    let id = secret::new_id().map_err(StoreError::Other)?;
    in_transaction!(store, transaction => add_in(transaction, &id, token, now).await)
}

async fn add_in(
    transaction: &mut Transaction,
    id: &str,
    token: &NewSecret,
    now: i64,
) -> Result<bool, StoreError> {
    people::lock(transaction).await?;
    if !people::list(transaction, "", 1).await?.is_empty() {
        return Ok(false);
    }
    let person = Person {
        id: ID.to_owned(),
        name: "First admin".to_owned(),
        role: "admin".to_owned(),
        disabled: false,
        created_at: now,
        key_group: None,
    };
    people::insert(transaction, &person).await?;
    let token = ApiToken {
        id: format!("token_{id}"),
        digest: token.digest(),
        person_id: ID.to_owned(),
        name: "first".to_owned(),
        hint: token.hint().to_owned(),
        expires_at: None,
        created_at: now,
        scopes: None,
    };
    api_tokens::insert(transaction, &token).await?;
    let actor = Actor {
        id: ID.to_owned(),
        address: String::new(),
    };
    audit::insert(transaction, &actor.entry(now, "person.create", ID)).await?;
    Ok(true)
}

/// A link that signs the first admin in, once. `None`: that person is no admin any more, or some admin has a password or an
/// identity at a provider: then a link
/// that whoever reads the output finds there would only be another way in.
///
/// # Errors
/// Those of the database.
pub async fn make_link(store: &Store, now: i64) -> Result<Option<NewSecret>, StoreError> {
    in_transaction!(store, transaction => {
        if passwords::has_admin(transaction).await? || identities::has_admin(transaction).await? {
            return Ok(None);
        }
        let person = people::find(transaction, ID).await?;
        if person.is_none_or(|person| person.role != "admin") {
            return Ok(None);
        }
        sessions::make_link(transaction, ID, FIRST_LINK, &command(), now).await
    })
}

/// A link that signs a person in, once, for whoever runs the console. `None`: there is nobody of this id, or it is disabled or the
/// agent of an Envoy.
///
/// # Errors
/// Those of the database.
pub async fn link_for(
    store: &Store,
    person: &str,
    now: i64,
) -> Result<Option<NewSecret>, StoreError> {
    in_transaction!(store, transaction => {
        sessions::make_link(transaction, person, FIRST_LINK, &command(), now).await
    })
}

/// The command itself, for the audit.
fn command() -> Actor {
    Actor {
        id: audit::COMMAND.to_owned(),
        address: String::new(),
    }
}

/// The validity of a token of [`recover`], in microseconds: an hour.
const RECOVERED: i64 = 3_600_000_000;

/// Makes this person an admin who is not disabled, with this token for an hour: for whoever runs the console, after the last
/// token was lost. False: this is the agent of an Envoy.
///
/// # Errors
/// Those of the database.
pub async fn recover(
    store: &Store,
    person: &str,
    token: &NewSecret,
    now: i64,
) -> Result<bool, StoreError> {
    let id = secret::new_id().map_err(StoreError::Other)?;
    in_transaction!(store, transaction => {
        people::lock(transaction).await?;
        match people::find_locked(transaction, person).await? {
            Some(found) if found.role == "agent" => return Ok(false),
            Some(found) => {
                let admin = Person { role: "admin".to_owned(), disabled: false, ..Person::clone(&found) };
                people::update(transaction, &found, &admin).await?;
            }
            None => {
                let admin = Person {
                    id: person.to_owned(),
                    name: person.to_owned(),
                    role: "admin".to_owned(),
                    disabled: false,
                    created_at: now,
                    key_group: None,
                };
                people::insert(transaction, &admin).await?;
            }
        }
        let token = ApiToken {
            id: format!("token_{id}"),
            digest: token.digest(),
            person_id: person.to_owned(),
            name: "recovered".to_owned(),
            hint: token.hint().to_owned(),
            expires_at: Some(now.saturating_add(RECOVERED)),
            created_at: now,
            scopes: None,
        };
        api_tokens::insert(transaction, &token).await?;
        audit::insert(transaction, &command().entry(now, "person.recover", person)).await?;
        Ok(true)
    })
}
