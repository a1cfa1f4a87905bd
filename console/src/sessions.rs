//! Sessions of people on the pages: begun by a link that is valid once, by a password, or by an identity provider.
//!
//! A session begins with a new token each time, ends when it was not used for [`IDLE`] or is older than [`LONGEST`], and when
//! its person is disabled or gets another role.
//!
//! Attempts with a password are counted before they are looked at, and slowed from some failures on: by address and by person, but
//! those with a device that the person has signed in with before by this device alone. So whoever guesses at a person, from however
//! many addresses, keeps that person out nowhere else than at devices that are new.

use crate::client_address;
use crate::counted::{SignInOutcome, counted};
use crate::in_transaction;
use crate::passwords::{self, Password};
use crate::secret::{self, NewSecret};
use crate::store::audit::{self, Actor};
use crate::store::old_rows::Cutoff;
use crate::store::people::{self, Person};
use crate::store::sessions::SessionHolder;
use crate::store::{
    Store, StoreError, Transaction, authorization_requests, identity_providers,
    passwords as hashes, sessions, sign_in_devices, sign_in_failures, sign_in_links,
};
use crate::throttle;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
/// The time after which an unused session ends, in microseconds.
pub const IDLE: i64 = 12 * HOUR;
/// The longest duration of a session, in microseconds.
pub const LONGEST: i64 = 7 * 24 * HOUR;
/// The use of a session is noted so often at most.
const TOUCH: i64 = 60 * SECOND;
/// The validity of the link that the command prints for the first admin, in microseconds.
pub const FIRST_LINK: i64 = HOUR;
/// The validity of the link of an invitation, in microseconds.
pub const INVITATION: i64 = 24 * HOUR;
/// From so many failures of a person on, the next attempt has to wait, twice as long each time.
const OF_PERSON: i64 = 5;
/// The same for an address, behind which there may be many people.
const OF_ADDRESS: i64 = 30;

/// The time after which a device is forgotten that nobody signs in with, in microseconds.
pub const DEVICE: i64 = 180 * 24 * HOUR;
/// The most rejected attempts at unknown persons within an hour that the audit records.
const TOLD_OF_NOBODY: i64 = 100;

/// From where somebody signs in.
#[derive(Debug, Clone, Copy, Default)]
pub struct SignInSource<'a> {
    /// The address, for the audit.
    pub address: &'a str,
    /// Whether all have this address, so that attempts are not counted by it.
    pub is_shared: bool,
    /// The token of the device, if it has one.
    pub device: Option<&'a str>,
}

/// A session that has begun.
#[derive(Debug)]
pub struct NewSession {
    /// The token of the session, for the cookie.
    pub token: NewSecret,
    /// The person it belongs to.
    pub person: Person,
    /// Whether this person has a password.
    pub has_password: bool,
    /// The token of the device, which is known from now on.
    pub device: NewSecret,
}

