//! The further methods of a protocol C group, each with its price.

use crate::config::document::GroupDocument;
use crate::config::error::Problems;
use crate::money::Price;
use crate::protocol::Protocol;
use crate::protocol::generate::METHODS;

/// The longest name of a method, in bytes, as paths are read.
const MAX_NAME: usize = 64;

/// Compiles `methods`: each has a name that is served by no other rule, and a price.
pub(super) fn compile(
    document: &GroupDocument,
    protocol: Protocol,
    path: &str,
    problems: &mut Problems,
) -> Vec<(String, Price)> {
    if document.methods.is_some() && protocol != Protocol::C {
        problems.push(
            format!("{path}.methods"),
            "has a meaning in protocol C groups only",
        );
        return Vec::new();
    }
    let mut methods = Vec::new();
    for (name, method) in document.methods.iter().flatten() {
        let path = format!("{path}.methods.{name}");
        if let Err(reason) = check_name(name) {
            problems.push(path, reason);
            continue;
        }
        match method.per_call.as_deref().map(Price::parse) {
            Some(Ok(price)) => methods.push((name.clone(), price)),
            Some(Err(reason)) => problems.push(format!("{path}.per_call"), reason),
            None => problems.push(
                format!("{path}.per_call"),
                "is missing (\"0\" for one that is meant to be free)",
            ),
        }
    }
    methods
}

fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(|b| b.is_ascii_alphabetic()) {
        return Err("is no method: must be 1 to 64 letters");
    }
    if METHODS.contains(&name) {
        return Err("is served already, and charged by its tokens");
    }
    Ok(())
}
