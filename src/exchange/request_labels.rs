//! Reads what a request says of itself out of its head.
//!
//! The ledger has these texts, so each is bounded, whatever a client sends.

use smol_str::{SmolStr, SmolStrBuilder};

use super::affinity::session;
use crate::config::labels::Label;
use crate::head::{Head, Occurrence};
use crate::ledger::RequestLabels;

/// The longest name of a client, in bytes.
const LONGEST_CLIENT: usize = 32;
/// The most digits of a part of a version.
const MOST_DIGITS: usize = 6;
/// The longest session, and the longest value of a label, in bytes.
const LONGEST: usize = 64;

/// Reads the client, the session and the labels that a request names; `None` for none of them.
pub(super) fn request_labels(head: &Head, labels: &[Label]) -> Option<Box<RequestLabels>> {
    let of_header = |label: &Label| match head.single(&label.header) {
        Occurrence::Once(value) => Some((label.name.clone(), value_of(value)?)),
        Occurrence::Absent | Occurrence::Repeated => None,
    };
    let found = RequestLabels {
        client: head.get("user-agent").and_then(client),
        session: session(head).and_then(plain_session),
        labels: labels.iter().filter_map(of_header).collect(),
    };
    (!found.is_empty()).then(|| Box::new(found))
}

/// The first product of a `user-agent` (RFC 9110, section 10.1.5), with the first two parts of its version. SDKs write
/// `OpenAI/Python 1.52.0`: what stands behind the `/` is a part of the name there.
fn client(agent: &[u8]) -> Option<SmolStr> {
    let mut words = agent.split(|byte| matches!(byte, b' ' | b'(' | b';' | b','));
    let product = words.next()?;
    let mut parts = product.splitn(2, |byte| *byte == b'/');
    let name = plain(parts.next()?)?;
    let rest = parts.next().unwrap_or_default();
    // Without `format!`, which costs more than all the rest of this.
    let mut written = SmolStrBuilder::new();
    written.push_str(name);
    let found = version(rest).or_else(|| {
        if let Some(more) = plain(rest) {
            written.push('-');
            written.push_str(more);
        }
        words.next().and_then(version)
    });
    if let Some(version) = found {
        written.push('/');
        written.push_str(version);
    }
    Some(written.finish())
}

/// The letters, digits, `.`, `_` and `-` that a text begins with, and no more than [`LONGEST_CLIENT`]; `None` for none.
fn plain(text: &[u8]) -> Option<&str> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let length = text.iter().take_while(|byte| is_plain(byte)).count();
    let plain = text.get(..length.min(LONGEST_CLIENT))?;
    let plain = core::str::from_utf8(plain).ok()?;
    (!plain.is_empty()).then_some(plain)
}

/// The first two parts of a version: `2.1` of `2.1.37-beta`; `None` where no digit stands first.
fn version(text: &[u8]) -> Option<&str> {
    let text = text.strip_prefix(b"v").unwrap_or(text);
    let digits = |text: &[u8]| {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
        digits.take(MOST_DIGITS).count()
    };
    let major = digits(text);
    if major == 0 {
        return None;
    }
    let minor = match text.get(major..) {
        Some([b'.', rest @ ..]) => digits(rest),
        _ => 0,
    };
    let length = if minor == 0 {
        major
    } else {
        major.saturating_add(1).saturating_add(minor)
    };
    core::str::from_utf8(text.get(..length)?).ok()
}

/// A session as agents write it. One that is longer, or has other signs, is left out.
fn plain_session(value: &[u8]) -> Option<SmolStr> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let is_session = value.len() <= LONGEST && value.iter().all(is_plain);
    let text = core::str::from_utf8(value).ok().filter(|_| is_session)?;
    Some(text.into())
}

