//! `trilane init`: from nothing to a document for real vendors.
//!
//! For each [`vendor`] it takes a [`credential`], tests it by the vendor's own [list](listing) of models
//! ([`listed`]), and chooses models with their prices ([`chosen`]): by options, or in a [`dialogue`]. Then it makes the
//! document's [text](group_text), and writes document, credentials and a first key ([`writing`]).

mod args;
mod chosen;
mod clients;
mod credential;
mod dialogue;
mod group_text;
mod listed;
mod listing;
mod own_price;
mod vendor;
mod writing;

use std::path::{Path, PathBuf};

pub use args::InitArgs;
use chosen::{ChosenModel, ModelPricing};
use credential::{CredentialSource, VendorCredential};
use dialogue::Dialogue;
use group_text::{MIXED, VendorGroup};
use listed::ListedModel;
use listing::{ListFailure, ListSentence, Reach};
use trilane::config::{Document, Problems};
use vendor::{Vendor, VendorArg};
use writing::{FirstKey, PresentDocument};

use crate::data_directory::DataDirectory;
use crate::document;
use crate::failure::Failure;
use crate::key::LimitArgs;
use crate::output;
use crate::prices::{PriceCatalogue, resolve};
use crate::terminal::{printable, say};

/// Asks, or takes the options; tests, and writes.
///
/// # Errors
/// A vendor did not give its list, something is in the way, or cannot be written.
pub fn run(args: &InitArgs) -> Result<(), Failure> {
    let data = args.data.directory()?;
    let key = FirstKey {
        id: args.key_id.clone(),
        file: key_file(args, &data, &args.key_id)?,
        terms: args.terms.clone(),
    };
    if args.vendors.is_empty() {
        by_dialogue(args, &data, key)
    } else {
        by_options(args, &data, key)
    }
}

/// The file of the first key, absolute: its path stands in the lines for clients.
fn key_file(args: &InitArgs, data: &DataDirectory, id: &str) -> Result<PathBuf, Failure> {
    let default = || data.root().join(format!("{id}.key"));
    let file = args.key_out.clone().unwrap_or_else(default);
    std::path::absolute(&file).map_err(|error| Failure::Usage(format!("--key-out: {error}")))
}

/// A vendor that gave its list.
struct Tested {
    group: VendorGroup,
    credential: VendorCredential,
}

