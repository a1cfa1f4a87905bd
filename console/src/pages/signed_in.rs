//! The person who views a page.

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, Method};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::cookie;
use super::error::PageProblem;
use super::proxy_user::ProxyUser;
use super::shell::{Appearance, PageShell};
use crate::cases::managed_teams;
use crate::cases::providers::still_there;
use crate::cases::{Caller, ConsoleState, Role};
use crate::client_address::address;
use crate::sessions;
use crate::store::sessions::SessionHolder;

/// The person who is signed in. A request without a session is redirected to the sign-in page.
#[derive(Clone)]
pub struct SignedIn {
    /// The person, as use cases take it.
    pub caller: Caller,
    token: String,
    csrf: String,
    path: String,
    notice: Option<String>,
    appearance: Appearance,
}

impl core::fmt::Debug for SignedIn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SignedIn")
            .field("person", &self.caller.id)
            .finish_non_exhaustive()
    }
}

impl SignedIn {
    /// The token of the session.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Whether the session is open yet. A failure of the database ends nothing.
    pub(super) async fn is_still(&self, state: &ConsoleState) -> bool {
        let open = sessions::is_open(&state.store, &self.token, state.now()).await;
        open.unwrap_or(true)
    }

    /// Whether a form has the token of this session. It takes as long wherever they differ.
    pub(super) fn is_csrf(&self, given: &str) -> bool {
        self.csrf.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Makes the frame of a page with this title.
    pub fn shell(&self, title: impl Into<String>) -> PageShell {
        let mut shell = PageShell::new(title, self.appearance);
        shell.path.clone_from(&self.path);
        shell.show_person(&self.caller, &self.csrf);
        shell.notice = self.notice.as_deref().and_then(super::notice::text);
        shell
    }
}

/// The token of a session's forms. It says nothing of the session's own token.
fn csrf(token: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(b"form of ");
    digest.update(token.as_bytes());
    hex::encode(digest.finalize())
}

/// The token of the session that a request has.
pub(super) fn session_token(headers: &HeaderMap, state: &ConsoleState) -> Option<String> {
    cookie::find(headers, cookie::session(state.https)).map(str::to_owned)
}

impl FromRequestParts<ConsoleState> for SignedIn {
    type Rejection = PageProblem;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ConsoleState,
    ) -> Result<Self, PageProblem> {
        let appearance = Appearance::of(&parts.headers);
        // A form that was sent leads back to the page of that name, if there is one.
        let wanted = parts.uri.path_and_query().map(ToString::to_string);
        let wanted = wanted.filter(|_| parts.method == Method::GET);
        let signed_out = || PageProblem::SignedOut(wanted.clone());
        let token = session_token(&parts.headers, state).ok_or_else(signed_out)?;
        let holder = open_session(state, &token).await?;
        let person = holder.ok_or_else(signed_out)?.person;
        // Somebody else is signed in at the proxy by now.
        let ProxyUser(named) = ProxyUser::of(parts, state);
        if named.is_some_and(|named| named != person.id) {
            return Err(signed_out());
        }
        let role = Role::parse(&person.role).ok_or_else(signed_out)?;
        let managed = managed_teams::of(state, &person)
            .await
            .map_err(PageProblem::from)?;
        let digest = crate::secret::digest(&token);
        let caller = Caller {
            id: person.id,
            name: person.name,
            role,
            token: format!("session {}", digest.get(..16).unwrap_or_default()),
            scopes: None,
            address: address(parts),
            managed,
        };
        let query = parts.uri.query().unwrap_or_default();
        let notice = form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == "notice")
            .map(|(_, value)| value.into_owned());
        Ok(Self {
            caller,
            csrf: csrf(&token),
            token,
            path: parts.uri.path().to_owned(),
            notice,
            appearance,
        })
    }
}

/// The holder of a session. Where the person signed in by an identity provider, it is asked from time to time whether the person is
/// still there, and the session may have ended.
async fn open_session(
    state: &ConsoleState,
    token: &str,
) -> Result<Option<SessionHolder>, PageProblem> {
    let now = state.now();
    let holder = sessions::holder(&state.store, token, now).await?;
    if let Some(found) = &holder
        && let Some((provider, asked_at)) = &found.provider
    {
        let by = (provider.as_str(), *asked_at);
        if still_there::check_session(state, &found.person.id, by, now).await? {
            return Ok(sessions::holder(&state.store, token, now).await?);
        }
    }
    Ok(holder)
}

/// A request for a page by somebody who is signed in.
#[derive(Debug)]
pub struct Visit {
    /// The console.
    pub state: ConsoleState,
    /// The person who is signed in.
    pub signed_in: SignedIn,
}

impl FromRequestParts<ConsoleState> for Visit {
    type Rejection = PageProblem;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ConsoleState,
    ) -> Result<Self, PageProblem> {
        Ok(Self {
            signed_in: SignedIn::from_request_parts(parts, state).await?,
            state: state.clone(),
        })
    }
}
