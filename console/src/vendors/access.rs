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
    /// Whether people may choose that a vendor is in their own network.
    may_choose: bool,
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
    /// Whether somebody has chosen that it is in one's own network. It is of no effect where nobody may choose that.
    pub is_private: bool,
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
            may_choose: false,
            system_ca,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// The same for a console that only its own machine reaches: people may choose that a vendor is in their own network.
    #[must_use]
    pub fn on_own_machine(self, is_own: bool) -> Self {
        Self {
            may_choose: is_own,
            ..self
        }
    }

    /// Whether people may choose that a vendor is in their own network.
    pub fn may_choose(&self) -> bool {
        self.may_choose && self.addresses == AllowedAddresses::Public
    }

    /// Asks a vendor for its models. Nothing is charged for that.
    ///
    /// # Errors
    /// The failure, if there is no list.
    pub async fn list(&self, asked: AskedVendor) -> Result<Vec<ListedModel>, ListFailure> {
        let failed = |why: &str| ListFailure::NotReached(why.to_owned());
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|_| failed("the console ends"))?;
        let addresses = if asked.is_private && self.may_choose() {
            AllowedAddresses::Private
        } else {
            self.addresses
        };
        let system_ca = self.system_ca.clone();
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
        // In the words of a program: it is made on a thread of its own.
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

/// A failure at a vendor, in sentences for the console's pages and its API. `may_choose`: whether people may choose that it is in their
/// own network.
pub fn console_sentence(vendor: &Vendor, failure: &ListFailure, may_choose: bool) -> String {
    let refused = match failure {
        ListFailure::NoAddress(NoAddress::NotAllowed { address, .. })
            if AllowedAddresses::Private.has(*address) && may_choose =>
        {
            t!("If that is a server of yours, tick “It is in my own network”")
        }
        ListFailure::NoAddress(NoAddress::NotAllowed { address, .. })
            if AllowedAddresses::Private.has(*address) =>
        {
            t!("If that is a server of yours, start the console with --allow-private-accounts")
        }
        _ => t!("No vendor is there, and no option allows it"),
    };
    let hints = ListHints {
        not_reached: t!("Check the address, and whether this console's machine can reach it"),
        tls: t!(
            "Where a server of yours has a certificate of its own, let this machine trust its authority"
        ),
        refused,
    };
    ListSentence(vendor, failure, &hints).to_string()
}

/// Describes the successful answer of a vendor.
pub fn works(vendor: &Vendor, has_credential: bool, models: usize) -> String {
    let models = match models {
        1 => t!("1 model").into_owned(),
        count => t!("{count} models", count = count),
    };
    if has_credential {
        t!("the credential works; {models}", models = models)
    } else {
        let host = vendor.origin.authority();
        t!("{host} answers; {models}", host = host, models = models)
    }
}

#[cfg(test)]
mod tests {
    use super::super::vendor::VendorPreset;
    use super::*;

    #[tokio::test]
    async fn a_private_address_is_a_choice_on_ones_own_machine() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // Nobody listens there any more.
        drop(listener);
        for (case, allowed, is_own_machine, chosen, want) in [
            ("not chosen", false, true, false, "address_refused"),
            ("chosen", false, true, true, "not_reached"),
            ("chosen elsewhere", false, false, true, "address_refused"),
            ("allowed", true, false, false, "not_reached"),
        ] {
            let access = VendorAccess::new(allowed, PathBuf::new()).on_own_machine(is_own_machine);
            let url = format!("http://127.0.0.1:{port}/v1");
            let preset = VendorPreset::named("compatible").unwrap();
            let asked = AskedVendor {
                vendor: Vendor::new(preset, Some(&url), None, None).unwrap(),
                credential: VendorCredential::none(),
                header: None,
                proxy: None,
                ca: None,
                is_private: chosen,
            };
            let vendor = asked.vendor.clone();
            let failure = access.list(asked).await.unwrap_err();
            assert_eq!(failure.name(), want, "{case}: {failure:?}");
            let said = console_sentence(&vendor, &failure, access.may_choose());
            let is_told = said.contains("tick “It is in my own network”");
            assert_eq!(is_told, case == "not chosen", "{said}");
        }
    }
}