fn by_options(args: &InitArgs, data: &DataDirectory, key: FirstKey) -> Result<(), Failure> {
    let present = match (args.add, args.force) {
        (true, _) => PresentDocument::Added,
        (_, true) => PresentDocument::Replaced,
        _ => PresentDocument::None,
    };
    writing::ensure_free(data, present, &key)?;
    if args.vendors.len() > 1 {
        ensure_of_one(args)?;
    }
    let mut tested = Vec::new();
    for arg in &args.vendors {
        tested.push(of_options(args, arg)?);
    }
    finish(args, data, present, tested, key)
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

fn of_options(args: &InitArgs, arg: &VendorArg) -> Result<Tested, Failure> {
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
    let credential = source.read().map_err(Failure::Data)?;
    let listed = match listing::list(&vendor, &credential, &reach(args)) {
        Ok(listed) => {
            let is_one = source != CredentialSource::None;
            say(&works(&vendor, is_one, listed.len()));
            listed
        }
        Err(failure) => named_instead(args, &vendor, &failure)?,
    };
    let offered = chosen::offer(&vendor, listed, &PriceCatalogue::embedded());
    let mut models = chosen::select(&vendor, offered, &args.models).map_err(Failure::Data)?;
    chosen::price(&vendor, &mut models, &args.prices, args.free).map_err(Failure::Data)?;
    Ok(Tested {
        group: group(args, vendor, models)?,
        credential,
    })
}

fn works(vendor: &Vendor, has_credential: bool, models: usize) -> String {
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

/// The models that the command line names, where the address has no list.
fn named_instead(
    args: &InitArgs,
    vendor: &Vendor,
    failure: &ListFailure,
) -> Result<Vec<ListedModel>, Failure> {
    let sentence = printable(&ListSentence(vendor, failure).to_string());
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
    let model = |id: &String| ListedModel {
        id: id.clone(),
        display_name: None,
        prices: None,
    };
    Ok(args.models.iter().map(model).collect())
}

fn reach(args: &InitArgs) -> Reach<'_> {
    Reach {
        ca: args.ca.as_deref(),
        system_ca: &args.system_ca,
    }
}

fn group(
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

fn by_dialogue(args: &InitArgs, data: &DataDirectory, mut key: FirstKey) -> Result<(), Failure> {
    let dialogue = Dialogue::new()?;
    let document = data.document();
    let mut present = match (args.add, args.force) {
        (true, _) => PresentDocument::Added,
        (_, true) => PresentDocument::Replaced,
        _ => PresentDocument::None,
    };
    if present == PresentDocument::None && document.exists() {
        let name = document.display().to_string();
        match dialogue.present(&printable(&name))? {
            Some(chosen) => present = chosen,
            None => return Ok(()),
        }
    }
    while present == PresentDocument::Added && is_taken(data, &key) {
        key.id = dialogue.key_id(&key.id)?;
        key.file = key_file(args, data, &key.id)?;
    }
    writing::ensure_free(data, present, &key)?;
    let mut tested = Vec::new();
    loop {
        if let Some(one) = of_dialogue(args, &dialogue)? {
            tested.push(one);
        }
        if !dialogue.another()? {
            break;
        }
    }
    if tested.is_empty() {
        return Err(Failure::Data("no vendor: nothing was written".to_owned()));
    }
    let priced = tested
        .iter()
        .all(|one| one.group.models.iter().all(ChosenModel::is_priced));
    if priced && !key.terms.has_budget() {
        key.terms = match dialogue.budget()? {
            Some(amount) => key.terms.with_budget_of_day(amount),
            None => key.terms,
        };
    }
    finish(args, data, present, tested, key)
}

/// `None` where its list was not to be had, and nobody wants to try again.
fn of_dialogue(args: &InitArgs, dialogue: &Dialogue) -> Result<Option<Tested>, Failure> {
    let vendor = dialogue.vendor()?;
    let (credential, is_one, listed) = loop {
        let (credential, is_one) = dialogue.credential(&vendor)?;
        match listing::list(&vendor, &credential, &reach(args)) {
            Ok(listed) => break (credential, is_one, listed),
            Err(failure) => {
                say(&printable(&ListSentence(&vendor, &failure).to_string()));
                if !dialogue.again()? {
                    return Ok(None);
                }
            }
        }
    };
    say(&works(&vendor, is_one, listed.len()));
    let offered = chosen::offer(&vendor, listed, &PriceCatalogue::embedded());
    let models = dialogue.models(offered)?;
    let group = group(args, vendor, models)?;
    Ok(Some(Tested { group, credential }))
}

fn finish(
    args: &InitArgs,
    data: &DataDirectory,
    present: PresentDocument,
    tested: Vec<Tested>,
    key: FirstKey,
) -> Result<(), Failure> {
    let (groups, credentials): (Vec<_>, Vec<_>) = tested
        .into_iter()
        .map(|tested| (tested.group, tested.credential))
        .unzip();
    if present == PresentDocument::Added {
        ensure_fits(data, &groups, &key.id)?;
    }
    tell_unpriced(&groups, &key.terms)?;
    tell_stated(&groups);
    let file = key.file.clone();
    let id = key.id.clone();
    let written = writing::run(data, present, &groups, &credentials, key)?;
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
        let stated = |model: &&ChosenModel| matches!(model.pricing, ModelPricing::Stated { .. });
        let count = group.models.iter().filter(stated).count();
        if count > 0 {
            let id = &group.vendor.group;
            say(&format!(
                "note: the prices of {count} models of {id} are those of its list of today, for input and output alone"
            ));
        }
    }
}

/// The document that is there, read.
fn present_document(data: &DataDirectory) -> Result<Result<Document, Problems>, Failure> {
    let bytes = document::read(&data.document()).map_err(Failure::Unreadable)?;
    let resolved = resolve(&bytes, &PriceCatalogue::embedded());
    Ok(Document::parse(&resolved.text))
}

fn has_key(document: &Document, id: &str) -> bool {
    let mut keys = document.keys.iter().flatten();
    keys.any(|key| key.id.as_deref() == Some(id))
}

/// Whether there is a key of this id, or its file.
fn is_taken(data: &DataDirectory, key: &FirstKey) -> bool {
    let document = present_document(data).ok().and_then(Result::ok);
    key.file.exists() || document.is_some_and(|document| has_key(&document, &key.id))
}

/// Refuses groups that cannot be added to the document.
fn ensure_fits(data: &DataDirectory, groups: &[VendorGroup], key: &str) -> Result<(), Failure> {
    let file = data.document();
    let document = present_document(data)?.map_err(|problems| {
        document::tell(&problems);
        Failure::Unreadable(format!(
            "nothing was changed: mend {} first",
            file.display()
        ))
    })?;
    if has_key(&document, key) {
        return Err(Failure::Data(format!(
            "the document has a key {key} already: name the new one with --key-id ID"
        )));
    }
    let ids = document
        .groups
        .iter()
        .flatten()
        .filter_map(|group| group.id.as_ref());
    let ids: Vec<&String> = ids.collect();
    for group in groups {
        let id = &group.vendor.group;
        if ids.contains(&id) {
            return Err(Failure::Data(format!(
                "the document has a group {id} already: name the new one with --group ID"
            )));
        }
    }
    let known = |model: &ChosenModel| matches!(model.pricing, ModelPricing::Catalogue { .. });
    let from_catalogue = groups.iter().any(|group| group.models.iter().any(known));
    match document.currency {
        Some(currency) if currency != "USD" && from_catalogue => Err(Failure::Data(format!(
            "the document's prices are in {}, and those of the catalogue in USD: name yours with --price",
            printable(&currency)
        ))),
        _ => Ok(()),
    }
}

/// Says which models have no price, and refuses a budget that would not count them.
fn tell_unpriced(groups: &[VendorGroup], terms: &LimitArgs) -> Result<(), Failure> {
    let models = groups.iter().flat_map(|group| &group.models);
    let unpriced: Vec<&str> = models
        .filter(|model| !model.is_priced())
        .map(|model| model.id.as_str())
        .collect();
    if unpriced.is_empty() {
        return Ok(());
    }
    let names = unpriced.join(", ");
    if terms.has_budget() {
        return Err(Failure::Data(format!(
            "a budget needs the price of every model, and these have none: {names}. Name it with --price \
             MODEL=INPUT/OUTPUT, leave them out with --models, or say --free for a server of your own"
        )));
    }
    say(&format!(
        "note: what these models cost is not counted, and no budget can be set, for they have no known price: {names}. \
         Write prices into the document to change that"
    ));
    Ok(())
}
