//! The configuration document, read and judged as the gateway does.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use trilane::config::{Compiled, Document, Problems, compile};

use crate::failure::Failure;
use crate::terminal::{printable, say};

/// The bytes of a document; `-` is standard input.
///
/// # Errors
/// Why it cannot be read.
pub fn read(document: &Path) -> Result<Vec<u8>, String> {
    let read = if document == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(document)
    };
    read.map_err(|error| {
        let name = document.display().to_string();
        format!("cannot read the document {}: {error}", printable(&name))
    })
}

/// What the gateway makes of a document.
///
/// # Errors
/// Every problem.
pub fn judge(bytes: &[u8]) -> Result<Compiled, Problems> {
    read_and_judge(bytes).map(|(_, compiled)| compiled)
}

/// The same, with the document as it is written.
///
/// # Errors
/// Every problem.
pub fn read_and_judge(bytes: &[u8]) -> Result<(Document, Compiled), Problems> {
    let document = Document::parse(bytes)?;
    let compiled = compile(&document)?;
    Ok((document, compiled))
}

/// A document that the gateway would take.
///
/// # Errors
/// One that cannot be read, or that it would refuse; then all problems have been said.
pub fn good(document: &Path) -> Result<Compiled, Failure> {
    good_with_text(document).map(|(_, compiled)| compiled)
}

/// The same, with the document as it is written.
///
/// # Errors
/// As [`good`].
pub fn good_with_text(document: &Path) -> Result<(Document, Compiled), Failure> {
    let bytes = read(document).map_err(Failure::Unreadable)?;
    read_and_judge(&bytes).map_err(|problems| {
        tell(&problems);
        let name = document.display().to_string();
        Failure::Unreadable(format!(
            "the gateway would refuse the document {}: mend the above first",
            printable(&name)
        ))
    })
}

/// Says every problem on standard error.
pub fn tell(problems: &Problems) {
    for problem in &problems.0 {
        say(&format!("error: {}", printable(&problem.to_string())));
    }
}
