//! The settings of identity providers.

use http::Uri;
use serde::{Deserialize, Serialize};
use trilane::config::Problems;
use utoipa::ToSchema;

use super::rules::{ClaimRule, is_of_provider};
use crate::cases::caller::Caller;
use crate::cases::credentials::{keys, no_sealing_key};
use crate::cases::fields;
use crate::cases::paging::ItemPage;
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::role::Role;
use crate::cases::state::ConsoleState;
use crate::credentials::SealingKeys;
use crate::identity_providers::{ProviderClient, ProviderFault, secrets};
use crate::in_transaction;
use crate::store::identity_providers::{self as stored, StoredProvider};
use crate::store::{Transaction, audit, teams};
use crate::timestamp::moment;

/// The most providers, rules of one, and domains.
const MOST: usize = 20;
const MOST_RULES: usize = 200;
const MOST_DOMAINS: usize = 100;
/// The longest text of a provider, in bytes.
const LONGEST: usize = 500;
/// The claim in which most providers say that an address is verified.
const VERIFIED: &str = "email_verified";

/// The name of a provider, and the meaning of its answers here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProviderSettings {
    /// The name on the sign-in page: `Sign in with Example`.
    pub(crate) label: String,
    /// The scopes that are asked for, beside `openid`.
    pub(crate) scopes: Vec<String>,
    /// The domains of e-mail addresses that it vouches for. No address of another domain is accepted; empty: all are, of people who are known
    /// or match a rule.
    pub(crate) allowed_domains: Vec<String>,
    /// The claim that must be `true` for an address to count as verified.
    pub(crate) verified_claim: String,
    /// The rules, in their order.
    pub(crate) rules: Vec<ClaimRule>,
}

impl ProviderSettings {
    /// Those that the database has.
    pub(super) fn stored(provider: &StoredProvider) -> Result<Self, ApiProblem> {
        let read = serde_json::from_str(&provider.settings);
        read.map_err(|error| ApiProblem::internal(format!("the settings of a provider: {error}")))
    }

    /// The claims that rules need, beside the address.
    fn needed_claims(&self) -> Vec<String> {
        let of_rules = self.rules.iter().map(|rule| rule.claim.as_str());
        let of_rules = of_rules.filter(|claim| is_of_provider(claim));
        of_rules.map(str::to_owned).collect()
    }
}

/// An identity provider, as far as it may be seen.
#[derive(Debug, Serialize, ToSchema)]
pub struct IdentityProviderView {
    /// The id, which stands in the address that browsers come back to.
    pub(crate) id: String,
    /// Grows with each change.
    pub(crate) revision: i64,
    /// The issuer.
    pub(crate) issuer: String,
    /// The id of this console's client there.
    pub(crate) client_id: String,
    /// Whether a client's secret is kept.
    pub(crate) has_client_secret: bool,
    /// Whether people may sign in by it.
    pub(crate) enabled: bool,
    /// The address that the provider must send browsers back to. Missing where the console does not know its own address
    /// (`--console-url`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redirect_url: Option<String>,
    /// The time at which it was added, as RFC 3339.
    pub(crate) created_at: String,
    #[serde(flatten)]
    #[allow(missing_docs, reason = "its fields are documented")]
    pub(crate) settings: ProviderSettings,
}

/// An identity provider to be added, or what it becomes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityProviderBody {
    /// The name on the sign-in page; the id unless it is given.
    #[schema(max_length = 128)]
    pub(crate) label: Option<String>,
    /// The issuer, exactly as its discovery names it: `https://accounts.google.com`.
    #[schema(max_length = 500)]
    pub(crate) issuer: String,
    /// The id of this console's client there.
    #[schema(max_length = 500)]
    pub(crate) client_id: String,
    /// The client's secret. Absent: the one that is kept stays, unless the issuer is another one; `null`: none.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<String>, max_length = 500)]
    pub(crate) client_secret: Option<Option<String>>,
    /// The scopes that are asked for, beside `openid`; `email` and `profile` unless they are given. `offline_access` is added where the provider
    /// knows it.
    #[schema(max_items = 20)]
    pub(crate) scopes: Option<Vec<String>>,
    /// The domains of e-mail addresses that it vouches for. No address of another domain is accepted; empty: all are, of people who are known
    /// or match a rule.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub(crate) allowed_domains: Vec<String>,
    /// The claim that must be `true` for an address to count as verified; `email_verified` unless it is given.
    #[schema(max_length = 200)]
    pub(crate) verified_claim: Option<String>,
    /// The rules, in their order.
    #[serde(default)]
    #[schema(max_items = 200)]
    pub(crate) rules: Vec<ClaimRule>,
    /// Whether people may sign in by it; yes unless it is given.
    pub(crate) enabled: Option<bool>,
    /// The revision that was seen; 0: there was none. With another one nothing is changed; absent: whatever it is.
    pub(crate) revision: Option<i64>,
}

