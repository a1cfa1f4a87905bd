//! The setup by options alone, for scripts: nothing is asked.

use super::another_key;
use super::args::InitArgs;
use super::chosen;
use super::credential::CredentialSource;
use super::finish::finish;
use super::present::{self, FirstKey, PresentDocument};
use super::tested::{self, TestedVendor};
use super::vendor_arg::VendorArg;
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::terminal::say;
use trilane_console::prices::PriceCatalogue;
use trilane_console::vendors::{self, ListFailure, ListedModel, Offer, Vendor};

/// Tests the vendors that the options name, and writes.
///
/// # Errors
/// A vendor did not give its list, something is in the way, or cannot be written.
pub fn run(args: &InitArgs, data: &DataDirectory, key: FirstKey) -> Result<(), Failure> {
    if args.another_key {
        return add_keys(args, data);
    }
    let present = PresentDocument::of(args);
    present::ensure_free(data, present, &key)?;
    if args.vendors.len() > 1 {
        ensure_of_one(args)?;
    }
    let catalogue = data.prices().read().map_err(Failure::Data)?;
    let mut vendors = Vec::new();
    for arg in &args.vendors {
        vendors.push(of_options(args, arg, &catalogue)?);
    }
    finish(args, data, present, vendors, key)
}

/// Adds accounts to groups that the document has.
fn add_keys(args: &InitArgs, data: &DataDirectory) -> Result<(), Failure> {
    if args.vendors.len() > 1 {
        ensure_of_one(args)?;
    }
    for arg in &args.vendors {
        let (vendor, source) = named(args, arg)?;
        let found = match &args.group {
            Some(group) => Some(group.clone()),
            None => another_key::group_of(data, &vendor)?,
        };
        let group = found.ok_or_else(|| {
            Failure::Data(format!(
                "the document has no group with an account at {}: leave --another-key out",
                vendor.origin.authority()
            ))
        })?;
        let credential = source.read().map_err(Failure::Data)?;
        let listed = vendors::list(&vendor, &credential, &tested::reach(args, &vendor));
        let listed =
            listed.map_err(|failure| Failure::Data(tested::sentence(&vendor, &failure)))?;
        say(&tested::works(&vendor, true, listed.len()));
        another_key::write(data, &group, &credential)?;
    }
    Ok(())
}

/// Refuses options that can be meant for one vendor only.
fn ensure_of_one(args: &InitArgs) -> Result<(), Failure> {
    let options = [
        ("--protocol", args.protocol.is_some()),
        ("--group", args.group.is_some()),
        ("--credential-…", args.credential.source().is_some()),
        ("--models", !args.models.is_empty()),
        ("--price", !args.prices.is_empty()),
        ("--ca", args.ca.is_some()),
    ];
    match options.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::Usage(format!(
            "{option} is for one vendor: add the others by a run of their own, with --add"
        ))),
    }
}

/// The vendor that an option names, and the place of its credential.
fn named(args: &InitArgs, arg: &VendorArg) -> Result<(Vendor, CredentialSource), Failure> {
    let protocol = args.protocol.map(Into::into);
    let vendor = Vendor::new(
        arg.preset,
        arg.url.as_deref(),
        protocol,
        args.group.as_deref(),
    );
    let vendor = vendor.map_err(Failure::Usage)?;
    let usual = || {
        let variable = vendor.preset.variable;
        (!variable.is_empty()).then(|| CredentialSource::Variable(variable.to_owned()))
    };
    let source = args.credential.source().or_else(usual).ok_or_else(|| {
        let why = "say where the credential is: --credential-file FILE, --credential-env NAME or --no-credential";
        Failure::Usage(why.to_owned())
    })?;
    Ok((vendor, source))
}

fn of_options(
    args: &InitArgs,
    arg: &VendorArg,
    catalogue: &PriceCatalogue,
) -> Result<TestedVendor, Failure> {
    let (vendor, source) = named(args, arg)?;
    let credential = source.read().map_err(Failure::Data)?;
    let listed = match vendors::list(&vendor, &credential, &tested::reach(args, &vendor)) {
        Ok(listed) => {
            let is_one = source != CredentialSource::None;
            say(&tested::works(&vendor, is_one, listed.len()));
            listed
        }
        Err(failure) => named_instead(args, &vendor, &failure)?,
    };
    let offer = Offer::of(&vendor, listed, catalogue);
    chosen::tell_left_out(&vendor, &offer.left_out);
    let mut models = chosen::select(&vendor, &offer, &args.models).map_err(Failure::Data)?;
    chosen::price(&vendor, &mut models, &args.prices, args.free).map_err(Failure::Data)?;
    Ok(TestedVendor {
        group: tested::group(args, vendor, models)?,
        credential,
    })
}

/// The models that the command line names, where the address has no list.
fn named_instead(
    args: &InitArgs,
    vendor: &Vendor,
    failure: &ListFailure,
) -> Result<Vec<ListedModel>, Failure> {
    let sentence = tested::sentence(vendor, failure);
    let has_none = matches!(
        failure,
        ListFailure::Status(404 | 405) | ListFailure::NotAList
    );
    if !has_none || args.models.is_empty() || args.models == ["all"] {
        return Err(Failure::Data(sentence));
    }
    say(&format!(
        "warning: {sentence} The models are taken as you name them, and the credential is not tested"
    ));
    let model = |id: &String| ListedModel::named(id);
    Ok(args.models.iter().map(model).collect())
}
