//! The state of the console that all requests share.

use core::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use http::HeaderName;
use time::OffsetDateTime;
use trilane::limits::{Period, Window};

use super::status::StatusCache;
use crate::client_address::TrustedProxies;
use crate::credentials::SealingKeyFile;
use crate::identity_providers::ProviderAccess;
use crate::live::LiveParts;
use crate::prices::CatalogueFile;
use crate::store::Store;
use crate::timestamp;
use crate::vendors::VendorAccess;
use crate::webhooks::sender::WebhookSender;

/// The state of the console that all requests share.
#[derive(Debug, Clone)]
pub struct ConsoleState {
    /// The database.
    pub store: Store,
    /// The prices of documents that name the catalogue.
    pub prices: CatalogueFile,
    /// The address of the gateway, for the lines that set clients up.
    pub gateway: Option<String>,
    /// The health of models for everybody; `None`: nobody sees it without signing in.
    pub status: Option<StatusCache>,
    /// The address at which people reach this console, without a slash at its end; `None`: that of the request.
    pub address: Option<String>,
    /// Whether browsers come over TLS, which a proxy ends.
    pub https: bool,
    /// The file with the chain of the certificate with which this console ends TLS itself; `None`: it does not.
    pub certificate: Option<PathBuf>,
    /// The proxies whose word is taken for where a request comes from.
    pub proxies: TrustedProxies,
    /// The file of the keys that seal credentials of accounts; `None`: this console stores no credentials.
    pub sealing_keys: Option<SealingKeyFile>,
    /// The client that asks vendors for their models, to test accounts.
    pub vendors: VendorAccess,
    /// The access to identity providers, by which people sign in.
    pub providers: ProviderAccess,
    /// The sender of messages to webhooks.
    pub sender: WebhookSender,
    /// The header in which a trusted proxy names the person who is signed in there; `None`: no header is believed.
    pub user_header: Option<HeaderName>,
    /// The receiver of the reasons of failures that the request did not cause.
    pub reporter: Reporter,
    /// The parts of pages that are looked at.
    pub live: LiveParts,
    /// The clock, which stands still for tests that compare whole pages.
    pub clock: fn() -> OffsetDateTime,
}

/// Tells whoever runs the console what has failed.
#[derive(Clone)]
pub struct Reporter(pub Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reporter(..)")
    }
}

impl ConsoleState {
    /// Whether addresses tell clients apart. Behind a proxy that nobody has named all have the proxy's.
    pub fn tells_addresses_apart(&self) -> bool {
        !self.https || !self.proxies.is_empty()
    }

    /// The present time.
    pub fn time(&self) -> OffsetDateTime {
        (self.clock)()
    }

    /// The present day or month.
    pub fn period(&self, window: Window) -> Period {
        Period::of(window, self.time().date())
    }

    /// The present time, in microseconds since 1970.
    pub fn now(&self) -> i64 {
        timestamp::microseconds(self.time())
    }
}
