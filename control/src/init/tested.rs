//! A vendor that gave its list, with what the document gets of it.

use std::path::Path;
use std::time::Duration;

use std::borrow::Cow;
use trilane_console::outgoing::AllowedAddresses;
use trilane_console::vendors::{
    self, ChosenModel, ListFailure, ListHints, ListSentence, Reach, Vendor, VendorCredential,
    VendorGroup, proxy_of_account, proxy_of_environment,
};

use super::args::InitArgs;
use crate::failure::Failure;
use crate::terminal::{printable, say};

/// A vendor that gave its list.
#[derive(Debug)]
pub struct TestedVendor {
    /// The vendor with its models, as a group of the document.
    pub group: VendorGroup,
    /// The credential that the vendor took.
    pub credential: VendorCredential,
}

/// Describes a vendor's test that succeeded, for people.
pub fn works(vendor: &Vendor, has_credential: bool, models: usize) -> String {
    let told = vendors::works(vendor, has_credential, models);
    format!("{}: {told}", vendor.group)
}

/// The longest time for a vendor's list.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the route to a vendor that the options give.
pub fn reach<'a>(args: &'a InitArgs, vendor: &Vendor) -> Reach<'a> {
    Reach {
        ca: args.ca.as_deref(),
        system_ca: args.system_ca.file(),
        proxy: proxy_of_environment(&vendor.list_url()),
        // Whoever runs the command can call any.
        trusts_proxy: true,
        addresses: AllowedAddresses::Any,
        header: None,
        patience: PATIENCE,
    }
}

const HINTS: ListHints = ListHints {
    not_reached: Cow::Borrowed("Check the address; behind a proxy, set HTTPS_PROXY"),
    tls: Cow::Borrowed(
        "Where a proxy or a server of yours has a certificate of its own, name its authority with --ca FILE",
    ),
    refused: Cow::Borrowed(""),
};

/// A failure at a vendor, for people.
pub fn sentence(vendor: &Vendor, failure: &ListFailure) -> String {
    let told = ListSentence(vendor, failure, &HINTS);
    printable(&format!("{}: {told}", vendor.group))
}

/// The group of a vendor.
///
/// # Errors
/// The file of authorities has no plain path.
pub fn group(
    args: &InitArgs,
    vendor: Vendor,
    models: Vec<ChosenModel>,
) -> Result<VendorGroup, Failure> {
    let ca = args.ca.as_deref().map(absolute).transpose()?;
    Ok(VendorGroup {
        proxy: proxy_url(&vendor),
        ca,
        vendor,
        models,
    })
}

fn absolute(file: &Path) -> Result<String, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--ca: {why}"));
    let file = std::path::absolute(file).map_err(|error| wrong(error.to_string()))?;
    let text = file.to_str().map(str::to_owned);
    text.ok_or_else(|| wrong("the path is not plain text".to_owned()))
}

/// The proxy of the environment, as the account has it.
fn proxy_url(vendor: &Vendor) -> Option<String> {
    let proxy = proxy_of_environment(&vendor.list_url())?;
    let Some(url) = proxy_of_account(&proxy) else {
        say("warning: the gateway has no proxies of this kind: its requests will go directly");
        return None;
    };
    say(&format!(
        "{}: the gateway's requests will go through the proxy {url}, as the environment says",
        vendor.group
    ));
    if proxy.username().is_some() {
        say(
            "warning: the gateway can give a proxy no credential: let the proxy know the gateway by its address",
        );
    }
    Some(url)
}
