//! Puts a document in force without a moment in which a request has no cluster.
//!
//! Both the gateway and Envoy take a while to notice new files. So the clusters of both documents, the old and the new,
//! are written first, then the document, and later what only the old document needed is removed. A run that is ended in
//! between does no harm, and the next run completes it.

use std::fs;
use std::io;
use std::path::Path;

use super::paths::Paths;
use super::rendered_files::RenderedFiles;
use super::report::RenderReport;
use super::writing::{self, failed};
use crate::files;

/// Copies a document to where `--publish` says, or with `check` only reports whether it differs. Does nothing without
/// `--publish`.
///
/// # Errors
/// A file that cannot be read or written.
pub fn run(document: &[u8], paths: &Paths, report: &mut RenderReport) -> Result<(), String> {
    let Some(file) = &paths.publish else {
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

/// Whether a document would replace another one.
///
/// # Errors
/// A file that cannot be read.
pub fn replaces(document: &[u8], paths: &Paths) -> Result<bool, String> {
    match &paths.publish {
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

/// The work that is left when the previous document is no longer in force.
#[derive(Debug)]
pub struct FileCleanUp {
    rendering: RenderedFiles,
    document: Vec<u8>,
    /// The file of clusters, with those that are kept for now.
    clusters: Vec<u8>,
    report: RenderReport,
}

impl FileCleanUp {
    /// `None` if there is nothing to remove.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn new(
        rendering: RenderedFiles,
        document: Vec<u8>,
        paths: &Paths,
        report: &RenderReport,
    ) -> Result<Option<Self>, String> {
        if report.kept.is_empty() && writing::stale_secrets(paths, &rendering)?.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            rendering,
            document,
            clusters: writing::present(paths)?,
            report: report.next(),
        }))
    }

    /// Removes what the document does not need, unless another run has written clusters or a document meanwhile: then that
    /// run removes it.
    pub fn run(self, paths: &Paths) -> RenderReport {
        let mut report = self.report;
        let done = match is_as_left(&self.clusters, &self.document, paths) {
            Ok(true) => writing::run(&self.rendering, paths, false, &mut report),
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

fn is_as_left(clusters: &[u8], document: &[u8], paths: &Paths) -> Result<bool, String> {
    let published = match &paths.publish {
        Some(file) => {
            !files::differs(file, document).map_err(|error| failed("read", file, &error))?
        }
        None => true,
    };
    Ok(published && writing::present(paths)? == clusters)
}
