//! Checks of the cap on the output in any JSON body that is accepted, against a plain reading of
//! the body with `serde_json`.

use super::usage_option::{end, members};
use super::{Form, Verdict, scan};

/// A cap that a body sets: its number, and the offset of the number's end.
type Cap = (u64, usize);

/// Checks what the scanner says of the cap, when it says so, and that a cap more does nothing else.
pub fn check(body: &[u8], verdict: &Verdict) {
    let text = core::str::from_utf8(body).expect("accepted");
    let caps = expected(text);
    assert_eq!(verdict.cap, greatest(&caps), "{}", body.escape_ascii());
    relayed(body, &caps);
    added(text, verdict);
}

fn greatest(caps: &[Cap]) -> Option<u64> {
    caps.iter().map(|(cap, _)| *cap).max()
}

/// All caps of a body in their order, duplicates as well.
fn expected(text: &str) -> Vec<Cap> {
    let end_of = |value: &str| value.as_ptr() as usize + value.len() - text.as_ptr() as usize;
    let mut caps = Vec::new();
    let mut note = |value: &str| {
        if let Some(cap) = integer(value) {
            caps.push((cap, end_of(value)));
        }
    };
    for (key, value) in members(text) {
        match key.as_slice() {
            b"max_tokens" | b"max_completion_tokens" | b"max_output_tokens" => note(value),
            b"generationConfig" | b"generation_config" if value.starts_with('{') => {
                members(value)
                    .iter()
                    .filter(|(key, _)| {
                        [&b"maxOutputTokens"[..], b"max_output_tokens"].contains(&&key[..])
                    })
                    .for_each(|(_, value)| note(value));
            }
            _ => {}
        }
    }
    caps
}

/// The value as `serde_json` reads an integer, or the greatest where it has none that large.
fn integer(value: &str) -> Option<u64> {
    let large = || value.bytes().all(|byte| byte.is_ascii_digit());
    serde_json::from_str(value)
        .ok()
        .or_else(|| large().then_some(u64::MAX))
}

/// A caller that looks after every byte never sees a number that has not ended.
fn relayed(body: &[u8], caps: &[Cap]) {
    let mut scanner = Form::Json.scanner();
    let mut caps = caps.iter().peekable();
    let mut want = None;
    for (index, byte) in body.iter().enumerate() {
        scanner.feed(&[*byte]).expect("accepted");
        while let Some((cap, _)) = caps.next_if(|(_, end)| *end <= index) {
            want = want.max(Some(*cap));
        }
        assert_eq!(scanner.output_cap(), want, "after byte {index}");
    }
}

/// A member that sets a cap, whatever there was before, or that only looks like one, is never refused, and
/// changes the cap alone.
fn added(text: &str, verdict: &Verdict) {
    let (before, after) = text.split_at(end(text));
    let comma = if members(text).is_empty() { "" } else { "," };
    for (member, cap) in [
        (r#""max_tokens":17"#, Some(17)),
        (r#""max_\u0063ompletion_tokens":17 "#, Some(17)),
        (r#""max_output_tokens":null"#, None),
        (r#""MAX_TOKENS":99999,"max_tokens":0.5"#, None),
        (
            r#""generationConfig":{"stream":1,"Stream":2,"maxOutputTokens":17}"#,
            Some(17),
        ),
    ] {
        let body = [before, comma, member, after].concat();
        let other = scan(Form::Json, [body.as_bytes()]);
        let context = || body.escape_debug().to_string();
        assert_eq!(other.result, Ok(()), "{}", context());
        assert_eq!(other.cap, verdict.cap.max(cap), "{}", context());
        assert_eq!(other.model, verdict.model, "{}", context());
        assert_eq!(other.stream, verdict.stream, "{}", context());
        assert_eq!(other.usage, verdict.usage, "{}", context());
    }
}
