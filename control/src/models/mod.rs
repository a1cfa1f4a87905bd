//! `trilane models`: the models that a key sees.

mod args;
mod table;

use std::path::Path;

pub use args::{ClientProtocol, ModelsArgs};
use serde_json::Value;
use trilane::head::Head;
use trilane::protocol::Protocol;
use trilane::reply::Reply;
use trilane_console::gateway::{self, CredentialPlace, KeyHolder, LocalGateway, protocol_of};

use crate::document::{self, STDIN};
use crate::failure::Failure;
use crate::in_force::NotInForce;
use crate::output::{self, OutputFormat};
use crate::terminal::printable;

/// Requests the list from the gateway's own code, and prints it.
///
/// # Errors
/// The gateway would reject the request, or there is no result.
pub fn run(args: &ModelsArgs) -> Result<(), Failure> {
    let dash = Path::new(STDIN);
    let document = args.document.path();
    if document == dash && args.whose.key_file.as_deref() == Some(dash) {
        let why = "standard input can be the document or the key, not both";
        return Err(Failure::Usage(why.to_owned()));
    }
    let compiled = document::good(document)?;
    if let Some(not) = NotInForce::of(document) {
        not.note_of_pages("page Keys");
    }
    let Some(asker) = args.whose.asker(&compiled)? else {
        let why = "say whose list: --key-file FILE, --key-id ID or --group ID";
        return Err(Failure::Usage(why.to_owned()));
    };
    let gateway = LocalGateway::new(compiled, Some(&asker));
    let own = || protocol_of(gateway.group(asker.value()).map(AsRef::as_ref));
    let protocol = args.protocol.map_or_else(own, Protocol::from);
    let format = args.format.format();
    let mut pages = Vec::new();
    let mut from = None;
    loop {
        let page = page(&gateway, &asker, protocol, from.as_deref())?;
        // JSON is the response to a client that asks for no page.
        from = table::next(&page).filter(|_| format != OutputFormat::Json);
        pages.push(page);
        if from.is_none() {
            break;
        }
    }
    output::print(|out| match format {
        OutputFormat::Table => table::of(&pages).write_aligned(out),
        OutputFormat::Csv => table::of(&pages).write_csv(out),
        OutputFormat::Json => pages.iter().try_for_each(|ModelListPage(body)| {
            out.write_all(body)?;
            writeln!(out)
        }),
    })
}

/// The page after the model with the id `from`.
fn page(
    gateway: &LocalGateway,
    asker: &KeyHolder,
    protocol: Protocol,
    from: Option<&str>,
) -> Result<ModelListPage, Failure> {
    let (path, cursor) = match protocol {
        Protocol::A | Protocol::B => ("/v1/models", "after_id"),
        Protocol::C => ("/v1beta/models", "pageToken"),
    };
    let mut target = path.as_bytes().to_vec();
    if let Some(from) = from {
        let from = percent_encoding::utf8_percent_encode(from, percent_encoding::NON_ALPHANUMERIC);
        target.extend_from_slice(format!("?{cursor}={from}").as_bytes());
    }
    let mut headers = Vec::new();
    CredentialPlace::of(protocol).put(asker.value(), &mut target, &mut headers);
    headers.push((":method".to_owned(), b"GET".to_vec()));
    headers.push((":path".to_owned(), target));
    let reply = gateway::run(gateway, &Head::new(headers), &[]).reply;
    let reply = reply.ok_or_else(|| Failure::Data("there is no list".to_owned()))?;
    if reply.status == 200 {
        Ok(ModelListPage(reply.body))
    } else {
        Err(refused(&reply))
    }
}

/// A response body.
pub struct ModelListPage(Vec<u8>);

impl ModelListPage {
    /// Parses the body.
    fn value(&self) -> Value {
        serde_json::from_slice(&self.0).unwrap_or_default()
    }
}

fn refused(reply: &Reply) -> Failure {
    let message = serde_json::from_slice::<Value>(&reply.body).ok();
    let message = message
        .as_ref()
        .and_then(|body| body.pointer("/error/message")?.as_str());
    Failure::Data(format!(
        "the gateway would answer {}: {} (`trilane explain` says more)",
        reply.status,
        printable(message.unwrap_or_default())
    ))
}
