//! What a pass has come to, for a reader or for a program.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use super::findings::Findings;
use crate::destination::Destination;
use crate::terminal::{printable, say};

/// What became of one pass.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// When, for those who stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Whether nothing was to be touched. Then the files are those that would be.
    pub check: bool,
    /// Whether the files are (with `check`: could be made) as the document says.
    pub done: bool,
    /// How many accounts the document has.
    pub accounts: usize,
    /// How many sources have them.
    pub sources: usize,
    /// Where the requests of each account end.
    pub destinations: Vec<Destination>,
    /// Files that were not as they should be, in the order in which they were written.
    pub written: Vec<PathBuf>,
    /// The document, where it was put in force; nothing if it was in force already, or was not to be.
    pub published: Option<PathBuf>,
    /// Files that were as they should be.
    pub unchanged: Vec<PathBuf>,
    /// Files that no account needs any longer.
    pub removed: Vec<PathBuf>,
    /// Clusters that stay although no account needs them any longer, by name.
    pub kept: Vec<String>,
    /// What is to be said.
    #[serde(flatten)]
    pub findings: Findings,
}

impl Report {
    /// Whether a file is another now, or would be.
    pub fn has_changes(&self) -> bool {
        !self.written.is_empty() || !self.removed.is_empty() || self.published.is_some()
    }

    /// Another one, with nothing done, about the same document.
    pub fn next(&self) -> Self {
        Self {
            time: self.time.clone(),
            check: self.check,
            accounts: self.accounts,
            sources: self.sources,
            findings: self.findings.clone(),
            ..Self::default()
        }
    }

    /// Both as one, when all is over.
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

    /// One line of JSON.
    pub fn as_json(&self, out: &mut impl Write) -> io::Result<()> {
        let text = serde_json::to_string(self).map_err(io::Error::other)?;
        writeln!(out, "{text}")
    }

    /// What was done, a line each.
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
            of(published, self.published.as_slice()),
            of(removed, &self.removed),
            kept.map(|name| format!("kept the cluster {name} for now"))
                .collect(),
        ]
        .concat()
    }

    /// Where the requests of each account end, a line each, after a look at them or a change.
    pub fn destinations(&self) -> Vec<String> {
        let told = self.check || !self.written.is_empty();
        let told = self.destinations.iter().filter(|_| told);
        told.map(Destination::line).collect()
    }

    /// How many accounts there are.
    pub fn summary(&self) -> String {
        format!("accounts: {}, in sources: {}", self.accounts, self.sources)
    }

    /// Why it was not done, in the words of an error.
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
    /// Says everything on standard error, each line behind `prefix`.
    pub fn tell(&self, prefix: &str) {
        for (kind, texts) in [
            ("error", &self.problems),
            ("warning", &self.warnings),
            ("note", &self.notes),
        ] {
            for text in texts {
                say(&format!("{prefix}{kind}: {}", printable(text)));
            }
        }
    }
}
