//! The client of this console at one identity provider.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreGenderClaim, CoreIdToken, CoreIdTokenVerifier,
    CoreJwsSigningAlgorithm, CoreTokenResponse,
};
use openidconnect::url::Url;
use openidconnect::{
    AccessToken, AdditionalClaims, AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, LogoutRequest, Nonce, OAuth2TokenResponse as _,
    PkceCodeChallenge, PkceCodeVerifier, PostLogoutRedirectUrl, RedirectUrl, RefreshToken, Scope,
    SubjectIdentifier, TokenResponse as _, UserInfoError,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::access::ProviderAccess;
use super::browser::BrowserSecret;
use super::claims::Claims;
use super::fault::ProviderFault;
use super::known::{ProviderMetadata, takes_secret_in_body};

/// The difference of clocks that is allowed, in microseconds.
const SKEW: i64 = 60_000_000;
/// The claim of the e-mail address.
const EMAIL: &str = "email";
/// The scope that makes most providers give a refresh token.
const OFFLINE: &str = "offline_access";
/// The issuer that knows this scope by a parameter only.
const GOOGLE: &str = "https://accounts.google.com";

/// The signatures that are accepted: with keys that the provider publishes, and no others.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 4] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::EdDsa,
];

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The client of this console at one identity provider.
#[derive(Clone)]
pub struct ProviderClient {
    /// The access to providers.
    pub access: ProviderAccess,
    /// The issuer, whose address discovery begins with.
    pub issuer: String,
    /// The client's id.
    pub client_id: String,
    /// The client's secret, if it has one.
    pub client_secret: Option<Zeroizing<String>>,
    /// The scopes that are asked for, beside `openid`.
    pub scopes: Vec<String>,
    /// The claim that says whether the e-mail address is verified.
    pub verified_claim: String,
    /// The other claims that are needed. Where the ID token lacks one, or the address, the provider is asked for it.
    pub needed_claims: Vec<String>,
    /// The address that browsers come back to with a code; `None`: none does.
    pub redirect_url: Option<String>,
}

impl core::fmt::Debug for ProviderClient {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ProviderClient")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// The answer of a provider that was asked again about a person.
#[derive(Debug)]
pub struct ProviderAnswer {
    /// The claims; `None`: a refresh without any, which says only that the person is still there.
    pub claims: Option<Claims>,
    /// The refresh token, if the provider gave one.
    pub refresh_token: Option<Zeroizing<String>>,
}

/// The claims of the user info that are not of the standard.
#[derive(Debug, Clone, Deserialize, Serialize)]
struct OtherClaims {
    #[serde(flatten)]
    all: Map<String, Value>,
}

impl AdditionalClaims for OtherClaims {}

impl ProviderClient {
    fn client(&self, metadata: &ProviderMetadata) -> Result<Client, ProviderFault> {
        let secret = self.client_secret.as_ref();
        let secret = secret.map(|secret| ClientSecret::new(secret.as_str().to_owned()));
        let id = ClientId::new(self.client_id.clone());
        let mut client = CoreClient::from_provider_metadata((**metadata).clone(), id, secret);
        if let Some(back) = &self.redirect_url {
            let back = RedirectUrl::new(back.clone()).map_err(ProviderFault::wrong)?;
            client = client.set_redirect_uri(back);
        }
        Ok(if takes_secret_in_body(metadata) {
            client.set_auth_type(AuthType::RequestBody)
        } else {
            client
        })
    }

    /// The address at which the person of this browser signs in, with the challenge, the nonce and the state of the request.
    ///
    /// # Errors
    /// The provider cannot be reached, or its discovery is not valid.
    pub async fn authorization_url(
        &self,
        browser: BrowserSecret<'_>,
        now: i64,
    ) -> Result<Url, ProviderFault> {
        let metadata = self.access.metadata(&self.issuer, now).await?;
        let client = self.client(&metadata)?;
        let verifier = PkceCodeVerifier::new(browser.verifier());
        let (state, nonce) = (browser.state.to_owned(), browser.nonce());
        let mut request = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                move || CsrfToken::new(state),
                move || Nonce::new(nonce),
            )
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        let named = self.scopes.iter().filter(|scope| *scope != "openid");
        request = request.add_scopes(named.map(|scope| Scope::new(scope.clone())));
        let known = metadata.scopes_supported();
        let knows_offline = known.is_some_and(|known| known.iter().any(|it| **it == OFFLINE));
        if knows_offline && !self.scopes.iter().any(|scope| scope == OFFLINE) {
            request = request.add_scope(Scope::new(OFFLINE.to_owned()));
        } else if self.issuer == GOOGLE {
            request = request.add_extra_param("access_type", "offline");
        }
        let (url, _, _) = request.url();
        Ok(url)
    }

