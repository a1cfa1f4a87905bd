//! A vendor that gave its list, with what the document gets of it.

use std::path::Path;

use super::args::InitArgs;
use super::chosen::ChosenModel;
use super::credential::VendorCredential;
use super::group_text::VendorGroup;
use super::listing::{self, Reach};
use super::vendor::Vendor;
use crate::failure::Failure;
use crate::terminal::say;

/// A vendor that gave its list.
#[derive(Debug)]
pub struct TestedVendor {
    /// Its group.
    pub group: VendorGroup,
    /// Its credential.
    pub credential: VendorCredential,
}

/// What came back, for people.
pub fn works(vendor: &Vendor, has_credential: bool, models: usize) -> String {
    let s = if models == 1 { "" } else { "s" };
    let group = &vendor.group;
    if !has_credential {
        format!(
            "{group}: {} answers; {models} model{s}",
            vendor.origin.authority()
        )
    } else {
        format!("{group}: the credential works; {models} model{s}")
    }
}

/// How the options say that vendors are reached.
pub fn reach(args: &InitArgs) -> Reach<'_> {
    Reach {
        ca: args.ca.as_deref(),
        system_ca: &args.system_ca,
    }
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
        proxy: proxy(&vendor),
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
fn proxy(vendor: &Vendor) -> Option<String> {
    let proxy = listing::proxy(vendor)?;
    let scheme = match proxy.protocol() {
        ureq::ProxyProtocol::Https => "https",
        ureq::ProxyProtocol::Http => "http",
        _ => {
            say("warning: the gateway has no proxies of this kind: its requests will go directly");
            return None;
        }
    };
    let url = format!("{scheme}://{}:{}", proxy.host(), proxy.port());
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
