//! Who is signed in to the pages: by a link that is good once, or by a password.
//!
//! A session begins with a new token each time, ends when it was not used for [`IDLE`] or is older than [`LONGEST`], and when
//! its person is disabled or gets another role. Attempts with a password are counted before they are looked at, by address and
//! by person, and slowed from some failures on.

use crate::in_transaction;
use crate::metrics::{SignInOutcome, counted};
use crate::passwords::{self, Password};
use crate::secret::{self, NewSecret};
use crate::store::audit::{self, Actor};
use crate::store::old_rows::Cutoff;
use crate::store::people::{self, Person};
use crate::store::{
    Store, StoreError, Transaction, passwords as hashes, sessions, sign_in_failures, sign_in_links,
};
use crate::throttle;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
/// How long a session lasts that is not used.
pub const IDLE: i64 = 12 * HOUR;
/// How long a session lasts at most.
pub const LONGEST: i64 = 7 * 24 * HOUR;
/// The use of a session is noted so often at most.
const TOUCH: i64 = 60 * SECOND;
/// How long the link lasts that the command prints for the first admin.
pub const FIRST_LINK: i64 = HOUR;
/// How long the link of an invitation lasts.
pub const INVITATION: i64 = 24 * HOUR;
/// From so many failures of a person on, the next attempt has to wait, twice as long each time.
const OF_PERSON: i64 = 5;
/// The same for an address, behind which there may be many people.
const OF_ADDRESS: i64 = 30;

/// A session that has begun.
#[derive(Debug)]
pub struct NewSession {
    /// Its token, for the cookie.
    pub token: NewSecret,
    /// Whose it is.
    pub person: Person,
    /// Whether this person has a password.
    pub has_password: bool,
}

/// Why nobody is signed in.
#[derive(Debug)]
pub enum SignInError {
    /// The link was used, has expired, or never was one.
    Link,
    /// There is no such person, the password is another one, or the person is disabled: which of these is not said.
    Wrong,
    /// Too many attempts failed.
    TooMany,
    /// The database.
    Store(StoreError),
}

impl From<StoreError> for SignInError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl crate::store::AsStoreError for SignInError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

/// The holder of an open session, and when it was last used.
async fn open(store: &Store, digest: &str, now: i64) -> Result<Option<(Person, i64)>, StoreError> {
    let mut transaction = store.read().await?;
    let used_since = now.saturating_sub(IDLE);
    let found = sessions::holder(&mut transaction, digest, now, used_since).await;
    transaction.rollback().await;
    found
}

/// Whether a session is open. That this is asked is no use of it.
///
/// # Errors
/// Those of the database.
pub async fn is_open(store: &Store, token: &str, now: i64) -> Result<bool, StoreError> {
    let found = open(store, &secret::digest(token), now).await?;
    Ok(found.is_some())
}

/// Whose session has this token; it is in use from now on.
///
/// # Errors
/// Those of the database.
pub async fn holder(store: &Store, token: &str, now: i64) -> Result<Option<Person>, StoreError> {
    let digest = secret::digest(token);
    let Some((person, used_at)) = open(store, &digest, now).await? else {
        return Ok(None);
    };
    if used_at < now.saturating_sub(TOUCH) {
        in_transaction!(store, transaction => sessions::touch(transaction, &digest, now).await)?;
    }
    Ok(Some(person))
}

/// The path of a link that signs in, once.
pub fn link_path(link: &NewSecret) -> String {
    format!("/sign-in/link?token={}", link.reveal())
}

/// Makes a link with which this person signs in, once. `None`: there is nobody like that, or it is an agent's.
///
/// # Errors
/// Those of the database.
pub async fn make_link(
    transaction: &mut Transaction,
    person: &str,
    lasts: i64,
    actor: &Actor,
    now: i64,
) -> Result<Option<NewSecret>, StoreError> {
    let found = people::find(transaction, person).await?;
    if found.is_none_or(|person| person.disabled || person.role == "agent") {
        return Ok(None);
    }
    let link = NewSecret::sign_in_link().map_err(StoreError::Other)?;
    let until = now.saturating_add(lasts);
    sign_in_links::remove_all(transaction, person).await?;
    sign_in_links::insert(transaction, &link.digest(), person, now, until).await?;
    audit::insert(transaction, &actor.entry(now, "person.link", person)).await?;
    Ok(Some(link))
}

/// Signs in with a link, which is used up.
///
/// # Errors
/// The link is not good.
pub async fn by_link(
    store: &Store,
    link: &str,
    address: &str,
    now: i64,
) -> Result<NewSession, SignInError> {
    count_outcome(take_link(store, link, address, now).await)
}

async fn take_link(
    store: &Store,
    link: &str,
    address: &str,
    now: i64,
) -> Result<NewSession, SignInError> {
    let token = NewSecret::session().map_err(StoreError::Other)?;
    in_transaction!(store, transaction => {
        let person = sign_in_links::take(transaction, &secret::digest(link), now).await?;
        let person = person.ok_or(SignInError::Link)?;
        begin(transaction, &person, token.clone(), "link", address, now).await
    })
}