    /// Exchanges a code of this browser for verified claims, and a refresh token if the provider gives one.
    ///
    /// # Errors
    /// The provider refuses the code, cannot be reached, or says something that is not valid.
    pub async fn exchange(
        &self,
        code: &str,
        browser: BrowserSecret<'_>,
        now: i64,
    ) -> Result<(Claims, Option<Zeroizing<String>>), ProviderFault> {
        let metadata = self.access.metadata(&self.issuer, now).await?;
        let client = self.client(&metadata)?;
        let request = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(ProviderFault::wrong)?
            .set_pkce_verifier(PkceCodeVerifier::new(browser.verifier()));
        let response = request.request_async(&self.access).await?;
        let token = response.id_token();
        let token = token.ok_or_else(|| ProviderFault::wrong("there is no ID token"))?;
        let nonce = Nonce::new(browser.nonce());
        let claims = self.verified(metadata, token, Some(&nonce), now).await?;
        let claims = self.completed(&client, claims, &response).await?;
        Ok((claims, refresh_token(&response)))
    }

    /// Asks whether the person of a refresh token is still there.
    ///
    /// # Errors
    /// The provider has ended it ([`ProviderFault::is_end`]), cannot be reached, or says something that is not valid.
    pub async fn refresh(
        &self,
        token: &str,
        subject: &str,
        now: i64,
    ) -> Result<ProviderAnswer, ProviderFault> {
        let metadata = self.access.metadata(&self.issuer, now).await?;
        let client = self.client(&metadata)?;
        let token = RefreshToken::new(token.to_owned());
        let request = client
            .exchange_refresh_token(&token)
            .map_err(ProviderFault::wrong)?;
        let response = request.request_async(&self.access).await?;
        let claims = match response.id_token() {
            Some(token) => Some(self.verified(metadata, token, None, now).await?),
            None => None,
        };
        if let Some(claims) = &claims
            && claims.text("sub") != Some(subject)
        {
            return Err(ProviderFault::wrong("it is about somebody else"));
        }
        let claims = match claims {
            Some(claims) => Some(self.completed(&client, claims, &response).await?),
            None => {
                let info = user_info(&self.access, &client, response.access_token(), subject);
                info.await?.map(Claims::new)
            }
        };
        Ok(ProviderAnswer {
            claims,
            refresh_token: refresh_token(&response),
        })
    }

    /// The address at which the provider ends its own session. `None`: it has none.
    ///
    /// # Errors
    /// The provider cannot be reached, or its discovery is not valid.
    pub async fn end_session_url(
        &self,
        back: &str,
        now: i64,
    ) -> Result<Option<Url>, ProviderFault> {
        let metadata = self.access.metadata(&self.issuer, now).await?;
        let Some(endpoint) = metadata.additional_metadata().end_session_endpoint.clone() else {
            return Ok(None);
        };
        let back = PostLogoutRedirectUrl::new(back.to_owned()).map_err(ProviderFault::wrong)?;
        let request = LogoutRequest::from(endpoint)
            .set_client_id(ClientId::new(self.client_id.clone()))
            .set_post_logout_redirect_uri(back);
        Ok(Some(request.http_get_url()))
    }

    /// The claims of an ID token, verified: signature, issuer, audience, nonce, expiry, time of issue. Where no known key has signed
    /// it, keys are read again.
    async fn verified(
        &self,
        metadata: ProviderMetadata,
        token: &CoreIdToken,
        nonce: Option<&Nonce>,
        now: i64,
    ) -> Result<Claims, ProviderFault> {
        match self.verify(&metadata, token, nonce, now) {
            Err(ProviderFault::UnknownKey) => {
                let again = self
                    .access
                    .metadata_with_new_keys(&self.issuer, now)
                    .await?;
                self.verify(&again, token, nonce, now)
            }
            other => other,
        }
    }