/// The discovery of a provider, as it is now.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiscoveryView {
    /// The address at which people sign in.
    pub(crate) authorization_endpoint: String,
    /// Whether the provider can be asked about a person beside the ID token.
    pub(crate) has_user_info: bool,
    /// Whether it ends its own session, too, when somebody signs out.
    pub(crate) has_end_session: bool,
    /// Whether it knows the scope `offline_access`, by which it can be asked again whether a person is still there.
    pub(crate) has_offline_access: bool,
    /// The number of its keys.
    pub(crate) keys: u32,
}

/// Whether this may be the id of a provider: it stands in addresses.
pub(super) fn is_id(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&text.len()) && text.bytes().all(is_sign)
}

/// The path that a provider sends browsers back to.
pub(crate) fn redirect_path(id: &str) -> String {
    format!("/sign-in/with/{id}/callback")
}

/// A provider as it may be seen.
fn view(
    state: &ConsoleState,
    provider: StoredProvider,
) -> Result<IdentityProviderView, ApiProblem> {
    let settings = ProviderSettings::stored(&provider)?;
    let address = state.address.as_ref();
    Ok(IdentityProviderView {
        redirect_url: address.map(|address| format!("{address}{}", redirect_path(&provider.id))),
        id: provider.id,
        revision: provider.revision,
        issuer: provider.issuer,
        client_id: provider.client_id,
        has_client_secret: provider.client_secret.is_some(),
        enabled: provider.enabled,
        created_at: moment(provider.created_at),
        settings,
    })
}

/// The same for the audit, without the address of this console.
fn told(provider: &StoredProvider) -> Option<String> {
    let settings = ProviderSettings::stored(provider).ok()?;
    let told = serde_json::json!({"issuer": provider.issuer, "client_id": provider.client_id, "enabled": provider.enabled,
        "has_client_secret": provider.client_secret.is_some(), "settings": settings});
    Some(told.to_string())
}

/// The client of this console at a provider, for browsers that come back to `redirect_url`, if any do.
///
/// # Errors
/// The client's secret cannot be opened.
pub(super) fn client(
    state: &ConsoleState,
    provider: &StoredProvider,
    settings: &ProviderSettings,
    redirect_url: Option<String>,
) -> Result<ProviderClient, ProviderFault> {
    let client_secret = match &provider.client_secret {
        None => None,
        Some(_) => {
            let keys = keys(state);
            let opened = keys.and_then(|keys| secrets::open_client(&keys, provider));
            let lost = || {
                let why = text!(
                    "the client's secret cannot be opened: its key is not in the file of sealing keys (--sealing-key-file)"
                );
                ProviderFault::Wrong(why.to_owned())
            };
            Some(opened.ok_or_else(lost)?)
        }
    };
    Ok(ProviderClient {
        access: state.providers.clone(),
        issuer: provider.issuer.clone(),
        client_id: provider.client_id.clone(),
        client_secret,
        scopes: settings.scopes.clone(),
        verified_claim: settings.verified_claim.clone(),
        needed_claims: settings.needed_claims(),
        redirect_url,
    })
}

/// Identity providers in the order of their ids.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<ItemPage<IdentityProviderView>, ApiProblem> {
    caller.must(rights::SEE_SIGN_IN)?;
    let mut transaction = state.store.read().await?;
    let all = stored::all(&mut transaction).await?;
    transaction.rollback().await;
    let items: Result<Vec<_>, _> = all.into_iter().map(|one| view(state, one)).collect();
    Ok(ItemPage {
        items: items?,
        next: None,
    })
}

