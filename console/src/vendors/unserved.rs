//! Models of vendors' lists that no endpoint of the gateway serves.

use trilane::protocol::Protocol;

use super::listed::ListedModel;

/// Words in the names of OpenAI's models (its page "Models"), and what such a model is for. Lists of protocol A do not say it
/// otherwise.
const KINDS: [(&str, &str); 8] = [
    (
        "whisper",
        text!("for transcription, which the gateway does not serve"),
    ),
    (
        "transcribe",
        text!("for transcription, which the gateway does not serve"),
    ),
    ("tts", text!("for speech, which the gateway does not serve")),
    (
        "moderation",
        text!("for moderation, which the gateway does not serve"),
    ),
    (
        "realtime",
        text!("for live sessions, which the gateway does not serve"),
    ),
    ("sora", text!("for video, which the gateway does not serve")),
    (
        "babbage",
        text!("for plain completions, which the gateway does not serve"),
    ),
    (
        "davinci",
        text!("for plain completions, which the gateway does not serve"),
    ),
];

/// Returns the reason that the gateway cannot serve a listed model; `None` if nothing speaks against it.
pub(super) fn reason(protocol: Protocol, listed: &ListedModel) -> Option<&'static str> {
    if listed.writes_nothing {
        return Some(text!("writes no responses, as the vendor's list says"));
    }
    if protocol != Protocol::A {
        return None;
    }
    let words = listed.id.split(|c: char| !c.is_ascii_alphanumeric());
    let found = KINDS.iter().find(|(word, _)| {
        let mut words = words.clone();
        words.any(|own| own.eq_ignore_ascii_case(word))
    });
    found.map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, served) in [
            ("gpt-6-luna", true),
            ("gpt-image-2", true),
            ("sorano-1", true),
            ("text-embedding-3-small", true),
            ("gpt-6-mini-transcribe", false),
            ("tts-1-hd", false),
            ("omni-moderation-latest", false),
            ("gpt-realtime-2", false),
            ("sora-2", false),
        ] {
            let listed = ListedModel::named(name);
            assert_eq!(reason(Protocol::A, &listed).is_none(), served, "{name}");
            assert_eq!(
                reason(Protocol::B, &listed),
                None,
                "{name}, of another protocol"
            );
        }
        let listed = ListedModel {
            writes_nothing: true,
            ..ListedModel::named("m")
        };
        assert!(reason(Protocol::C, &listed).is_some());
    }
}
