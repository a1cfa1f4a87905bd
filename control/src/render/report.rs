//! The outcome of a pass, as text or as JSON.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use super::findings::Findings;
use crate::destination::Destination;
use crate::terminal::{printable, say};

/// The outcome of one pass.
#[derive(Debug, Default, Serialize)]
pub struct RenderReport {
    /// The time, with `--watch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Whether this was a check. Then `written` and `removed` are the files that would be.
    pub check: bool,
    /// Whether the files are as the document says, or with `check` could be made so.
    pub done: bool,
    /// The number of accounts in the document.
    pub accounts: usize,
    /// The number of those that have no credential.
    #[serde(skip)]
    pub without_credential: usize,
    /// The number of sources with accounts.
    pub sources: usize,
    /// The URLs of each account.
    pub destinations: Vec<Destination>,
    /// Files that were written, in this order.
    pub written: Vec<PathBuf>,
    /// The changes of Envoy's stream, a line each.
    #[serde(skip)]
    pub streamed: Vec<String>,
    /// The file that the document was published to; nothing if it was there already.
    pub published: Option<PathBuf>,
    /// Files that were as they should be and were left alone.
    pub unchanged: Vec<PathBuf>,
    /// Secrets that no account needs any longer.
    pub removed: Vec<PathBuf>,
    /// The names of clusters that are kept for now, although no account needs them.
    pub kept: Vec<String>,
    /// Problems, warnings and notes.
    #[serde(flatten)]
    pub findings: Findings,
}

impl RenderReport {
    /// Whether a file has changed, or would.
    pub fn has_changes(&self) -> bool {
        !self.written.is_empty()
            || !self.streamed.is_empty()
            || !self.removed.is_empty()
            || self.published.is_some()
    }

    /// Notes how many clusters and secrets of Envoy's stream are new, or others.
    pub fn changes(&mut self, clusters: usize, secrets: usize) {
        for (what, number) in [
            ("clusters", clusters),
            ("credentials and authorities", secrets),
        ] {
            if number > 0 {
                self.streamed.push(format!("{what}: {number} changed"));
            }
        }
    }

    /// Notes how many clusters of Envoy's stream are gone.
    pub fn removed_clusters(&mut self, number: usize) {
        if number > 0 {
            self.streamed.push(format!("clusters: {number} removed"));
        }
    }

    /// The report of a further step about the same document, with nothing done yet.
    pub fn next(&self) -> Self {
        Self {
            time: self.time.clone(),
            check: self.check,
            accounts: self.accounts,
            without_credential: self.without_credential,
            sources: self.sources,
            findings: self.findings.clone(),
            ..Self::default()
        }
    }

    /// Both steps as one report.
    pub fn then(mut self, last: Self) -> Self {
        let new = |file: &PathBuf| !self.written.contains(file);
        let written: Vec<PathBuf> = last.written.into_iter().filter(new).collect();
        self.written.extend(written);
        self.unchanged.retain(|file| !self.written.contains(file));
        self.removed.extend(last.removed);
        self.kept = last.kept;
        self.findings = last.findings;
        self.done = last.done;
        self
    }

    /// Writes one line of JSON.
    pub fn as_json(&self, out: &mut impl Write) -> io::Result<()> {
        let text = serde_json::to_string(self).map_err(io::Error::other)?;
        writeln!(out, "{text}")
    }

    /// One line for each change.
    pub fn lines(&self) -> Vec<String> {
        let [wrote, published, removed] = if self.check {
            ["would write", "would publish", "would remove"]
        } else {
            ["wrote", "published", "removed"]
        };
        let of = |done: &'static str, files: &[PathBuf]| {
            let line = move |file: &PathBuf| format!("{done} {}", file.display());
            files.iter().map(line).collect::<Vec<_>>()
        };
        let kept = self.kept.iter();
        [
            of(wrote, &self.written),
            self.streamed.clone(),
            of(published, self.published.as_slice()),
            of(removed, &self.removed),
            kept.map(|name| format!("kept the cluster {name} for now"))
                .collect(),
        ]
        .concat()
    }

    /// One line for each account with its URLs, if this is a check or something was written.
    pub fn destinations(&self) -> Vec<String> {
        let told = self.check || !self.written.is_empty();
        let told = self.destinations.iter().filter(|_| told);
        told.map(Destination::line).collect()
    }

    /// The numbers of accounts and sources.
    pub fn summary(&self) -> String {
        format!("accounts: {}, in sources: {}", self.accounts, self.sources)
    }

    /// The error of a pass that was not done.
    pub fn refusal(&self) -> &'static str {
        if self.check {
            "not all is good"
        } else if self.has_changes() {
            "not all was written"
        } else {
            "nothing was written"
        }
    }
}

impl Findings {
    /// Prints all findings on standard error, with `prefix` before each line.
    pub fn tell(&self, prefix: &str) {
        for line in self.lines() {
            say(&format!("{prefix}{line}"));
        }
    }

    /// A line for each.
    pub fn lines(&self) -> Vec<String> {
        let kinds = [
            ("error", &self.problems),
            ("warning", &self.warnings),
            ("note", &self.notes),
        ];
        let each = kinds.into_iter().flat_map(|(kind, texts)| {
            let line = move |text: &String| format!("{kind}: {}", printable(text));
            texts.iter().map(line)
        });
        each.collect()
    }
}