/// The reason that a sign-in failed.
#[derive(Debug)]
pub enum SignInError {
    /// The link was used, has expired, or never was one.
    Link,
    /// The person does not exist or is disabled, or the password is wrong: the response does not say which.
    Wrong,
    /// Too many attempts failed.
    TooMany,
    /// Passwords are turned off.
    PasswordsOff,
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

/// The holder of an open session.
async fn open(store: &Store, digest: &str, now: i64) -> Result<Option<SessionHolder>, StoreError> {
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

/// Returns the holder of the session with this token, and marks the session as used.
///
/// # Errors
/// Those of the database.
pub async fn holder(
    store: &Store,
    token: &str,
    now: i64,
) -> Result<Option<SessionHolder>, StoreError> {
    let digest = secret::digest(token);
    let Some(holder) = open(store, &digest, now).await? else {
        return Ok(None);
    };
    if holder.used_at < now.saturating_sub(TOUCH) {
        in_transaction!(store, transaction => sessions::touch(transaction, &digest, now).await)?;
    }
    Ok(Some(holder))
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
    let found = people::find_locked(transaction, person).await?;
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
    from: &SignInSource<'_>,
    now: i64,
) -> Result<NewSession, SignInError> {
    count_outcome(take_link(store, link, from, now).await)
}

async fn take_link(
    store: &Store,
    link: &str,
    from: &SignInSource<'_>,
    now: i64,
) -> Result<NewSession, SignInError> {
    let drawn = DrawnTokens::new()?;
    in_transaction!(store, transaction => {
        let person = sign_in_links::take(transaction, &secret::digest(link), now).await?;
        let person = person.ok_or(SignInError::Link)?;
        begin(transaction, &person, &drawn, SignInWay::Link, from, now).await
    })
}

/// Signs in the person whom a trusted proxy names.
///
/// # Errors
/// There is nobody like that, or the person is disabled.
pub async fn by_proxy(
    store: &Store,
    person: &str,
    from: &SignInSource<'_>,
    now: i64,
) -> Result<NewSession, SignInError> {
    // No id has a zero byte; PostgreSQL could not even look for it.
    if person.contains('\0') {
        return Err(SignInError::Wrong);
    }
    let drawn = DrawnTokens::new()?;
    count_outcome(in_transaction!(store, transaction => {
        begin(transaction, person, &drawn, SignInWay::ProxyHeader, from, now).await
    }))
}

/// Signs in with a password. Ids are in lower case: what is typed otherwise is the same.
///
/// # Errors
/// It is wrong, or too many were.
pub async fn by_password(
    store: &Store,
    person: &str,
    password: Password,
    from: &SignInSource<'_>,
    now: i64,
) -> Result<NewSession, SignInError> {
    let person = person.trim().to_ascii_lowercase();
    let done = take_password(store, &person, password, from, now).await;
    if matches!(done, Err(SignInError::Wrong)) {
        note_refused(store, &person, from.address, now).await?;
    }
    count_outcome(done)
}

/// Returns the subject under which failures to sign in as a person are counted.
pub(crate) fn failures_of(person: &str) -> String {
    format!("person {}", secret::digest(person))
}

async fn take_password(
    store: &Store,
    person: &str,
    password: Password,
    from: &SignInSource<'_>,
    now: i64,
) -> Result<NewSession, SignInError> {
    let device = from.device.map(secret::digest);
    let address = format!("address {}", client_address::counted(from.address));
    let tried: Result<_, SignInError> = in_transaction!(store, transaction => {
        if !identity_providers::passwords_allowed(transaction).await? {
            return Err(SignInError::PasswordsOff);
        }
        let known = match &device {
            Some(device) => sign_in_devices::is_known(transaction, device, person).await?,
            None => false,
        };
        let subject = match &device {
            Some(device) if known => format!("device {device}"),
            _ => failures_of(person),
        };
        // The address first, always: two consoles lock the rows in one order.
        if !known && !from.is_shared {
            count(transaction, &address, OF_ADDRESS, now).await?;
        }
        count(transaction, &subject, OF_PERSON, now).await?;
        let hash = hashes::find(transaction, person).await?;
        Ok((subject, hash))
    });
    let (subject, hash) = tried?;
    // The counts stay, so this is outside of the transaction; the work is the same for a person whom nobody knows.
    let is_right = passwords::verify(password, hash.clone())
        .await
        .map_err(StoreError::Other)?;
    if !is_right {
        return Err(SignInError::Wrong);
    }
    let drawn = DrawnTokens::new()?;
    in_transaction!(store, transaction => {
        // The person's row before the failures, as whoever erases a person locks them.
        let session = begin(transaction, person, &drawn, SignInWay::Password, from, now).await?;
        if hashes::find(transaction, person).await? != hash {
            // Another password was set meanwhile.
            return Err(SignInError::Wrong);
        }
        sign_in_failures::clear(transaction, &subject).await?;
        Ok(session)
    })
}

/// Tells a refused attempt in the audit: the first within an hour, the second, the fourth and so on; of a person by that person, of
/// nobody by address, and of those only some. What was typed for a person whom nobody knows is not told: it may be a password.
async fn note_refused(
    store: &Store,
    person: &str,
    address: &str,
    now: i64,
) -> Result<(), StoreError> {
    let since = now.saturating_sub(HOUR);
    in_transaction!(store, transaction => {
        let known = people::find(transaction, person).await?;
        let subject = match &known {
            Some(_) => format!("refused {}", secret::digest(person)),
            None => format!("refused from {}", client_address::counted(address)),
        };
        let times = sign_in_failures::count(transaction, &subject, now, since).await?.unwrap_or(1);
        if !u64::try_from(times).is_ok_and(u64::is_power_of_two) {
            return Ok(());
        }
        if known.is_none() {
            let told = sign_in_failures::count(transaction, "refused of nobody", now, since).await?;
            if told.is_none_or(|told| told > TOLD_OF_NOBODY) {
                return Ok(());
            }
        }
        let actor = Actor { id: audit::STRANGER.to_owned(), address: address.to_owned() };
        let object = known.map(|person| person.id).unwrap_or_default();
        let mut entry = actor.entry(now, "session.refuse", &object);
        entry.after = Some(format!("{{\"times\":{times}}}"));
        audit::insert(transaction, &entry).await
    })
}

/// The tokens of a new session. They are drawn beforehand: a change that is done again draws no other.
#[derive(Debug)]
pub struct DrawnTokens {
    session: NewSecret,
    device: NewSecret,
}

impl DrawnTokens {
    /// Draws them.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn new() -> Result<Self, StoreError> {
        Ok(Self {
            session: NewSecret::session().map_err(StoreError::Other)?,
            device: NewSecret::device().map_err(StoreError::Other)?,
        })
    }
}

/// Counts what became of an attempt, for the metrics. A failure of the database is none.
fn count_outcome(done: Result<NewSession, SignInError>) -> Result<NewSession, SignInError> {
    let outcome = match &done {
        Ok(_) => Some(SignInOutcome::SignedIn),
        Err(SignInError::Wrong) => Some(SignInOutcome::Wrong),
        Err(SignInError::TooMany) => Some(SignInOutcome::TooMany),
        Err(SignInError::Link) => Some(SignInOutcome::Link),
        Err(SignInError::PasswordsOff | SignInError::Store(_)) => None,
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

/// The way by which somebody signs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInWay<'a> {
    /// A password.
    Password,
    /// A link that is good once.
    Link,
    /// The identity provider of this id.
    Provider(&'a str),
    /// The header of a proxy that is trusted.
    ProxyHeader,
}

impl<'a> SignInWay<'a> {
    /// The name, for the audit.
    const fn name(self) -> &'a str {
        match self {
            Self::Password => "password",
            Self::Link => "link",
            Self::Provider(id) => id,
            Self::ProxyHeader => "proxy header",
        }
    }
}

/// Begins a session of a person who has proved who they are, in this way.
///
/// # Errors
/// [`SignInError::Wrong`]: there is nobody like that, or the person is disabled, or an agent's.
pub async fn begin(
    transaction: &mut Transaction,
    person: &str,
    drawn: &DrawnTokens,
    way: SignInWay<'_>,
    from: &SignInSource<'_>,
    now: i64,
) -> Result<NewSession, SignInError> {
    // Whoever is disabled at the same moment is signed in either before, and out by it, or not at all.
    let person = people::find_locked(transaction, person).await?;
    let person = person
        .filter(|person| !person.disabled && person.role != "agent")
        .ok_or(SignInError::Wrong)?
        .into_inner();
    let until = now.saturating_add(LONGEST);
    let provider = match way {
        SignInWay::Provider(id) => Some(id),
        _ => None,
    };
    let digest = drawn.session.digest();
    sessions::insert(transaction, &digest, &person, provider, now, until).await?;
    // A device that somebody else has used gets another token: what is counted under it is that person's.
    let device = match from.device {
        Some(known)
            if sign_in_devices::is_known(transaction, &secret::digest(known), &person.id)
                .await? =>
        {
            NewSecret::given(known)
        }
        _ => drawn.device.clone(),
    };
    sign_in_devices::note(transaction, &device.digest(), &person.id, now).await?;
    let actor = Actor {
        id: person.id.clone(),
        address: from.address.to_owned(),
    };
    let mut entry = actor.entry(now, "session.begin", &person.id);
    entry.after = Some(serde_json::json!({"by": way.name()}).to_string());
    audit::insert(transaction, &entry).await?;
    let has_password = hashes::find(transaction, &person.id).await?.is_some();
    Ok(NewSession {
        token: drawn.session.clone(),
        person,
        has_password,
        device,
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
        if !identity_providers::passwords_allowed(transaction).await? {
            return Err(StoreError::Rule("passwords are turned off".to_owned()));
        }
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
    authorization_requests::EXPIRED
        .delete(store, &before(0))
        .await?;
    sign_in_links::EXPIRED.delete(store, &before(0)).await?;
    sign_in_devices::OLD.delete(store, &before(DEVICE)).await?;
    sign_in_failures::OLD
        .delete(store, &before(24 * HOUR))
        .await?;
    Ok(())
}
