//! The configuration document: named on the command line, read, and compiled as the gateway compiles it.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use trilane::config::{Compiled, Document, Problems, compile};

use crate::failure::Failure;
use crate::terminal::{printable, say};
use trilane_console::prices::{CATALOGUE_NAME, CatalogueFile, ResolvedPrices, resolve};

/// The document that a subcommand is about.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct DocumentArg {
    /// The gateway's configuration document, which is required; `-`: standard input, where it is only read
    #[arg(long, value_name = "FILE", required_unless_present = "positional")]
    document: Option<PathBuf>,

    /// The same without `--document`
    #[arg(value_name = "DOCUMENT", hide = true, conflicts_with = "document")]
    positional: Option<PathBuf>,
}

impl DocumentArg {
    /// Returns the path of the document's file; `-` for standard input.
    pub fn path(&self) -> &Path {
        let named = self.document.as_deref().or(self.positional.as_deref());
        named.unwrap_or(Path::new(STDIN)) // one of both is required
    }
}

/// The file name that stands for standard input.
pub const STDIN: &str = "-";

/// Reads a file, or standard input for `-`.
///
/// # Errors
/// As the system gives them.
pub fn read_input(file: &Path) -> io::Result<Vec<u8>> {
    if file != Path::new(STDIN) {
        return fs::read(file);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of a document; `-` is standard input.
///
/// # Errors
/// The reason that the document cannot be read.
pub fn read(document: &Path) -> Result<Vec<u8>, String> {
    read_input(document).map_err(|error| {
        let name = document.display().to_string();
        format!("cannot read the document {}: {error}", printable(&name))
    })
}

/// The prices of a document that names the catalogue: those beside it come first. Standard input has none beside it.
pub fn prices_of(document: &Path) -> CatalogueFile {
    if document == Path::new(STDIN) {
        CatalogueFile::default()
    } else {
        CatalogueFile::beside(document)
    }
}

/// The policy and keys that the gateway would compile.
///
/// # Errors
/// Every problem.
pub fn judge(bytes: &[u8], prices: &CatalogueFile) -> Result<Compiled, Problems> {
    read_and_judge(bytes, prices).map(|(_, compiled)| compiled)
}

/// The same, with the document as it is written.
///
/// # Errors
/// Every problem.
pub fn read_and_judge(
    bytes: &[u8],
    prices: &CatalogueFile,
) -> Result<(Document, Compiled), Problems> {
    let resolved = resolve_and_judge(bytes, prices)?;
    Ok((resolved.document, resolved.compiled))
}

/// A valid document as the gateway gets it.
#[derive(Debug)]
pub struct ResolvedDocument {
    /// The text, with numbers in the places that name the price catalogue.
    pub text: Vec<u8>,
    /// The document.
    pub document: Document,
    /// The policy that the gateway compiles from it.
    pub compiled: Compiled,
}

/// Puts the prices of the catalogue in, and compiles the result as the gateway does.
///
/// # Errors
/// Every problem.
pub fn resolve_and_judge(
    bytes: &[u8],
    prices: &CatalogueFile,
) -> Result<ResolvedDocument, Problems> {
    let catalogue = prices.read().map_err(|why| {
        let mut problems = Problems::default();
        problems.push(CATALOGUE_NAME, why);
        problems
    })?;
    let ResolvedPrices { text, problems } = resolve(bytes, &catalogue);
    let judged = Document::parse(&text).and_then(|document| Ok((compile(&document)?, document)));
    match judged {
        Ok((compiled, document)) if problems.is_empty() => Ok(ResolvedDocument {
            text: text.into_owned(),
            document,
            compiled,
        }),
        Ok(_) => Err(problems),
        Err(Problems(others)) => {
            let mut all = problems.0;
            all.extend(others);
            Err(Problems(all))
        }
    }
}

/// Reads and compiles a valid document.
///
/// # Errors
/// It cannot be read, or is invalid; then every problem was reported.
pub fn good(document: &Path) -> Result<Compiled, Failure> {
    good_with_text(document).map(|(_, compiled)| compiled)
}

/// The same, with the document as it is written.
///
/// # Errors
/// As [`good`].
pub fn good_with_text(document: &Path) -> Result<(Document, Compiled), Failure> {
    let bytes = read(document).map_err(Failure::Unreadable)?;
    read_and_judge(&bytes, &prices_of(document)).map_err(|problems| {
        tell(&problems);
        let name = document.display().to_string();
        Failure::Unreadable(format!(
            "the gateway would refuse the document {}: mend the above first",
            printable(&name)
        ))
    })
}

/// Reports every problem on standard error.
pub fn tell(problems: &Problems) {
    for problem in &problems.0 {
        say(&format!("error: {}", printable(&problem.to_string())));
    }
}
