//! The findings in the documents that were checked.

use std::io::{self, Write};

use serde::Serialize;
use trilane::config::Problem;

use crate::console_api::{DocumentCheck, PlacedFinding};
use crate::destination::Destination;
use crate::document;
use crate::ink::{Highlight, Ink};
use crate::output::{OutputColumn, OutputTable};
use crate::terminal::printable;
use trilane_console::json_span;
use trilane_console::prices::{CatalogueFile, PriceCatalogue};
use trilane_console::vendors::uncached;

/// All documents.
#[derive(Debug, Serialize)]
pub struct CheckReport {
    /// Whether every one is valid.
    pub good: bool,
    /// The documents, in the order of the command line.
    pub documents: Vec<DocumentReport>,
}

/// The result for one document.
#[derive(Debug, Serialize)]
pub struct DocumentReport {
    /// The name of the document on the command line.
    document: String,
    good: bool,
    /// The reason that the document cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<String>,
    /// The number of its groups, if it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<usize>,
    /// The number of its keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<usize>,
    problems: Vec<Finding>,
    warnings: Vec<Finding>,
    /// The URLs of each account.
    accounts: Vec<Destination>,
    /// The keys that gain or lose models, beside what a console has in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<String>>,
}

/// One thing about a document.
#[derive(Debug, Serialize)]
struct Finding {
    /// The path in the document, such as `groups[2].models[0].id`; empty for the whole document.
    path: String,
    /// The line of the path, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    reason: String,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy)]
enum FindingKind {
    Error,
    Warning,
}

impl FindingKind {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }

    fn mark(self) -> Highlight {
        match self {
            Self::Error => Highlight::Bad,
            Self::Warning => Highlight::Warning,
        }
    }
}

impl Finding {
    /// Of a problem of this text.
    fn new(problem: Problem, text: &[u8]) -> Self {
        let Problem { path, reason } = problem;
        let path = if path == "." { String::new() } else { path };
        // A finding on the whole document has no line, or names it itself.
        let line = (!path.is_empty())
            .then(|| json_span::line(text, &path))
            .flatten();
        Self { path, line, reason }
    }
}

impl CheckReport {
    /// Of these documents.
    pub fn new(documents: Vec<DocumentReport>) -> Self {
        let good = documents.iter().all(|verdict| verdict.good);
        Self { good, documents }
    }

    /// A row for each finding and account, and one for each document: whether it is good.
    pub fn table(&self) -> OutputTable<impl Iterator<Item = Vec<String>> + '_> {
        let columns = ["document", "line", "kind", "path", "text"].map(OutputColumn::text);
        OutputTable::new(
            columns,
            self.documents.iter().flat_map(DocumentReport::rows),
        )
    }

    /// A line for each finding, and one for each document that was read.
    pub fn lines(&self, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
        self.documents
            .iter()
            .try_for_each(|verdict| verdict.lines(ink, out))
    }
}

impl DocumentReport {
    /// The gateway's result; with `strict`, warnings count.
    pub fn of(document: String, bytes: &[u8], prices: &CatalogueFile, strict: bool) -> Self {
        let findings = |found: Vec<Problem>| {
            let findings = found
                .into_iter()
                .map(|problem| Finding::new(problem, bytes));
            findings.collect()
        };
        let mut verdict = Self {
            document,
            good: false,
            unreadable: None,
            groups: None,
            keys: None,
            problems: Vec::new(),
            warnings: Vec::new(),
            accounts: Vec::new(),
            changes: None,
        };
        match document::judge(bytes, prices) {
            Ok(mut compiled) => {
                let catalogue = prices.read().unwrap_or_else(|_| PriceCatalogue::embedded());
                let uncached = uncached(&compiled.policy, &catalogue);
                compiled.warnings.extend(uncached);
                verdict.good = !strict || compiled.warnings.is_empty();
                verdict.groups = Some(compiled.policy.groups().len());
                verdict.keys = Some(compiled.keys.len());
                verdict.warnings = findings(compiled.warnings);
                verdict.accounts = Destination::all(&compiled.policy);
            }
            Err(problems) => verdict.problems = findings(problems.0),
        }
        verdict
    }

