//! The request that the command line describes, as Envoy would hand it over.

use std::path::Path;

use trilane::protocol::match_request;
use trilane::protocol::query::RequestTarget;
use trilane_console::explain::DescribedRequest;
use trilane_console::gateway::{CredentialPlace, KeyHolder, LocalGateway, protocol_of};

use super::args::{DescribedTarget, ExplainArgs, Header};
use crate::document::read_input;
use crate::failure::Failure;

/// The request of the command line.
///
/// # Errors
/// The path or a header is invalid, or the body cannot be read.
pub fn described(
    args: &ExplainArgs,
    described: &DescribedTarget<'_>,
    asker: Option<&KeyHolder>,
    gateway: &LocalGateway,
) -> Result<DescribedRequest, Failure> {
    let DescribedTarget { method, path } = *described;
    if !path.starts_with('/') {
        let why = "PATH must begin with /: the path alone, without the gateway's address";
        return Err(Failure::Usage(why.to_owned()));
    }
    let body = args.body.as_deref().map_or_else(|| Ok(Vec::new()), read)?;
    let mut headers = Vec::new();
    for (position, header) in (1..).zip(&args.headers) {
        headers.push(parsed(header, position)?);
    }
    let mut target = path.as_bytes().to_vec();
    if let Some(asker) = asker {
        let named = args.key_in.map(CredentialPlace::from);
        let place = named.unwrap_or_else(|| place(described, asker, gateway));
        if headers
            .iter()
            .any(|(name, _)| Some(name.as_str()) == place.header())
        {
            let name = place.header().unwrap_or_default();
            return Err(Failure::Usage(format!(
                "-H gives {name}, where the key is to stand: leave out one of both, or say --key-in"
            )));
        }
        place.put(asker.value(), &mut target, &mut headers);
    }
    Ok(DescribedRequest::new(
        method.as_bytes(),
        &target,
        headers,
        body,
    ))
}

/// Determines the place of the key in a request for this endpoint.
fn place(
    described: &DescribedTarget<'_>,
    asker: &KeyHolder,
    gateway: &LocalGateway,
) -> CredentialPlace {
    let path = RequestTarget::parse(described.path.as_bytes()).path;
    let endpoint = match_request(described.method.as_bytes(), path).ok();
    let protocol = endpoint.and_then(|endpoint| endpoint.protocol());
    let of_group = || protocol_of(gateway.group(asker.value()).map(AsRef::as_ref));
    CredentialPlace::of(protocol.unwrap_or_else(of_group))
}

/// The name in lower case, as Envoy gives it, and the value without blanks around it.
fn parsed(header: &Header, position: usize) -> Result<(String, Vec<u8>), Failure> {
    // The wrong value is not repeated: it may be a credential without its header's name.
    let wrong = || {
        Failure::Usage(format!(
            "-H number {position} is no header: it must be 'name: value'"
        ))
    };
    let colon = memchr::memchr(b':', &header.0).ok_or_else(wrong)?;
    let (name, value) = header.0.split_at(colon);
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    // RFC 9110, section 5.6.2: the characters of a token.
    let token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    if name.is_empty() || !name.iter().all(token) || value.iter().any(|b| b"\r\n\0".contains(b)) {
        return Err(wrong());
    }
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    Ok((name, value.to_vec()))
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    read_input(file).map_err(|error| {
        Failure::Unreadable(format!("cannot read the body {}: {error}", file.display()))
    })
}
