//! Responses of the document's source, and the check whether a document is valid.

use sha2::{Digest, Sha256};

use super::LoaderHost;
use crate::config::{Compiled, Document, Problems, compile as compile_document};
use crate::host::FetchResponse;
use crate::metrics::{ConfigStats, LoadFailure};

/// The SHA-256 of a document's text.
pub(super) type DocumentDigest = [u8; 32];

/// The maximum number of problems of an invalid document that one log line names.
const MAX_LOGGED: usize = 20;

/// The result of a poll.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PollOutcome {
    /// The source serves the document that was seen last.
    Unchanged,
    /// It serves another one.
    Changed {
        bytes: Vec<u8>,
        digest: DocumentDigest,
        etag: Option<String>,
    },
    /// It serves none that can be used, for this reason.
    Failed(LoadFailure, String),
}

impl PollOutcome {
    /// Reads a response, `None` for a call that failed, where `seen` was seen last.
    pub(super) fn read(
        response: Option<&impl FetchResponse>,
        seen: Option<&DocumentDigest>,
        max_bytes: usize,
    ) -> Self {
        let Some(response) = response else {
            let why = "no answer, or one longer than Envoy takes";
            return Self::Failed(LoadFailure::Unreachable, why.to_owned());
        };
        let status = response.header(":status").unwrap_or_default();
        let size = response.body_size();
        match status.as_str() {
            "304" if seen.is_some() => Self::Unchanged,
            "200" if size > max_bytes => {
                let why = format!("it has {size} bytes, {max_bytes} are allowed");
                Self::Failed(LoadFailure::Oversize, why)
            }
            "200" => {
                let bytes = response.body();
                let digest = Sha256::digest(&bytes).into();
                if seen == Some(&digest) {
                    return Self::Unchanged;
                }
                Self::Changed {
                    bytes,
                    digest,
                    etag: response.header("etag"),
                }
            }
            _ => Self::Failed(LoadFailure::Unreachable, format!("status {status}")),
        }
    }
}

/// A valid document, as written and as compiled.
#[derive(Debug)]
pub(super) struct ValidDocument {
    pub(super) document: Document,
    pub(super) compiled: Compiled,
}

impl ValidDocument {
    /// Lists the warnings for the document's author.
    pub(super) fn warnings(&self) -> impl Iterator<Item = impl core::fmt::Display> {
        self.compiled.warnings.iter()
    }
}

/// Compiles a document; `None` where it is invalid, and the log says why.
pub(super) fn compile(
    bytes: &[u8],
    stats: &ConfigStats,
    host: &impl LoaderHost,
) -> Option<ValidDocument> {
    let compiled = Document::parse(bytes).and_then(|document| {
        let compiled = compile_document(&document)?;
        Ok(ValidDocument { document, compiled })
    });
    let problems = match compiled {
        Ok(valid) => return Some(valid),
        Err(problems) => listed(&problems),
    };
    stats.rejected(LoadFailure::Invalid, host);
    let line = format_args!(
        "the configuration document is refused, what was in force stays: {problems} (`trilane check` lists every problem)"
    );
    host.log(log::Level::Error, line);
    None
}

fn listed(problems: &Problems) -> String {
    let first = problems.0.iter().take(MAX_LOGGED);
    let mut first: Vec<String> = first.map(ToString::to_string).collect();
    let more = problems.0.len().saturating_sub(first.len());
    if more > 0 {
        first.push(format!("and {more} more"));
    }
    first.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::FakeResponse;

    #[test]
    fn the_first_problems_are_named() {
        let cases = [
            (1, None),
            (MAX_LOGGED, None),
            (MAX_LOGGED + 1, Some("and 1 more")),
            (MAX_LOGGED + 5, Some("and 5 more")),
        ];
        for (count, more) in cases {
            let mut problems = Problems::default();
            for number in 1..=count {
                problems.push("keys", format!("problem {number}"));
            }
            let line = listed(&problems);
            let parts: Vec<&str> = line.split("; ").collect();
            let named = count.min(MAX_LOGGED);
            assert_eq!(parts[0], "keys: problem 1", "{count}");
            assert_eq!(
                parts[named - 1],
                format!("keys: problem {named}"),
                "{count}"
            );
            assert_eq!(parts.get(named).copied(), more, "{count}");
        }
    }

    #[test]
    fn what_a_response_says() {
        let digest = |text: &str| DocumentDigest::from(Sha256::digest(text));
        let seen = digest("seen");
        let changed = |etag: Option<&str>| PollOutcome::Changed {
            bytes: b"other".to_vec(),
            digest: digest("other"),
            etag: etag.map(str::to_owned),
        };
        let unreachable = |why: &str| PollOutcome::Failed(LoadFailure::Unreachable, why.to_owned());
        let long = PollOutcome::Failed(
            LoadFailure::Oversize,
            "it has 11 bytes, 10 are allowed".to_owned(),
        );
        let none = "no answer, or one longer than Envoy takes";
        // (case, the response, whether a document was seen, what it says)
        let cases = [
            ("none", None, true, unreachable(none)),
            (
                "the same",
                Some(FakeResponse::ok("seen")),
                true,
                PollOutcome::Unchanged,
            ),
            (
                "another",
                Some(FakeResponse::ok("other")),
                true,
                changed(None),
            ),
            (
                "with an etag",
                Some(FakeResponse::ok("other").with("etag", "\"1\"")),
                false,
                changed(Some("\"1\"")),
            ),
            (
                "as long as allowed",
                Some(FakeResponse::ok("0123456789")),
                true,
                PollOutcome::Changed {
                    bytes: b"0123456789".to_vec(),
                    digest: digest("0123456789"),
                    etag: None,
                },
            ),
            (
                "too long",
                Some(FakeResponse::ok("0123456789a")),
                true,
                long,
            ),
            (
                "304",
                Some(FakeResponse::status("304", "")),
                true,
                PollOutcome::Unchanged,
            ),
            (
                "304 to an unconditional request",
                Some(FakeResponse::status("304", "")),
                false,
                unreachable("status 304"),
            ),
            (
                "404",
                Some(FakeResponse::status("404", "other")),
                true,
                unreachable("status 404"),
            ),
        ];
        for (case, response, has_seen, want) in cases {
            let seen = has_seen.then_some(&seen);
            assert_eq!(
                PollOutcome::read(response.as_ref(), seen, 10),
                want,
                "{case}"
            );
        }
    }
}