    fn verify(
        &self,
        metadata: &ProviderMetadata,
        token: &CoreIdToken,
        nonce: Option<&Nonce>,
        now: i64,
    ) -> Result<Claims, ProviderFault> {
        let at = |micros: i64| chrono::DateTime::from_timestamp_micros(micros).unwrap_or_default();
        let latest = at(now.saturating_add(SKEW));
        let verifier = CoreIdTokenVerifier::new_public_client(
            ClientId::new(self.client_id.clone()),
            metadata.issuer().clone(),
            metadata.jwks().clone(),
        )
        .set_allowed_algs(ALGORITHMS)
        .set_time_fn(|| at(now.saturating_sub(SKEW)))
        .set_issue_time_verifier_fn(|issued| {
            let in_future = issued > latest;
            (!in_future)
                .then_some(())
                .ok_or_else(|| "it was issued in the future".to_owned())
        });
        let is_nonce = |of: Option<&Nonce>| match nonce {
            Some(wanted) => {
                let same = of.is_some_and(|of| of.secret() == wanted.secret());
                same.then_some(())
                    .ok_or_else(|| "it is of another request".to_owned())
            }
            None => Ok(()),
        };
        let claims = token.claims(&verifier, is_nonce)?;
        let party = claims.authorized_party();
        if party.is_some_and(|party| party.as_str() != self.client_id) {
            return Err(ProviderFault::wrong("it is for another client"));
        }
        // All of what was verified, groups among it.
        let text = token.to_string();
        let payload = text.split('.').nth(1).unwrap_or_default();
        let payload = URL_SAFE_NO_PAD
            .decode(payload)
            .map_err(ProviderFault::wrong)?;
        let claims = serde_json::from_slice(&payload).map_err(ProviderFault::wrong)?;
        Ok(Claims::new(claims))
    }

    /// With what the provider says of the person beside the ID token, where that lacks a claim that is needed.
    async fn completed(
        &self,
        client: &Client,
        mut claims: Claims,
        response: &CoreTokenResponse,
    ) -> Result<Claims, ProviderFault> {
        let has_address = claims.get(EMAIL).is_some() && claims.get(&self.verified_claim).is_some();
        let has_others = self
            .needed_claims
            .iter()
            .all(|name| claims.get(name).is_some());
        if has_address && has_others {
            return Ok(claims);
        }
        let subject = claims.text("sub").unwrap_or_default().to_owned();
        let info = user_info(&self.access, client, response.access_token(), &subject).await?;
        if !has_address {
            // Of one source, both: what verifies one address verifies no other.
            claims.remove(EMAIL);
            claims.remove(&self.verified_claim);
        }
        claims.add(info.unwrap_or_default());
        Ok(claims)
    }
}

fn refresh_token(response: &CoreTokenResponse) -> Option<Zeroizing<String>> {
    let token = response.refresh_token()?;
    Some(Zeroizing::new(token.secret().clone()))
}

/// The user info of a person. `None`: it has no such endpoint.
async fn user_info(
    access: &ProviderAccess,
    client: &Client,
    token: &AccessToken,
    subject: &str,
) -> Result<Option<Map<String, Value>>, ProviderFault> {
    if client.user_info_url().is_none() {
        return Ok(None);
    }
    // No header may have anything else.
    if !token.secret().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ProviderFault::wrong("its access token is none"));
    }
    let subject = SubjectIdentifier::new(subject.to_owned());
    let request = client
        .user_info(token.clone(), Some(subject))
        .map_err(ProviderFault::wrong)?;
    let claims = request.request_async::<OtherClaims, _, CoreGenderClaim>(access);
    let claims = claims.await.map_err(|error| match error {
        UserInfoError::Request(fault) => fault,
        UserInfoError::ClaimsVerification(error) => error.into(),
        UserInfoError::Response(status, _, _) => {
            ProviderFault::Wrong(format!("its user info answered {}", status.as_u16()))
        }
        UserInfoError::Parse(error) => {
            ProviderFault::Wrong(format!("its user info cannot be read at {}", error.path()))
        }
        _ => ProviderFault::wrong("its user info cannot be read"),
    })?;
    match serde_json::to_value(claims) {
        Ok(Value::Object(claims)) => Ok(Some(claims)),
        _ => Err(ProviderFault::wrong("its user info cannot be read")),
    }
}
