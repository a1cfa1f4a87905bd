//! A person signs in by an identity provider: the browser goes there, and comes back with a code.

use super::admission::{self, Refusal, Vouched};
use super::settings::{self, ProviderSettings, redirect_path};
use crate::cases::credentials::keys;
use crate::cases::problem::ApiProblem;
use crate::cases::state::ConsoleState;
use crate::counted::{SignInOutcome, counted};
use crate::identity_providers::{BrowserSecret, ProviderClient, ProviderFault, secrets};
use crate::in_transaction;
use crate::secret::{self, NewSecret};
use crate::sessions::{self, DrawnTokens, NewSession, SignInError, SignInSource, SignInWay};
use crate::store::authorization_requests::{self as requests, AuthorizationRequest};
use crate::store::identity_providers::{self as stored, StoredProvider};
use crate::store::{StoreError, Transaction, identities};
use zeroize::Zeroizing;

/// The time in which a browser has to come back, in microseconds.
const WITHIN: i64 = 600_000_000;

/// The reason that a sign-in by a provider failed.
#[derive(Debug)]
pub enum ProviderSignInError {
    /// There is no such provider, or it is disabled.
    NoProvider,
    /// The request is unknown, was used, has expired, or is another browser's.
    Expired,
    /// The person has cancelled at the provider, or the provider does not let the person in.
    Cancelled,
    /// The provider.
    Provider(ProviderFault),
    /// The person is not admitted.
    Refused(Refusal),
    /// Another problem.
    Problem(ApiProblem),
}

impl From<ProviderFault> for ProviderSignInError {
    fn from(fault: ProviderFault) -> Self {
        Self::Provider(fault)
    }
}

