//! Putting a document in force: never is there a request whose cluster is not there.
//!
//! The gateway goes over to another document some time after it was put into place, and Envoy to other clusters some
//! time after those were written. So first the clusters of both documents are written, a little later comes the
//! document, and what only the one before needs goes after a while. Whoever is ended in between has done no harm, and
//! the next one brings it to its end.

use std::fs;
use std::io;
use std::path::Path;

use super::files;
use super::places::Places;
use super::rendering::Rendering;
use super::report::Report;
use super::writing::{self, failed};

/// Puts a copy of a document into its place, or with `check` only finds out whether it is another. It may go anywhere
/// where `--publish` is not said.
///
/// # Errors
/// A file that cannot be read or written.
pub fn run(document: &[u8], places: &Places, report: &mut Report) -> Result<(), String> {
    let Some(file) = &places.publish else {
        return Ok(());
    };
    if !files::differs(file, document).map_err(|error| failed("read", file, &error))? {
        report.unchanged.push(file.clone());
        return Ok(());
    }
    if !report.check {
        put(file, document).map_err(|error| failed("write", file, &error))?;
    }
    report.published = Some(file.clone());
    Ok(())
}

/// Whether a document would take the place of another one.
///
/// # Errors
/// A file that cannot be read.
pub fn replaces(document: &[u8], places: &Places) -> Result<bool, String> {
    match &places.publish {
        Some(file) if file.exists() => {
            files::differs(file, document).map_err(|error| failed("read", file, &error))
        }
        _ => Ok(false),
    }
}

fn put(file: &Path, document: &[u8]) -> io::Result<()> {
    let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    fs::create_dir_all(directory)?;
    files::replace(directory, name, document)
}

/// What is to be done when the document before is no longer in force.
#[derive(Debug)]
pub struct CleanUp {
    rendering: Rendering,
    document: Vec<u8>,
    /// The file of clusters with those that stay for now.
    clusters: Vec<u8>,
    report: Report,
}

impl CleanUp {
    /// `None` if nothing is left over.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn new(
        rendering: Rendering,
        document: Vec<u8>,
        places: &Places,
        report: &Report,
    ) -> Result<Option<Self>, String> {
        if report.kept.is_empty() && writing::left_over(places, &rendering)?.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            rendering,
            document,
            clusters: writing::present(places)?,
            report: report.next(),
        }))
    }

    /// Takes away what the document does not need, unless someone else has been at it: then it is for him to do.
    pub fn run(self, places: &Places) -> Report {
        let mut report = self.report;
        let done = match is_as_left(&self.clusters, &self.document, places) {
            Ok(true) => writing::run(&self.rendering, places, false, &mut report),
            Ok(false) => {
                let note = "another document or other clusters have come meanwhile: what this one left over is for \
                    whoever wrote them to remove";
                report.findings.notes.push(note.to_owned());
                Ok(())
            }
            Err(problem) => Err(problem),
        };
        report.findings.problems.extend(done.err());
        report.done = report.findings.problems.is_empty();
        report
    }
}

fn is_as_left(clusters: &[u8], document: &[u8], places: &Places) -> Result<bool, String> {
    let published = match &places.publish {
        Some(file) => {
            !files::differs(file, document).map_err(|error| failed("read", file, &error))?
        }
        None => true,
    };
    Ok(published && writing::present(places)? == clusters)
}
