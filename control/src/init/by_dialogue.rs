//! The same in a dialogue.

use super::another_key;
use super::args::InitArgs;
use super::chosen;
use super::dialogue::Dialogue;
use super::finish::finish;
use super::present::{self, FirstKey, PresentDocument};
use super::tested::{self, TestedVendor};
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::terminal::{printable, say};
use trilane_console::prices::PriceCatalogue;
use trilane_console::vendors::{self, ChosenModel, ListedModel, Offer, Vendor, VendorCredential};

/// Asks for the vendors, tests them, and writes.
///
/// # Errors
/// There is nobody to ask, something is in the way, or cannot be written.
pub fn run(args: &InitArgs, data: &DataDirectory, mut key: FirstKey) -> Result<(), Failure> {
    let dialogue = Dialogue::new()?;
    let document = data.document();
    let mut present = PresentDocument::of(args);
    if present == PresentDocument::None && document.exists() {
        let name = document.display().to_string();
        match dialogue.present(&printable(&name))? {
            Some(chosen) => present = chosen,
            None => return Ok(()),
        }
    }
    while present == PresentDocument::Added && present::is_taken(data, &key) {
        key.id = dialogue.key_id(&key.id)?;
        key.file = present::key_file(args, data, &key.id)?;
    }
    present::ensure_free(data, present, &key)?;
    let catalogue = data.prices().read().map_err(Failure::Data)?;
    let (mut vendors, mut is_added) = (Vec::new(), false);
    loop {
        let vendor = dialogue.vendor()?;
        let known = match present {
            PresentDocument::Added => another_key::group_of(data, &vendor)?,
            PresentDocument::None | PresentDocument::Replaced => None,
        };
        let group = match &known {
            Some(known) => dialogue.group_beside(known, &vendor)?,
            None => Some(vendor.group.clone()),
        };
        match (group, known) {
            (Some(group), _) => {
                let vendor = Vendor { group, ..vendor };
                vendors.extend(of_dialogue(args, &dialogue, &catalogue, vendor)?);
            }
            (None, Some(known)) => {
                if let Some(tested) = tested(args, &dialogue, &vendor)? {
                    another_key::write(data, &known, &tested.0)?;
                    is_added = true;
                }
            }
            (None, None) => {}
        }
        if !dialogue.another()? {
            break;
        }
    }
    if vendors.is_empty() {
        return if is_added {
            Ok(())
        } else {
            Err(Failure::Data("no vendor: nothing was written".to_owned()))
        };
    }
    let priced = vendors
        .iter()
        .all(|one| one.group.models.iter().all(ChosenModel::is_priced));
    if priced && !key.terms.has_budget() {
        key.terms = match dialogue.budget()? {
            Some(amount) => key.terms.with_budget_of_day(amount),
            None => key.terms,
        };
    }
    finish(args, data, present, vendors, key)
}

/// A credential that its vendor takes, and the vendor's list. `None` where the list was not to be had, and nobody wants to
/// try again.
fn tested(
    args: &InitArgs,
    dialogue: &Dialogue,
    vendor: &Vendor,
) -> Result<Option<(VendorCredential, Vec<ListedModel>)>, Failure> {
    loop {
        let (credential, is_one) = dialogue.credential(vendor)?;
        match vendors::list(vendor, &credential, &tested::reach(args, vendor)) {
            Ok(listed) => {
                say(&tested::works(vendor, is_one, listed.len()));
                return Ok(Some((credential, listed)));
            }
            Err(failure) => {
                say(&tested::sentence(vendor, &failure));
                if !dialogue.again()? {
                    return Ok(None);
                }
            }
        }
    }
}

fn of_dialogue(
    args: &InitArgs,
    dialogue: &Dialogue,
    catalogue: &PriceCatalogue,
    vendor: Vendor,
) -> Result<Option<TestedVendor>, Failure> {
    let Some((credential, listed)) = tested(args, dialogue, &vendor)? else {
        return Ok(None);
    };
    let offer = Offer::of(&vendor, listed, catalogue);
    chosen::tell_left_out(&vendor, &offer.left_out);
    let models = dialogue.models(&offer)?;
    let group = tested::group(args, vendor, models)?;
    Ok(Some(TestedVendor { group, credential }))
}