impl From<ApiProblem> for ProviderSignInError {
    fn from(problem: ApiProblem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for ProviderSignInError {
    fn from(error: StoreError) -> Self {
        Self::Problem(error.into())
    }
}

/// A provider that is offered on the sign-in page.
#[derive(Debug)]
pub struct OfferedProvider {
    /// The id.
    pub id: String,
    /// The name.
    pub label: String,
}

/// The providers that are offered, and whether passwords are.
pub async fn offered(state: &ConsoleState) -> Result<(Vec<OfferedProvider>, bool), ApiProblem> {
    let mut transaction = state.store.read().await?;
    let all = stored::all(&mut transaction).await?;
    let passwords = stored::passwords_allowed(&mut transaction).await?;
    transaction.rollback().await;
    let mut offered = Vec::new();
    for provider in all.into_iter().filter(|provider| provider.enabled) {
        let label = ProviderSettings::stored(&provider)?.label;
        let id = provider.id;
        offered.push(OfferedProvider { id, label });
    }
    Ok((offered, passwords))
}

/// The address of this console, as browsers know it: the one that it was told, or that of the request.
fn address(state: &ConsoleState, host: &str) -> String {
    let scheme = if state.https { "https" } else { "http" };
    let told = state.address.clone();
    told.unwrap_or_else(|| format!("{scheme}://{host}"))
}

async fn enabled(
    state: &ConsoleState,
    id: &str,
) -> Result<(StoredProvider, ProviderSettings), ProviderSignInError> {
    let found = match settings::find(state, id).await {
        Ok(found) if found.enabled => found,
        Err(problem) if problem.status() != 404 => return Err(problem.into()),
        _ => return Err(ProviderSignInError::NoProvider),
    };
    let settings = ProviderSettings::stored(&found)?;
    Ok((found, settings))
}

fn client(
    state: &ConsoleState,
    provider: &StoredProvider,
    settings: &ProviderSettings,
    host: &str,
) -> Result<ProviderClient, ProviderFault> {
    let back = format!("{}{}", address(state, host), redirect_path(&provider.id));
    settings::client(state, provider, settings, Some(back))
}

/// A browser that is sent to a provider.
#[derive(Debug)]
pub struct SentBrowser {
    /// The address that it is sent to.
    pub url: String,
    /// The value of its cookie.
    pub cookie: NewSecret,
}

/// Sends a browser to a provider. One that has a cookie keeps it: it may sign in in several windows.
///
/// # Errors
/// There is no such provider, or it cannot be reached.
pub async fn begin(
    state: &ConsoleState,
    id: &str,
    target: &str,
    (cookie, host): (Option<&str>, &str),
) -> Result<SentBrowser, ProviderSignInError> {
    let (provider, settings) = enabled(state, id).await?;
    let new = || NewSecret::authorization().map_err(StoreError::Other);
    let cookie = match cookie {
        Some(known) if secret::is_authorization(known) => NewSecret::given(known),
        _ => new()?,
    };
    let (named, now) = (new()?, state.now());
    let browser = BrowserSecret {
        cookie: cookie.reveal(),
        state: named.reveal(),
    };
    let client = client(state, &provider, &settings, host)?;
    let url = client.authorization_url(browser, now).await?;
    let request = AuthorizationRequest {
        state: named.digest(),
        provider: id.to_owned(),
        browser: browser.digest(),
        target: target.to_owned(),
        expires_at: now.saturating_add(WITHIN),
    };
    let done: Result<(), StoreError> = in_transaction!(state.store, transaction => {
        requests::insert(transaction, &request).await
    });
    done?;
    let url = url.into();
    Ok(SentBrowser { url, cookie })
}

/// The query with which a browser comes back from a provider.
#[derive(Debug, Clone, Copy)]
pub struct BroughtBack<'a> {
    /// The `state` of its request.
    pub state: &'a str,
    /// The code, if the provider gave one.
    pub code: &'a str,
    /// The provider's error code, if it did not.
    pub error: &'a str,
    /// The issuer, if the provider says which one it is (RFC 9207).
    pub issuer: &'a str,
}

/// Signs in the person of a browser that comes back, and counts what came of it. The new session, and the path that is shown next.
///
/// # Errors
/// The person is not signed in.
pub async fn finish(
    state: &ConsoleState,
    id: &str,
    brought: BroughtBack<'_>,
    browser: (Option<&str>, &str),
    from: &SignInSource<'_>,
) -> Result<(NewSession, String), ProviderSignInError> {
    let done = exchange(state, id, brought, browser, from).await;
    counted().sign_in(match &done {
        Ok(_) => SignInOutcome::SignedIn,
        Err(_) => SignInOutcome::Provider,
    });
    done
}

async fn exchange(
    state: &ConsoleState,
    id: &str,
    brought: BroughtBack<'_>,
    (cookie, host): (Option<&str>, &str),
    from: &SignInSource<'_>,
) -> Result<(NewSession, String), ProviderSignInError> {
    let now = state.now();
    if !settings::is_id(id) {
        return Err(ProviderSignInError::NoProvider);
    }
    let browser = BrowserSecret {
        cookie: cookie.ok_or(ProviderSignInError::Expired)?,
        state: brought.state,
    };
    let named = secret::digest(brought.state);
    let of = browser.digest();
    let target: Result<Option<String>, StoreError> = in_transaction!(state.store, transaction => {
        requests::take(transaction, (&named, id, &of), now).await
    });
    let target = target?.ok_or(ProviderSignInError::Expired)?;
    let (provider, settings) = enabled(state, id).await?;
    if !brought.issuer.is_empty() && brought.issuer != provider.issuer {
        let why = "it comes from another issuer than the one that was asked";
        return Err(ProviderFault::Wrong(why.to_owned()).into());
    }
    match (brought.error, brought.code) {
        ("", "") => return Err(ProviderFault::Wrong("there is no code".to_owned()).into()),
        ("", _) => {}
        ("access_denied", _) => return Err(ProviderSignInError::Cancelled),
        (error, _) => {
            let is_of_code = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
            let code = error.chars().filter(is_of_code).take(64).collect();
            return Err(ProviderFault::Refused(code).into());
        }
    }
    let client = client(state, &provider, &settings, host)?;
    let (claims, refresh_token) = client.exchange(brought.code, browser, now).await?;
    let drawn = DrawnTokens::new()?;
    let vouched = Vouched {
        provider: id,
        settings: &settings,
        claims: &claims,
        address: from.address,
        signs_in: true,
    };
    let begun: Result<Result<NewSession, Refusal>, ApiProblem> = in_transaction!(state.store, transaction => {
        if !is_as_before(transaction, &provider).await? {
            return Err(ApiProblem::conflict(text!("the identity provider was changed meanwhile: sign in again")));
        }
        let mut identity = match admission::admit(transaction, &vouched, now).await? {
            Ok(identity) => identity,
            Err(refusal) => return Ok(Err(refusal)),
        };
        keep(state, &mut identity, refresh_token.as_ref())?;
        identities::set(transaction, &identity).await?;
        let way = SignInWay::Provider(id);
        match sessions::begin(transaction, &identity.person, &drawn, way, from, now).await {
            Ok(session) => Ok(Ok(session)),
            Err(SignInError::Store(error)) => Err(error.into()),
            Err(_) => Ok(Err(Refusal::Disabled)),
        }
    });
    match begun? {
        Ok(session) => Ok((session, target)),
        Err(refusal) => Err(ProviderSignInError::Refused(refusal)),
    }
}

/// Whether a provider is what it was, and enabled.
pub(super) async fn is_as_before(
    transaction: &mut Transaction,
    provider: &StoredProvider,
) -> Result<bool, StoreError> {
    let found = stored::find(transaction, &provider.id).await?;
    Ok(found.is_some_and(|found| found.revision == provider.revision && found.enabled))
}

/// Keeps a new refresh token, sealed. Without a key to seal with none is kept.
pub(super) fn keep(
    state: &ConsoleState,
    identity: &mut identities::Identity,
    token: Option<&Zeroizing<String>>,
) -> Result<(), ApiProblem> {
    if let (Some(token), Some(keys)) = (token, keys(state)) {
        let sealed = secrets::seal_refresh_token(&keys, identity, token);
        identity.refresh_token = Some(sealed.map_err(ApiProblem::internal)?);
    }
    Ok(())
}

/// The address at which a provider ends its own session. `None`: it has none, or cannot be reached now.
pub async fn end_session_url(state: &ConsoleState, id: &str, host: &str) -> Option<String> {
    let (provider, settings) = enabled(state, id).await.ok()?;
    let back = format!("{}/sign-in", address(state, host));
    let client = client(state, &provider, &settings, host).ok()?;
    let url = client.end_session_url(&back, state.now()).await.ok()??;
    Some(url.into())
}
