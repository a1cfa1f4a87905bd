//! `trilane prices`: the price catalogue, and what a document says of the same models.
//!
//! The catalogue ([`PriceCatalogue`]) is a file of data in this program, under the operator's own, which an [`import`] writes. It is
//! listed and shown, and [compared](compare) with a document.

mod args;
mod compare;
mod import;

pub use args::PricesArgs;
use args::{PricesCheckArgs, PricesCommand, PricesListArgs, PricesShowArgs};
use compare::{ComparedModel, PriceStanding};
use serde_json::{Value, json};
use trilane::config::suggestion;
use trilane::protocol::Protocol;
use trilane_console::prices::{CatalogueModel, PriceCatalogue, SourcePage, lines};

use crate::data_directory::DataArg;
use crate::document;
use crate::failure::Failure;
use crate::output::{self, OutputColumn, OutputFormat, OutputTable};

/// Runs the subcommand.
///
/// # Errors
/// A price differs, a model is not known, or there is no result.
pub fn run(args: &PricesArgs) -> Result<(), Failure> {
    match &args.command {
        PricesCommand::List(args) => list(args),
        PricesCommand::Show(args) => show(args),
        PricesCommand::Check(args) => check(args),
        PricesCommand::Import(args) => import::run(args),
    }
}

/// The catalogue with the operator's own prices, where there is a data directory.
fn catalogue(data: &DataArg) -> Result<PriceCatalogue, Failure> {
    let own = data.directory().map(|data| data.prices());
    own.unwrap_or_default().read().map_err(Failure::Unreadable)
}

fn list(args: &PricesListArgs) -> Result<(), Failure> {
    let catalogue = catalogue(&args.data)?;
    let protocol = args.protocol.map(|one| Protocol::from(one).to_string());
    let models: Vec<_> = catalogue
        .models()
        .filter(|(model, _)| {
            let mut wanted = protocol.iter();
            wanted.all(|protocol| model.protocols.contains(protocol))
        })
        .collect();
    let price = |model: &CatalogueModel, of: &str| {
        let lines = lines(&model.prices);
        lines.get(of).cloned().unwrap_or_default()
    };
    let rows = models.iter().map(|(model, page)| {
        vec![
            model.id.clone(),
            model.protocols.join(" "),
            price(model, "input"),
            price(model, "cache_read"),
            price(model, "output"),
            page.read.clone(),
            page.url.clone(),
        ]
    });
    let columns = [
        OutputColumn::text("model"),
        OutputColumn::text("protocols"),
        OutputColumn::number("input"),
        OutputColumn::number("cache_read"),
        OutputColumn::number("output"),
        OutputColumn::text("read"),
        OutputColumn::text("page"),
    ];
    output::print(|out| match args.format.format() {
        OutputFormat::Table => OutputTable::new(columns, rows).write_aligned(out),
        OutputFormat::Csv => OutputTable::new(columns, rows).write_csv(out),
        OutputFormat::Json => {
            let models = models
                .iter()
                .map(|(model, page)| as_json(&catalogue, model, page));
            output::write_json(&models.collect::<Vec<_>>(), out)
        }
    })
}

/// All that the catalogue says of a model.
fn as_json(catalogue: &PriceCatalogue, model: &CatalogueModel, page: &SourcePage) -> Value {
    json!({
        "model": model.id,
        "protocols": model.protocols,
        "vendor": page.vendor,
        "currency": catalogue.currency,
        "prices": model.prices,
        "page": page.url,
        "read": page.read,
        "as_stored": page.as_stored,
        "note": model.note,
    })
}

fn show(args: &PricesShowArgs) -> Result<(), Failure> {
    let catalogue = catalogue(&args.data)?;
    let protocols = [Protocol::A, Protocol::B, Protocol::C];
    let mut meant = protocols
        .iter()
        .filter_map(|one| catalogue.find(*one, &args.model));
    let id = meant.next().map(|model| model.id.clone());
    let found = catalogue
        .models()
        .find(|(model, _)| Some(&model.id) == id.as_ref());
    let Some((model, page)) = found else {
        let known = catalogue.models().map(|(model, _)| model.id.as_str());
        return Err(Failure::Data(format!(
            "the catalogue has no such model{}",
            suggestion(&args.model, known)
        )));
    };
    let mut facts = vec![
        ("model".to_owned(), model.id.clone()),
        ("protocols".to_owned(), model.protocols.join(" ")),
        ("vendor".to_owned(), page.vendor.clone()),
        ("currency".to_owned(), catalogue.currency.clone()),
    ];
    facts.extend(lines(&model.prices));
    facts.extend([
        ("page".to_owned(), page.url.clone()),
        ("read".to_owned(), page.read.clone()),
        ("as stored".to_owned(), page.as_stored.clone()),
    ]);
    facts.extend(model.note.clone().map(|note| ("note".to_owned(), note)));
    let rows = facts.into_iter().map(|(of, is)| vec![of, is]);
    let columns = ["of", "is"].map(OutputColumn::text);
    output::print(|out| match args.format.format() {
        OutputFormat::Table => OutputTable::new(columns, rows).write_aligned(out),
        OutputFormat::Csv => OutputTable::new(columns, rows).write_csv(out),
        OutputFormat::Json => output::write_json(&as_json(&catalogue, model, page), out),
    })
}

fn check(args: &PricesCheckArgs) -> Result<(), Failure> {
    let (document, _) = document::good_with_text(args.document.path())?;
    let prices = document::prices_of(args.document.path());
    let prices = prices.read().map_err(Failure::Unreadable)?;
    let compared = compare::compare(&document, &prices);
    output::print_beside_code(|out| match args.format.format() {
        OutputFormat::Table => compared_table(&compared).write_aligned(out),
        OutputFormat::Csv => compared_table(&compared).write_csv(out),
        OutputFormat::Json => output::write_json(&compared, out),
    })?;
    let differs = |model: &ComparedModel| model.prices == PriceStanding::Different;
    if compared.iter().any(differs) {
        return Err(Failure::Told);
    }
    Ok(())
}

/// A row for each price that differs, and one for every other model.
fn compared_table(
    compared: &[ComparedModel],
) -> OutputTable<impl Iterator<Item = Vec<String>> + '_> {
    let columns = [
        OutputColumn::text("group"),
        OutputColumn::text("model"),
        OutputColumn::text("prices"),
        OutputColumn::text("of").optional(),
        OutputColumn::number("document").optional(),
        OutputColumn::number("catalogue").optional(),
    ];
    let rows = compared.iter().flat_map(|model| {
        let head = [&model.group, &model.model].map(Clone::clone);
        let row = move |rest: [String; 3]| {
            let mut row = head.to_vec();
            row.push(model.prices.word().to_owned());
            row.extend(rest);
            row
        };
        if model.differences.is_empty() {
            return vec![row(Default::default())];
        }
        let each = model.differences.iter().map(|difference| {
            row([
                difference.of.clone(),
                difference.document.clone().unwrap_or_default(),
                difference.catalogue.clone(),
            ])
        });
        each.collect()
    });
    OutputTable::new(columns, rows)
}