/// Signs in with a password.
///
/// # Errors
/// It is wrong, or too many were.
pub async fn by_password(
    store: &Store,
    person: &str,
    password: Password,
    address: &str,
    now: i64,
) -> Result<NewSession, SignInError> {
    count_outcome(take_password(store, person, password, address, now).await)
}

/// What failures to sign in as a person are counted under.
pub(crate) fn failures_of(person: &str) -> String {
    format!("person {}", secret::digest(person))
}

async fn take_password(
    store: &Store,
    person: &str,
    password: Password,
    address: &str,
    now: i64,
) -> Result<NewSession, SignInError> {
    let subject = failures_of(person);
    let from = format!("address {address}");
    let hash = in_transaction!(store, transaction => {
        // The address first, always: two consoles lock the rows in one order.
        count(transaction, &from, OF_ADDRESS, now).await?;
        count(transaction, &subject, OF_PERSON, now).await?;
        hashes::find(transaction, person).await.map_err(SignInError::from)
    });
    // The counts stay, so this is outside of the transaction; the work is the same for a person whom nobody knows.
    let is_right = passwords::verify(password, hash?)
        .await
        .map_err(StoreError::Other)?;
    if !is_right {
        return Err(SignInError::Wrong);
    }
    let token = NewSecret::session().map_err(StoreError::Other)?;
    in_transaction!(store, transaction => {
        sign_in_failures::clear(transaction, &subject).await?;
        begin(transaction, person, token.clone(), "password", address, now).await
    })
}

/// Counts what became of an attempt, for the metrics. A failure of the database is none.
fn count_outcome(done: Result<NewSession, SignInError>) -> Result<NewSession, SignInError> {
    let outcome = match &done {
        Ok(_) => Some(SignInOutcome::SignedIn),
        Err(SignInError::Wrong) => Some(SignInOutcome::Wrong),
        Err(SignInError::TooMany) => Some(SignInOutcome::TooMany),
        Err(SignInError::Link) => Some(SignInOutcome::Link),
        Err(SignInError::Store(_)) => None,
    };
    if let Some(outcome) = outcome {
        counted().sign_in(outcome);
    }
    done
}

/// Counts an attempt.
async fn count(
    transaction: &mut Transaction,
    subject: &str,
    free: i64,
    now: i64,
) -> Result<(), SignInError> {
    let may_be_tried = throttle::count(transaction, subject, free, now).await?;
    may_be_tried.then_some(()).ok_or(SignInError::TooMany)
}

async fn begin(
    transaction: &mut Transaction,
    person: &str,
    token: NewSecret,
    way: &str,
    address: &str,
    now: i64,
) -> Result<NewSession, SignInError> {
    let person = people::find(transaction, person).await?;
    let person = person
        .filter(|person| !person.disabled && person.role != "agent")
        .ok_or(SignInError::Wrong)?;
    let until = now.saturating_add(LONGEST);
    sessions::insert(transaction, &token.digest(), &person, now, until).await?;
    let actor = Actor {
        id: person.id.clone(),
        address: address.to_owned(),
    };
    let mut entry = actor.entry(now, "session.begin", &person.id);
    entry.after = Some(format!("{{\"by\":\"{way}\"}}"));
    audit::insert(transaction, &entry).await?;
    let has_password = hashes::find(transaction, &person.id).await?.is_some();
    Ok(NewSession {
        token,
        person,
        has_password,
    })
}

/// Ends a session.
///
/// # Errors
/// Those of the database.
pub async fn end(store: &Store, token: &str) -> Result<(), StoreError> {
    let digest = secret::digest(token);
    in_transaction!(store, transaction => sessions::remove(transaction, &digest).await)
}

/// Sets a person's password. Their other sessions end, and links are void.
///
/// # Errors
/// Those of the database.
pub async fn set_password(
    store: &Store,
    token: &str,
    password: Password,
    actor: &Actor,
    now: i64,
) -> Result<(), StoreError> {
    let hash = passwords::hash(password).await.map_err(StoreError::Other)?;
    let session = secret::digest(token);
    in_transaction!(store, transaction => {
        hashes::set(transaction, &actor.id, &hash, now).await?;
        sessions::remove_others(transaction, &actor.id, &session).await?;
        sign_in_links::remove_all(transaction, &actor.id).await?;
        audit::insert(transaction, &actor.entry(now, "person.password", &actor.id)).await
    })
}

/// Forgets what is over.
///
/// # Errors
/// Those of the database.
pub async fn forget(store: &Store, now: time::OffsetDateTime) -> Result<(), StoreError> {
    let now = now.unix_timestamp().saturating_mul(SECOND);
    let before = |age| Cutoff::Moment(now.saturating_sub(age));
    sessions::EXPIRED.delete(store, &before(0)).await?;
    sessions::IDLE.delete(store, &before(IDLE)).await?;
    sign_in_links::EXPIRED.delete(store, &before(0)).await?;
    sign_in_failures::OLD
        .delete(store, &before(24 * HOUR))
        .await?;
    Ok(())
}
