//! Writes what was chosen, and says what is where.

use super::args::InitArgs;
use super::clients;
use super::present::{self, FirstKey, PresentDocument};
use super::tested::TestedVendor;
use super::writing;
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::key::LimitArgs;
use crate::output;
use crate::terminal::say;
use trilane_console::vendors::{ChosenModel, MIXED, PriceSource, Vendor, VendorGroup};

/// Writes document, credentials and first key, and prints what to do with them.
///
/// # Errors
/// Something is in the way, or cannot be written.
pub fn finish(
    args: &InitArgs,
    data: &DataDirectory,
    present: PresentDocument,
    vendors: Vec<TestedVendor>,
    key: FirstKey,
) -> Result<(), Failure> {
    let (groups, credentials): (Vec<_>, Vec<_>) = vendors
        .into_iter()
        .map(|tested| (tested.group, tested.credential))
        .unzip();
    if present == PresentDocument::Added {
        present::ensure_fits(data, &groups, &key.id)?;
    }
    tell_unpriced(&groups, &key.terms)?;
    tell_stated(&groups);
    let file = key.file.clone();
    let id = key.id.clone();
    let written = writing::run(data, present, (&groups, args.apart), &credentials, key)?;
    let of_key = groups
        .iter()
        .filter(|group| written.group == MIXED || group.vendor.group == written.group);
    let of_key: Vec<&VendorGroup> = of_key.collect();
    let mut lines = vec![format!("wrote {}:", written.document.display())];
    for group in &groups {
        let Vendor {
            group: id,
            protocol,
            ..
        } = &group.vendor;
        let models = group.models.len();
        let s = if models == 1 { "" } else { "s" };
        lines.push(format!(
            "  group {id}, protocol {protocol}, {models} model{s}"
        ));
    }
    if written.group == MIXED {
        lines.push(format!(
            "  group {MIXED}, which serves all of them to one key"
        ));
    }
    lines.extend(written.gains.iter().map(|gain| format!("  {gain}")));
    let files = written.credentials.iter();
    lines.extend(files.map(|file| format!("wrote {}, which only you can read", file.display())));
    lines.push(format!(
        "wrote {}: the key {id} of the group {}",
        file.display(),
        written.group
    ));
    lines.push(String::new());
    lines.push("Start the gateway:".to_owned());
    lines.push(format!("  trilane up --data '{}'", data.root().display()));
    lines.extend(clients::lines(&args.gateway, &file, &of_key));
    output::print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
}

/// Says which prices are of today's list, and nobody's page.
fn tell_stated(groups: &[VendorGroup]) {
    for group in groups {
        let stated = |model: &&ChosenModel| model.pricing.source() == Some(PriceSource::Vendor);
        let count = group.models.iter().filter(stated).count();
        if count > 0 {
            let id = &group.vendor.group;
            say(&format!(
                "note: the prices of {count} models of {id} are those of its list of today"
            ));
        }
    }
}

/// Says which models have no price, and refuses a budget that could count none.
fn tell_unpriced(groups: &[VendorGroup], terms: &LimitArgs) -> Result<(), Failure> {
    let models = groups.iter().flat_map(|group| &group.models);
    let any_priced = models.clone().any(ChosenModel::is_priced);
    let unpriced: Vec<&str> = models
        .filter(|model| !model.is_priced())
        .map(|model| model.id.as_str())
        .collect();
    if unpriced.is_empty() {
        return Ok(());
    }
    let names = unpriced.join(", ");
    if terms.has_budget() && !any_priced {
        return Err(Failure::Data(format!(
            "a budget allows only models with a price, and these have none: {names}. Name it with --price \
             MODEL=INPUT/CACHED/OUTPUT, or say --free for a server of your own"
        )));
    }
    say(&format!(
        "note: what these models cost is not counted, and keys under a budget may not use them, for they have no known price: \
         {names}. Write prices into the document to change that"
    ));
    Ok(())
}
