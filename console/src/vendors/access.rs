//! The client that asks vendors: a few at a time, and at allowed addresses only.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use trilane::config::account::CredentialHeader;
use ureq::Proxy;

use super::credential::VendorCredential;
use super::failure::{ListFailure, ListHints, ListSentence};
use super::listed::ListedModel;
use super::listing::{Reach, list, proxy_of_account, proxy_of_environment};
use super::vendor::Vendor;
use crate::outgoing::{AllowedAddresses, NoAddress};

/// The longest time for a vendor's list.
const PATIENCE: Duration = Duration::from_secs(15);
/// The number of vendors that are asked at a time. Further callers wait.
const AT_ONCE: usize = 4;

/// The client that asks vendors for their models. Clones share its permits.
#[derive(Debug, Clone)]
pub struct VendorAccess {
    addresses: AllowedAddresses,
    pub(super) system_ca: PathBuf,
    turns: Arc<Semaphore>,
}

/// A vendor that is asked for its models.
#[derive(Debug, Clone)]
pub struct AskedVendor {
    /// The vendor.
    pub vendor: Vendor,
    /// The credential that the request is sent with.
    pub credential: VendorCredential,
    /// The header that has the credential; `None` for the usual one.
    pub header: Option<CredentialHeader>,
    /// The URL of the HTTP proxy on the way.
    pub proxy: Option<String>,
    /// The file of authorities that its certificate must come from.
    pub ca: Option<String>,
}

impl VendorAccess {
    /// At addresses of the internet, or of one's own network, too; with the system's authorities in this file.
    pub fn new(allow_private: bool, system_ca: PathBuf) -> Self {
        let addresses = if allow_private {
            AllowedAddresses::Private
        } else {
            AllowedAddresses::Public
        };
        Self {
            addresses,
            system_ca,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Asks a vendor for its models. Nothing is charged for that.
    ///
    /// # Errors
    /// The failure, if there is no list.
    pub async fn list(&self, asked: AskedVendor) -> Result<Vec<ListedModel>, ListFailure> {
        let failed = |why: &str| ListFailure::NotReached(why.to_owned());
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|_| failed("the console ends"))?;
        let (addresses, system_ca) = (self.addresses, self.system_ca.clone());
        let listed = spawn_blocking(move || {
            // Held until the request is over, also where nobody waits for it any more.
            let _turn = turn;
            ask(&asked, addresses, system_ca)
        });
        listed
            .await
            .unwrap_or_else(|_| Err(failed("the console ends")))
    }
}

fn ask(
    asked: &AskedVendor,
    addresses: AllowedAddresses,
    system_ca: PathBuf,
) -> Result<Vec<ListedModel>, ListFailure> {
    let own = proxy_of_environment(&asked.vendor.list_url());
    let is_own = asked.proxy.is_some() && own.as_ref().and_then(proxy_of_account) == asked.proxy;
    let proxy = if is_own {
        own
    } else {
        let named = asked.proxy.as_deref().map(Proxy::new).transpose();
        named.map_err(|error| ListFailure::NotReached(error.to_string()))?
    };
    let ca = asked.ca.as_deref().map(std::path::Path::new);
    // The gateway's machine may have it where this one has none, and other files of this one are nobody's business.
    let no_ca = |name: &str| {
        ListFailure::Authorities(format!(
            "the file of authorities {name} is none that this console can use, so only the gateway can check"
        ))
    };
    if let (Some(name), Some(path)) = (asked.ca.as_deref(), ca)
        && !path.is_absolute()
    {
        return Err(no_ca(name));
    }
    let reach = Reach {
        ca,
        system_ca,
        proxy,
        trusts_proxy: is_own,
        addresses,
        header: asked.header,
        patience: PATIENCE,
    };
    let listed = list(&asked.vendor, &asked.credential, &reach);
    listed.map_err(|failure| match (failure, asked.ca.as_deref()) {
        (ListFailure::Authorities(_), Some(name)) => no_ca(name),
        (other, _) => other,
    })
}

/// A failure at a vendor, in sentences for the console's pages and its API.
pub fn console_sentence(vendor: &Vendor, failure: &ListFailure) -> String {
    let refused = match failure {
        ListFailure::NoAddress(NoAddress::NotAllowed { address, .. })
            if AllowedAddresses::Private.has(*address) =>
        {
            "If that is a server of yours, start the console with --allow-private-accounts"
        }
        _ => "No vendor is there, and no option allows it",
    };
    let hints = ListHints {
        not_reached: "Check the address, and whether this console's machine can reach it",
        tls: "Where a server of yours has a certificate of its own, let this machine trust its authority",
        refused,
    };
    ListSentence(vendor, failure, &hints).to_string()
}

/// Describes the successful answer of a vendor.
pub fn works(vendor: &Vendor, has_credential: bool, models: usize) -> String {
    let s = if models == 1 { "" } else { "s" };
    if has_credential {
        format!("the credential works; {models} model{s}")
    } else {
        let host = vendor.origin.authority();
        format!("{host} answers; {models} model{s}")
    }
}
