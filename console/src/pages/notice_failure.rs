//! Reasons that a notice did not arrive, in the language of a page. They are kept in English, as they were told when it happened.

use std::borrow::Cow;

use crate::language::translated;

/// The reasons without a value of their own.
const PLAIN: [&str; 3] = [
    text!("its address is a private one (--allow-private-webhooks allows them)"),
    text!("its URL cannot be called"),
    text!("this console has no mail server (--smtp-url)"),
];

/// A kept reason in the language of the page; one that is not known, such as an answer of a mail server, stays as it is.
pub fn notice_failure(kept: &str) -> Cow<'_, str> {
    if PLAIN.contains(&kept) {
        return translated(kept);
    }
    if let Some(host) = between(kept, "the name ", " does not resolve") {
        return t!("the name {host} does not resolve", host = host).into();
    }
    if let Some(seconds) = between(kept, "the mail server has not taken it within ", " seconds") {
        return t!(
            "the mail server has not taken it within {seconds} seconds",
            seconds = seconds
        )
        .into();
    }
    if let Some(answer) = kept.strip_prefix("the mail server: ") {
        return t!("the mail server: {answer}", answer = answer).into();
    }
    if let Some(status) = kept.strip_prefix("it answers ") {
        return t!("it answers {status}", status = status).into();
    }
    kept.into()
}

/// The text between a beginning and an end.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.strip_prefix(start)?.strip_suffix(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use crate::outgoing::NoAddress;

    #[test]
    fn known_reasons_are_translated() {
        let chinese = Language::of("zh-CN").expect("a language");
        let host = "hooks.example.com".to_owned();
        let not_found = NoAddress::NotFound { host }.to_string();
        for (kept, is_known) in [
            (not_found.as_str(), true),
            ("it answers 500 Internal Server Error", true),
            ("its URL cannot be called", true),
            ("the mail server: permanent error (550)", true),
            ("the mail server has not taken it within 30 seconds", true),
            ("timeout: global", false),
        ] {
            assert_eq!(notice_failure(kept), kept, "in English");
            let translated = chinese.write(|| notice_failure(kept).into_owned());
            assert_eq!(translated != kept, is_known, "{kept}: {translated}");
        }
    }
}
