//! Endpoints and keys of identity providers, as discovery said, kept for an hour.

use std::sync::{Arc, PoisonError};

use openidconnect::core::CoreClientAuthMethod;
use openidconnect::url::Url;
use openidconnect::{IssuerUrl, ProviderMetadataWithLogout};

use super::access::ProviderAccess;
use super::fault::ProviderFault;

/// The time for which endpoints and keys are kept, in microseconds.
const KEPT: i64 = 3_600_000_000;
/// The shortest time between two readings because of an unknown key, in microseconds.
const BETWEEN: i64 = 10_000_000;
/// The most providers that are kept.
const MOST: usize = 100;

/// The endpoints and keys of an identity provider.
pub type ProviderMetadata = Arc<ProviderMetadataWithLogout>;

/// The discovery of a provider, and its time.
#[derive(Debug)]
pub(super) struct KnownProvider {
    metadata: ProviderMetadata,
    read_at: i64,
}

impl ProviderAccess {
    fn kept(&self, issuer: &str, since: i64) -> Option<ProviderMetadata> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(issuer).filter(|found| found.read_at > since)?;
        Some(Arc::clone(&found.metadata))
    }

    /// The endpoints and keys of a provider, read at most an hour ago.
    ///
    /// # Errors
    /// They cannot be read, or are not valid.
    pub async fn metadata(
        &self,
        issuer: &str,
        now: i64,
    ) -> Result<ProviderMetadata, ProviderFault> {
        match self.kept(issuer, now.saturating_sub(KEPT)) {
            Some(kept) => Ok(kept),
            None => self.discover(issuer, now).await,
        }
    }

    /// The same after a key was not among the known ones: read again, unless that was done a moment ago.
    ///
    /// # Errors
    /// As [`metadata`](Self::metadata).
    pub(super) async fn metadata_with_new_keys(
        &self,
        issuer: &str,
        now: i64,
    ) -> Result<ProviderMetadata, ProviderFault> {
        match self.kept(issuer, now.saturating_sub(BETWEEN)) {
            Some(kept) => Ok(kept),
            None => self.discover(issuer, now).await,
        }
    }

    /// Reads endpoints and keys now.
    ///
    /// # Errors
    /// They cannot be read, or are not valid.
    pub async fn discover(
        &self,
        issuer: &str,
        now: i64,
    ) -> Result<ProviderMetadata, ProviderFault> {
        let url = IssuerUrl::new(issuer.to_owned()).map_err(ProviderFault::wrong)?;
        let metadata = ProviderMetadataWithLogout::discover_async(url, self).await?;
        check(&metadata)?;
        let metadata = Arc::new(metadata);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        let found = KnownProvider {
            metadata: Arc::clone(&metadata),
            read_at: now,
        };
        known.insert(issuer.to_owned(), found);
        Ok(metadata)
    }
}

/// Codes, tokens and secrets go over TLS where the issuer has it.
fn check(metadata: &ProviderMetadataWithLogout) -> Result<(), ProviderFault> {
    let token = metadata.token_endpoint();
    let token = token.ok_or_else(|| ProviderFault::wrong("there is no token_endpoint"))?;
    let end_session = metadata.additional_metadata().end_session_endpoint.as_ref();
    let endpoints: [Option<&Url>; 5] = [
        Some(metadata.authorization_endpoint().url()),
        Some(token.url()),
        Some(metadata.jwks_uri().url()),
        metadata.userinfo_endpoint().map(|it| it.url()),
        end_session.map(|it| it.url()),
    ];
    let scheme = metadata.issuer().url().scheme();
    for url in endpoints.into_iter().flatten() {
        if url.scheme() != "https" && url.scheme() != scheme {
            return Err(ProviderFault::Wrong(format!("{url} is without TLS")));
        }
    }
    Ok(())
}

/// Whether the client's secret belongs into the body of requests for tokens: only where the provider takes it nowhere else.
pub(super) fn takes_secret_in_body(metadata: &ProviderMetadataWithLogout) -> bool {
    let taken = metadata.token_endpoint_auth_methods_supported();
    taken.is_some_and(|taken| {
        !taken.contains(&CoreClientAuthMethod::ClientSecretBasic)
            && taken.contains(&CoreClientAuthMethod::ClientSecretPost)
    })
}