/// One identity provider.
pub async fn get(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<IdentityProviderView, ApiProblem> {
    caller.must(rights::SEE_SIGN_IN)?;
    view(state, find(state, id).await?)
}

/// The provider of this id.
pub(super) async fn find(state: &ConsoleState, id: &str) -> Result<StoredProvider, ApiProblem> {
    if !is_id(id) {
        return Err(ApiProblem::not_found());
    }
    let mut transaction = state.store.read().await?;
    let found = stored::find(&mut transaction, id).await?;
    transaction.rollback().await;
    found.ok_or_else(ApiProblem::not_found)
}

/// Adds an identity provider, or changes it. Identities at another issuer end, and so do sessions by a provider that is disabled.
pub async fn put(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    body: IdentityProviderBody,
) -> Result<IdentityProviderView, ApiProblem> {
    caller.must(rights::CHANGE_SIGN_IN)?;
    if !is_id(id) {
        return Err(ApiProblem::invalid(
            "id",
            text!("must be 1 to 32 small letters, digits and hyphens"),
        ));
    }
    let settings = checked(state, id, &body)?;
    let keys = match &body.client_secret {
        Some(Some(_)) => Some(keys(state).ok_or_else(no_sealing_key)?),
        _ => None,
    };
    let now = state.now();
    in_transaction!(state.store, transaction => {
        stored::lock(transaction).await?;
        let before = stored::find_locked(transaction, id).await?;
        let seen = before.as_ref().map(|before| before.revision);
        if body.revision.is_some_and(|revision| revision != seen.unwrap_or(0)) {
            return Err(ApiProblem::conflict(text!("the provider was changed meanwhile: load it again")));
        }
        check_teams(transaction, &settings).await?;
        let provider = StoredProvider {
            id: id.to_owned(),
            revision: seen.unwrap_or(0).saturating_add(1),
            issuer: body.issuer.clone(),
            client_id: body.client_id.clone(),
            client_secret: client_secret(keys.as_ref(), id, &body, before.as_deref())?,
            settings: serde_json::to_string(&settings).unwrap_or_default(),
            enabled: body.enabled.unwrap_or(true),
            created_at: before.as_ref().map_or(now, |before| before.created_at),
        };
        let action = match &before {
            Some(before) => {
                stored::update(transaction, before, &provider).await?;
                "identity_provider.change"
            }
            None => {
                if stored::all(transaction).await?.len() >= MOST {
                    return Err(ApiProblem::conflict(text!("there are 20 identity providers already")));
                }
                stored::insert(transaction, &provider).await?;
                "identity_provider.create"
            }
        };
        ensure_a_way_in(transaction).await?;
        let mut entry = caller.actor().entry(now, action, id);
        entry.before = before.as_deref().and_then(told);
        entry.after = told(&provider);
        audit::insert(transaction, &entry).await?;
        view(state, provider)
    })
}

/// The client's secret after a change, sealed.
fn client_secret(
    keys: Option<&SealingKeys>,
    id: &str,
    body: &IdentityProviderBody,
    before: Option<&StoredProvider>,
) -> Result<Option<String>, ApiProblem> {
    match (&body.client_secret, keys) {
        (Some(Some(secret)), Some(keys)) => {
            let sealed = secrets::seal_client(keys, id, &body.issuer, secret);
            sealed.map(Some).map_err(ApiProblem::internal)
        }
        (Some(_), _) => Ok(None),
        // One of another issuer must not be sent to this one.
        (None, _) => Ok(before
            .filter(|before| before.issuer == body.issuer)
            .and_then(|before| before.client_secret.clone())),
    }
}

/// Refuses a change that leaves passwords turned off and no provider to sign in by.
pub(super) async fn ensure_a_way_in(transaction: &mut Transaction) -> Result<(), ApiProblem> {
    if stored::passwords_allowed(transaction).await? {
        return Ok(());
    }
    let all = stored::all(transaction).await?;
    if all.iter().any(|provider| provider.enabled) {
        return Ok(());
    }
    Err(ApiProblem::conflict(text!(
        "passwords are turned off, and this is the last provider that people can sign in by: turn passwords on first"
    )))
}

async fn check_teams(
    transaction: &mut Transaction,
    settings: &ProviderSettings,
) -> Result<(), ApiProblem> {
    let mut problems = Problems::default();
    for (place, rule) in settings.rules.iter().enumerate() {
        for team in &rule.teams {
            let known = !team.contains('\0') && teams::find(transaction, team).await?.is_some();
            if !known {
                problems.push(
                    format!("rules[{place}].teams"),
                    t!("there is no team \"{team}\"", team = team),
                );
            }
        }
    }
    ApiProblem::if_any(problems)
}

/// Whether this is the address of an issuer. Without TLS only where providers may be in one's own network.
fn is_issuer(issuer: &str, allows_private: bool) -> bool {
    let Ok(uri) = issuer.parse::<Uri>() else {
        return false;
    };
    let scheme =
        uri.scheme_str() == Some("https") || (allows_private && uri.scheme_str() == Some("http"));
    let authority = uri.authority();
    let plain = authority.is_some_and(|it| !it.host().is_empty() && !it.as_str().contains('@'));
    scheme && plain && issuer.len() <= LONGEST && !issuer.contains(['?', '#'])
}

fn is_text(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn checked(
    state: &ConsoleState,
    id: &str,
    body: &IdentityProviderBody,
) -> Result<ProviderSettings, ApiProblem> {
    let mut problems = Problems::default();
    let label = body.label.clone().filter(|label| !label.is_empty());
    let label = label.unwrap_or_else(|| id.to_owned());
    if !fields::is_name(&label) {
        problems.push("label", fields::NAME);
    }
    if !is_issuer(&body.issuer, state.providers.allows_private()) {
        let why = text!(
            "must be the issuer's address, such as https://accounts.google.com, without a user, a query and a fragment"
        );
        problems.push("issuer", why);
    }
    const VISIBLE: &str = text!("must be 1 to 500 visible ASCII characters");
    if !is_text(&body.client_id) {
        problems.push("client_id", VISIBLE);
    }
    if matches!(&body.client_secret, Some(Some(secret)) if !is_text(secret)) {
        problems.push("client_secret", VISIBLE);
    }
    let scopes = body.scopes.clone();
    let scopes = scopes.unwrap_or_else(|| vec!["email".to_owned(), "profile".to_owned()]);
    if scopes.len() > MOST || !scopes.iter().all(|scope| is_text(scope)) {
        problems.push("scopes", text!("must be at most 20 scopes without blanks"));
    }
    let domains: Vec<String> = body
        .allowed_domains
        .iter()
        .map(|it| it.to_ascii_lowercase())
        .collect();
    let is_domain = |domain: &String| is_text(domain) && !domain.contains('@');
    if domains.len() > MOST_DOMAINS || !domains.iter().all(is_domain) {
        problems.push(
            "allowed_domains",
            text!("must be at most 100 domains such as example.com"),
        );
    }
    let verified_claim = body
        .verified_claim
        .clone()
        .filter(|claim| !claim.is_empty());
    let verified_claim = verified_claim.unwrap_or_else(|| VERIFIED.to_owned());
    if !is_text(&verified_claim) {
        problems.push("verified_claim", VISIBLE);
    }
    if body.rules.len() > MOST_RULES {
        problems.push("rules", text!("must be at most 200"));
    }
    for (place, rule) in body.rules.iter().enumerate() {
        let at = |field: &str| format!("rules[{place}].{field}");
        let is_short =
            |text: &str| (1..=200).contains(&text.len()) && !text.chars().any(char::is_control);
        if !is_short(&rule.claim) {
            problems.push(at("claim"), text!("must be 1 to 200 bytes"));
        }
        if !is_short(&rule.equals) {
            problems.push(at("equals"), text!("must be 1 to 200 bytes"));
        }
        if rule.role == Some(Role::Agent) {
            problems.push(at("role"), text!("must be admin, member or viewer"));
        }
        if rule.teams.len() > 50 {
            problems.push(at("teams"), text!("must be at most 50"));
        }
        if rule
            .key_group
            .as_ref()
            .is_some_and(|group| !fields::is_name(group))
        {
            problems.push(at("key_group"), fields::NAME);
        }
    }
    ApiProblem::if_any(problems)?;
    Ok(ProviderSettings {
        label,
        scopes,
        allowed_domains: domains,
        verified_claim,
        rules: body.rules.clone(),
    })
}

/// Removes an identity provider, with its identities and the sessions by it. People stay, and the memberships that its rules gave.
pub async fn remove(state: &ConsoleState, caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_SIGN_IN)?;
    if !is_id(id) {
        return Err(ApiProblem::not_found());
    }
    in_transaction!(state.store, transaction => {
        stored::lock(transaction).await?;
        let before = stored::find_locked(transaction, id).await?;
        let before = before.ok_or_else(ApiProblem::not_found)?;
        stored::remove(transaction, &before).await?;
        ensure_a_way_in(transaction).await?;
        let mut entry = caller.actor().entry(state.now(), "identity_provider.remove", id);
        entry.before = told(&before);
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}

/// Reads a provider's discovery and keys now.
pub async fn test(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<DiscoveryView, ApiProblem> {
    caller.must(rights::CHANGE_SIGN_IN)?;
    let provider = find(state, id).await?;
    let read = state
        .providers
        .discover(&provider.issuer, state.now())
        .await;
    let metadata = read.map_err(|fault| ApiProblem::conflict(fault.in_words()))?;
    let scopes = metadata.scopes_supported();
    Ok(DiscoveryView {
        authorization_endpoint: metadata.authorization_endpoint().to_string(),
        has_user_info: metadata.userinfo_endpoint().is_some(),
        has_end_session: metadata
            .additional_metadata()
            .end_session_endpoint
            .is_some(),
        has_offline_access: scopes
            .is_some_and(|all| all.iter().any(|it| it.as_str() == "offline_access")),
        keys: u32::try_from(metadata.jwks().keys().len()).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers() {
        for (issuer, private, want) in [
            ("https://accounts.google.com", false, true),
            ("https://login.example.com/realms/a", false, true),
            ("http://localhost:8080/realms/a", false, false),
            ("http://localhost:8080/realms/a", true, true),
            ("https://user@example.com", false, false),
            ("https://example.com/?a", false, false),
            ("https://example.com/#a", false, false),
            ("ftp://example.com", true, false),
            ("example.com", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_issuer(issuer, private), want, "{issuer}");
        }
    }
}
