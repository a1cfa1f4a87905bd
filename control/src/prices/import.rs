//! `trilane prices import`: prices of others' lists become the operator's own catalogue.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::Duration;

use dialoguer::Confirm;
use time::OffsetDateTime;
use time::macros::format_description;
use trilane::config::some_of;
use trilane_console::named_file;
use trilane_console::outgoing::AllowedAddresses;
use trilane_console::prices::{
    CATALOGUE_NAME, ListPrice, PriceCatalogue, PriceList, lines, protocol_named,
};
use trilane_console::vendors::{PRESETS, Reach, download, proxy_of_environment};

use super::args::PricesImportArgs;
use crate::failure::Failure;
use crate::files;
use crate::output::{self, OutputColumn, OutputTable};
use crate::terminal::{printable, say};

/// The time for a list.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest list, in bytes.
const LONGEST: u64 = 64 << 20;
/// The most names that a message shows.
const SHOWN: usize = 20;

/// Reads a list, shows what it would change, and takes it.
///
/// # Errors
/// The list cannot be read, has nothing that was asked for, or nobody said yes.
pub fn run(args: &PricesImportArgs) -> Result<(), Failure> {
    let data = args.data.directory()?;
    let text = read(args)?;
    let unreadable = |why: String| Failure::Data(printable(&format!("{} {why}", args.list)));
    let list = PriceList::read(&text).map_err(unreadable)?;
    let wanted = wanted(args, &list)?;
    let day = OffsetDateTime::now_utc().date();
    let day = day.format(format_description!("[year]-[month]-[day]"));
    let day = day.map_err(|error| Failure::Data(error.to_string()))?;
    let taken = PriceCatalogue::of_list(&wanted, &args.list, &day, list.form);
    let file = data.prices();
    let before = file.read().map_err(Failure::Unreadable)?;
    let rows = changes(&taken, &before);
    let is_new = rows
        .iter()
        .any(|row| row.last().is_some_and(|is| is != SAME));
    output::print(|out| OutputTable::new(columns(), rows.into_iter()).write_aligned(out))?;
    for model in &wanted {
        if let Some(note) = &model.note {
            say(&printable(&format!("note: {}: {note}", model.id)));
        }
    }
    tell_unread(args, &list);
    if !is_new {
        say("nothing is new");
        return Ok(());
    }
    if !args.yes && !confirmed()? {
        return Err(Failure::Data("nothing was written".to_owned()));
    }
    let own = file.own().map_err(Failure::Unreadable)?;
    let own = taken.over(own.unwrap_or_else(PriceCatalogue::empty));
    data.create()?;
    let text =
        serde_json::to_string_pretty(&own).map_err(|error| Failure::Data(error.to_string()))?;
    let path = data.root().join(CATALOGUE_NAME);
    files::replace(data.root(), CATALOGUE_NAME, text + "\n")
        .map_err(|error| Failure::Data(format!("cannot write {}: {error}", path.display())))?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}

/// The text of the list.
fn read(args: &PricesImportArgs) -> Result<Vec<u8>, Failure> {
    let list = &args.list;
    let failed = |why: String| Failure::Data(printable(&format!("cannot read {list}: {why}")));
    if !list.contains("://") {
        let text = named_file::read(Path::new(list), LONGEST);
        return text.map_err(|error| failed(error.to_string()));
    }
    let reach = Reach {
        ca: args.ca.as_deref(),
        system_ca: args.system_ca.file(),
        proxy: proxy_of_environment(list),
        trusts_proxy: true,
        addresses: AllowedAddresses::Any,
        header: None,
        patience: PATIENCE,
    };
    download(list, &reach).map_err(failed)
}

/// The models that the options name.
fn wanted(args: &PricesImportArgs, list: &PriceList) -> Result<Vec<ListPrice>, Failure> {
    let is_wanted = |model: &&ListPrice| {
        is_of_vendor(args, &model.vendor)
            && (args.models.is_empty() || args.models.contains(&model.id))
    };
    let wanted: Vec<ListPrice> = list.models.iter().filter(is_wanted).cloned().collect();
    if wanted.is_empty() {
        let mut vendors: Vec<&str> = list
            .models
            .iter()
            .map(|model| model.vendor.as_str())
            .collect();
        vendors.dedup();
        let more = if vendors.len() > SHOWN {
            ", \u{2026}"
        } else {
            ""
        };
        vendors.truncate(SHOWN);
        return Err(Failure::Data(printable(&format!(
            "{} has no such models with prices: it has those of {}{more}",
            list.form,
            vendors.join(", ")
        ))));
    }
    Ok(wanted)
}

/// Whether models of a vendor are asked for.
fn is_of_vendor(args: &PricesImportArgs, vendor: &str) -> bool {
    if args.vendors.is_empty() {
        PRESETS.iter().any(|preset| preset.name == vendor)
    } else {
        args.vendors.iter().any(|name| name == vendor)
    }
}

/// Names the models that were asked for and not taken, by the reason.
fn tell_unread(args: &PricesImportArgs, list: &PriceList) {
    let is_named = |name: &str| {
        let mut models = args.models.iter();
        args.models.is_empty() || models.any(|id| name == id || name.ends_with(&format!("/{id}")))
    };
    let asked = list.unread.iter();
    let asked = asked.filter(|model| is_of_vendor(args, &model.vendor) && is_named(&model.name));
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for model in asked {
        let names = by_reason.entry(&model.reason).or_default();
        names.push(&model.name);
    }
    for (reason, names) in by_reason {
        let names = some_of(&names, SHOWN);
        say(&printable(&format!("note: not taken: {names}: {reason}")));
    }
}

/// The word for prices that are known already.
const SAME: &str = "same";

fn columns() -> [OutputColumn; 8] {
    [
        OutputColumn::text("model"),
        OutputColumn::text("protocols"),
        OutputColumn::text("vendor"),
        OutputColumn::number("input"),
        OutputColumn::number("cache_read"),
        OutputColumn::number("output"),
        OutputColumn::text("others").optional(),
        OutputColumn::text("is"),
    ]
}

/// A row for each model that is taken: its prices, and how they stand to those that are known.
fn changes(taken: &PriceCatalogue, before: &PriceCatalogue) -> Vec<Vec<String>> {
    let rows = taken.models().map(|(model, page)| {
        let prices = lines(&model.prices);
        let price = |of: &str| prices.get(of).cloned().unwrap_or_default();
        let shown = ["input", "cache_read", "output"];
        let others = prices
            .iter()
            .filter(|(of, _)| !shown.contains(&of.as_str()));
        let others: Vec<String> = others.map(|(of, price)| format!("{of} {price}")).collect();
        let mut protocols = model
            .protocols
            .iter()
            .filter_map(|name| protocol_named(name));
        let known = protocols.find_map(|protocol| before.find(protocol, &model.id));
        let is = match known {
            None => "new",
            Some(known) if lines(&known.prices) == prices => SAME,
            Some(_) => "changed",
        };
        vec![
            model.id.clone(),
            model.protocols.join(" "),
            page.vendor.clone(),
            price("input"),
            price("cache_read"),
            price("output"),
            others.join(", "),
            is.to_owned(),
        ]
    });
    rows.collect()
}

fn confirmed() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let why = "nothing was written: there is no terminal to ask at. Say --yes to take them";
        return Err(Failure::Data(why.to_owned()));
    }
    let asked = Confirm::new()
        .with_prompt("Take these prices?")
        .default(false)
        .interact();
    asked.map_err(|error| Failure::Data(format!("cannot ask at this terminal: {error}")))
}