    /// A console's result; with `strict`, warnings count.
    pub fn of_console(document: String, bytes: &[u8], check: &DocumentCheck, strict: bool) -> Self {
        let findings = |found: &[PlacedFinding]| {
            let found = found.iter().cloned();
            let findings = found.map(|PlacedFinding { path, reason }| {
                Finding::new(Problem { path, reason }, bytes)
            });
            findings.collect()
        };
        let warnings = check.all_warnings();
        Self {
            document,
            good: check.valid && (!strict || warnings.is_empty()),
            unreadable: None,
            groups: check.valid.then_some(check.groups),
            keys: check.valid.then_some(check.keys),
            problems: findings(&check.problems),
            warnings: findings(&warnings),
            accounts: Vec::new(),
            changes: Some(check.changes()),
        }
    }

    /// The result for a document that cannot be read.
    pub fn unreadable(document: String, why: String) -> Self {
        Self {
            document,
            good: false,
            unreadable: Some(why),
            groups: None,
            keys: None,
            problems: Vec::new(),
            warnings: Vec::new(),
            accounts: Vec::new(),
            changes: None,
        }
    }

    /// Returns the reason that the document cannot be read; `None`: it was read.
    pub fn why_unread(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |line: Option<usize>, kind: &str, path: &str, text: &str| {
            let line = line.map(|line| line.to_string()).unwrap_or_default();
            let (kind, path, text) = (kind.to_owned(), path.to_owned(), text.to_owned());
            vec![self.document.clone(), line, kind, path, text]
        };
        let mut rows = Vec::new();
        for (kind, findings) in self.kinds() {
            let each = findings
                .iter()
                .map(|Finding { path, line, reason }| row(*line, kind.word(), path, reason));
            rows.extend(each);
        }
        let accounts = self.accounts.iter();
        rows.extend(accounts.map(|account| row(None, "account", &account.at, &account.line())));
        let changes = self.changes.iter().flatten();
        rows.extend(changes.map(|change| row(None, "change", "", change)));
        rows.push(match &self.unreadable {
            Some(why) => row(None, "unreadable", "", why),
            None => row(None, if self.good { "good" } else { "not good" }, "", ""),
        });
        rows
    }

    /// The findings, the gravest first.
    fn kinds(&self) -> [(FindingKind, &[Finding]); 2] {
        [
            (FindingKind::Error, &self.problems),
            (FindingKind::Warning, &self.warnings),
        ]
    }

    fn lines(&self, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
        if self.unreadable.is_some() {
            return Ok(());
        }
        let name = printable(&self.document);
        for (kind, findings) in self.kinds() {
            for Finding { path, line, reason } in findings {
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                let colon = if path.is_empty() { "" } else { ": " };
                let text = printable(&format!("{path}{colon}{reason}"));
                writeln!(
                    out,
                    "{name}{line}: {}: {text}",
                    ink.mark(kind.mark(), kind.word())
                )?;
            }
        }
        for account in &self.accounts {
            writeln!(out, "{name}: {}", account.line())?;
        }
        for change in self.changes.iter().flatten() {
            writeln!(out, "{name}: change: {}", printable(change))?;
        }
        let number = |number: usize, what: &str| {
            let s = if number == 1 { "" } else { "s" };
            format!("{number} {what}{s}")
        };
        let found = match (self.problems.len(), self.warnings.len()) {
            (0, 0) => String::new(),
            (0, warnings) => number(warnings, "warning"),
            (problems, _) => number(problems, "problem"),
        };
        let (mark, word) = if self.good {
            (Highlight::Good, "good")
        } else {
            (Highlight::Bad, "not good")
        };
        let has = [
            self.groups.map(|n| number(n, "group")),
            self.keys.map(|n| number(n, "key")),
        ];
        let has = has
            .into_iter()
            .flatten()
            .chain((!found.is_empty()).then_some(found));
        let has = has.collect::<Vec<_>>().join(", ");
        writeln!(out, "{name}: {} ({has})", ink.mark(mark, word))
    }
}