/// The value of a label: its first [`LONGEST`] bytes, with `_` in place of what is no printable ASCII; `None` where it is blank.
fn value_of(value: &[u8]) -> Option<SmolStr> {
    let value = value.trim_ascii();
    let printable = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte),
        _ => '_',
    };
    (!value.is_empty()).then(|| value.iter().take(LONGEST).map(printable).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(pairs: &[(&str, &[u8])]) -> RequestLabels {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.to_vec()));
        let labels = [("project", "x-project"), ("task", "x-task")];
        let labels = labels.map(|(name, header)| Label {
            name: name.into(),
            header: header.into(),
        });
        let found = request_labels(&Head::new(pairs.collect()), &labels);
        found.map(|found| *found).unwrap_or_default()
    }

    #[test]
    fn clients() {
        let long = "a".repeat(99);
        for (agent, want) in [
            ("claude-cli/2.1.37 (external, cli)", Some("claude-cli/2.1")),
            (
                "codex_cli_rs/0.50.0 (Debian 13; x86_64) xterm",
                Some("codex_cli_rs/0.50"),
            ),
            (
                "GeminiCLI/0.8.2/gemini-2.5-pro (linux; x64)",
                Some("GeminiCLI/0.8"),
            ),
            ("OpenAI/Python 1.52.0", Some("OpenAI-Python/1.52")),
            (
                "AsyncAnthropic/Python 0.40.0",
                Some("AsyncAnthropic-Python/0.40"),
            ),
            ("curl/8", Some("curl/8")),
            ("tool/v3.4.5", Some("tool/3.4")),
            ("tool/2.x", Some("tool/2")),
            ("tool", Some("tool")),
            ("tool (7)", Some("tool")),
            ("tool 1.2", Some("tool/1.2")),
            ("tool/12345678.9", Some("tool/123456")),
            ("töol/1", Some("t/1")),
            (&long, Some(&long[..LONGEST_CLIENT])),
            ("", None),
            (" tool", None),
            ("/1.2", None),
            ("\u{1F916}", None),
        ] {
            assert_eq!(
                of(&[("user-agent", agent.as_bytes())]).client.as_deref(),
                want,
                "{agent}"
            );
        }
    }

    #[test]
    fn sessions_and_labels() {
        let long = [b'x'; 65];
        for (case, headers, session, labels) in [
            ("nothing", &[][..], None, &[][..]),
            (
                "a session",
                &[("session-id", &b"0199-ab:c"[..])],
                Some("0199-ab:c"),
                &[],
            ),
            ("one that is too long", &[("session-id", &long)], None, &[]),
            ("one with other signs", &[("session-id", b"a b")], None, &[]),
            (
                "a label",
                &[("x-project", b" apollo ")],
                None,
                &[("project", "apollo")],
            ),
            (
                "two",
                &[("x-task", b"t"), ("x-project", b"p")],
                None,
                &[("project", "p"), ("task", "t")],
            ),
            (
                "one that came twice",
                &[("x-task", b"t"), ("x-task", b"t")],
                None,
                &[],
            ),
            ("a blank one", &[("x-task", b"  ")], None, &[]),
            (
                "no ASCII",
                &[("x-task", b"\xff\"\\")],
                None,
                &[("task", "_\"\\")],
            ),
            ("another header", &[("x-other", b"t")], None, &[]),
        ] {
            let found = of(headers);
            assert_eq!(found.session.as_deref(), session, "{case}");
            let of_case: Vec<_> = found
                .labels
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            assert_eq!(of_case, labels, "{case}");
        }
        let cut = of(&[("x-task", &long)]);
        assert_eq!(cut.labels[0].1.len(), LONGEST);
    }

    proptest! {
        #[test]
        fn bounded_whatever_is_sent(agent in prop::collection::vec(any::<u8>(), 0..200), value in prop::collection::vec(any::<u8>(), 0..200)) {
            let found = of(&[("user-agent", &agent), ("x-task", &value), ("session-id", &value)]);
            let texts = found.labels.iter().map(|(_, value)| value).chain(&found.client).chain(&found.session);
            for text in texts {
                prop_assert!(text.len() <= 2 * LONGEST_CLIENT + 16 && text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text}");
            }
        }
    }
}
