//! The query parameters that protocols take: an allow-list for each.
//!
//! Protocols A and B have next to none. Some gateways of models take a `model` there, and others their orders, so what is not
//! known does not go on, and the response says so. In protocol C it is refused:
//!
//! Google's APIs take system parameters on every path, under several names each: they choose which members of the answer
//! come (`fields`, `$fields`), in which form (`alt=proto`, `$alt`, `callback`, `$outputDefaults`), how the body is read
//! (`$ct`, `$httpHeaders`), who asks and who pays (`$key`, `access_token`, `oauth_token`, `quotaUser`, `userProject`).
//! An answer without its usage could not be charged, so only what clients are known to send goes on.
//!
//! Names and values are compared as they were sent: whoever percent-encodes `alt` means to deceive somebody.

use super::query::{KEY, RequestTarget, decoded_name, split};

/// The parameters of protocols A and B: betas of SDKs, and the version of Azure's API.
const KNOWN: [&[u8]; 2] = [b"beta", b"api-version"];

/// Longest name that an error repeats, in bytes.
const MAX_SHOWN: usize = 32;
/// The maximum number of names in a sentence.
const MOST_NAMES: usize = 8;

/// A parameter that a path does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterError {
    /// The name is none that is taken here; `None` where it cannot be repeated in an error.
    Name(Option<String>),
    /// The parameter is taken, not its value; or it is there twice.
    Value(&'static str),
}

/// The rule for a parameter's value.
#[derive(Debug, Clone, Copy)]
enum ValueRule {
    /// One of these.
    OneOf(&'static [&'static [u8]]),
    /// Decimal digits.
    Digits,
    /// Any text that has no second meaning in a query.
    Text,
    /// Anything: it does not go on.
    Stripped,
}

/// Whether protocols A and B know a parameter, as it was sent.
fn is_known(name: &[u8], value: &[u8]) -> bool {
    KNOWN.contains(&name) && ValueRule::Text.has(value)
}

/// The parameters that go upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassingParameters {
    /// All but the key: the others are known, or the request is rejected (protocol C).
    AllButKey,
    /// Parameters that protocols A and B know.
    Known,
}

impl PassingParameters {
    fn takes(self, parameter: &[u8]) -> bool {
        match self {
            Self::AllButKey => *decoded_name(parameter) != *KEY.as_bytes(),
            Self::Known => {
                let (name, value) = split(parameter);
                // A query may be empty, or have an empty place.
                parameter.is_empty() || is_known(name, value)
            }
        }
    }
}

impl<'a> RequestTarget<'a> {
    /// The parameters that do not go upstream, as they were sent.
    pub fn left_out(&self, passing: PassingParameters) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.parameters()
            .filter(move |parameter| !passing.takes(parameter))
    }

    /// The target to forward: `path` for the path, and of the query what passes, as it is.
    pub fn rewritten(&self, path: &[u8], passing: PassingParameters) -> Vec<u8> {
        let mut target = path.to_vec();
        let mut separator = b'?';
        let mut first_kept = true;
        if self.query.is_some() {
            for parameter in self.parameters() {
                if !passing.takes(parameter) {
                    continue;
                }
                target.push(separator);
                target.extend_from_slice(parameter);
                separator = b'&';
                first_kept = false;
            }
            // A query that was empty stays so; one that lost all its parameters goes.
            if first_kept && self.query == Some(b"") {
                target.push(b'?');
            }
        }
        target
    }
}

/// The sentence that names the parameters of a request of protocol A or B that do not go on; `None` where all do. No value is in
/// it, and no name that could be one.
pub fn left_out(target: &RequestTarget<'_>) -> Option<String> {
    target.query?;
    let mut names: Vec<String> = Vec::new();
    let mut others = 0usize;
    for parameter in target.left_out(PassingParameters::Known) {
        // What has no value may be one itself.
        let name = parameter.iter().position(|byte| *byte == b'=');
        let name = name.and_then(|end| shown(parameter.get(..end)?));
        match name {
            Some(name) if names.contains(&name) => {}
            Some(name) if names.len() < MOST_NAMES => names.push(name),
            _ => others = others.saturating_add(1),
        }
    }
    let others = match (others, names.is_empty()) {
        (0, true) => return None,
        (0, false) => String::new(),
        (1, true) => "one without a plain name".to_owned(),
        (count, true) => format!("{count} without plain names"),
        (count, false) => format!(", and {count} more"),
    };
    let names = names.join(", ");
    Some(format!(
        "Query parameters that are not known here did not go on: {names}{others}."
    ))
}

/// Checks the parameters of a call to a model.
///
/// `alt=json` streams as a JSON array; the meter reads it and events alike, whatever the method is.
///
/// # Errors
/// The first parameter that is unfit.
pub fn of_call(target: &RequestTarget<'_>) -> Result<(), ParameterError> {
    check(target, |name| match name {
        b"alt" => Some(("alt", ValueRule::OneOf(&[b"sse", b"json"]))),
        b"key" => Some(("key", ValueRule::Stripped)),
        _ => None,
    })
}

/// Checks the parameters of a request for state of the upstream account. `alt=media` is the bytes of a file, at the method
/// that is there for it.
///
/// # Errors
/// The first parameter that is unfit.
pub fn of_resource(target: &RequestTarget<'_>) -> Result<(), ParameterError> {
    let is_download = target.path.ends_with(b":download");
    check(target, |name| {
        Some(match name {
            b"alt" if is_download => ("alt", ValueRule::OneOf(&[b"media", b"json"])),
            b"alt" => ("alt", ValueRule::OneOf(&[b"json"])),
            b"key" => ("key", ValueRule::Stripped),
            b"pageSize" => ("pageSize", ValueRule::Digits),
            b"pageToken" => ("pageToken", ValueRule::Text),
            b"updateMask" => ("updateMask", ValueRule::Text),
            b"force" => (
                "force",
                ValueRule::OneOf(&[b"true", b"false", b"True", b"False"]),
            ),
            b"uploadType" => ("uploadType", ValueRule::Text),
            b"upload_protocol" => ("upload_protocol", ValueRule::Text),
            b"upload_id" => ("upload_id", ValueRule::Text),
            _ => return None,
        })
    })
}

fn check(
    target: &RequestTarget<'_>,
    known: impl Fn(&[u8]) -> Option<(&'static str, ValueRule)>,
) -> Result<(), ParameterError> {
    if target.query == Some(b"") {
        return Ok(());
    }
    let mut seen: Vec<&'static str> = Vec::new();
    for (name, value) in target.pairs() {
        let Some((known, rule)) = known(name) else {
            return Err(ParameterError::Name(shown(name)));
        };
        if matches!(rule, ValueRule::Stripped) {
            continue;
        }
        if seen.contains(&known) || !rule.has(value) {
            return Err(ParameterError::Value(known));
        }
        seen.push(known);
    }
    Ok(())
}

impl ValueRule {
    fn has(self, value: &[u8]) -> bool {
        match self {
            Self::OneOf(values) => values.contains(&value),
            Self::Digits => !value.is_empty() && value.iter().all(u8::is_ascii_digit),
            // Some servers take `;` for `&`.
            Self::Text => !value.contains(&b';'),
            Self::Stripped => true,
        }
    }
}

/// A name that an error may repeat: plain and short. A parameter without `=` may be a credential, but its name is the
/// client's own word for it, and only the client reads the answer.
fn shown(name: &[u8]) -> Option<String> {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"$._-".contains(b);
    let fit = !name.is_empty() && name.len() <= MAX_SHOWN && name.iter().all(plain);
    let text = core::str::from_utf8(name).ok().filter(|_| fit)?;
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Result<(), ParameterError> {
        Err(ParameterError::Name(Some(text.to_owned())))
    }

    const HIDDEN: Result<(), ParameterError> = Err(ParameterError::Name(None));
    const ALT: Result<(), ParameterError> = Err(ParameterError::Value("alt"));

    #[test]
    fn what_passes_and_how() {
        // (case, target, where all but the key passes, where what is known passes)
        let cases = [
            ("no query", "/p", "/q", "/q"),
            (
                "other parameters",
                "/p?alt=sse&x=%2f+&y",
                "/q?alt=sse&x=%2f+&y",
                "/q",
            ),
            ("first", "/p?key=s&alt=sse", "/q?alt=sse", "/q"),
            ("last", "/p?alt=sse&key=s", "/q?alt=sse", "/q"),
            ("only", "/p?key=s", "/q", "/q"),
            ("several", "/p?key=a&b=1&key=c", "/q?b=1", "/q"),
            ("encoded name", "/p?%6bey=s&b=1", "/q?b=1", "/q"),
            ("no value", "/p?key&b=1", "/q?b=1", "/q"),
            ("known", "/p?beta=true", "/q?beta=true", "/q?beta=true"),
            (
                "known, as they were sent",
                "/p?api-version=2%2D1&beta&model=m&beta=",
                "/q?api-version=2%2D1&beta&model=m&beta=",
                "/q?api-version=2%2D1&beta&beta=",
            ),
            ("known, encoded", "/p?%62eta=true", "/q?%62eta=true", "/q"),
            ("known, in another case", "/p?Beta=1", "/q?Beta=1", "/q"),
            (
                "another parameter behind a semicolon",
                "/p?beta=true;model=m",
                "/q?beta=true;model=m",
                "/q",
            ),
            ("empty query", "/p?", "/q?", "/q?"),
            ("empty parameters", "/p?&&a", "/q?&&a", "/q?&"),
        ];
        for (case, target, all, known) in cases {
            for (passing, want) in [
                (PassingParameters::AllButKey, all),
                (PassingParameters::Known, known),
            ] {
                let target = RequestTarget::parse(target.as_bytes());
                let got = target.rewritten(b"/q", passing);
                assert_eq!(String::from_utf8(got).unwrap(), want, "{case}, {passing:?}");
            }
        }
    }

    #[test]
    fn parameters_of_calls() {
        let cases = [
            ("", Ok(())),
            ("?", Ok(())),
            ("?alt=sse", Ok(())),
            ("?alt=json", Ok(())),
            ("?key=s", Ok(())),
            ("?key=s&alt=sse&key=s", Ok(())),
            ("?alt=proto", ALT),
            ("?alt=media", ALT),
            ("?alt=SSE", ALT),
            ("?alt=", ALT),
            ("?alt", ALT),
            ("?alt=s%73e", ALT),
            ("?alt=sse;fields=x", ALT),
            ("?alt=sse&alt=sse", ALT),
            ("?alt=json&alt=proto", ALT),
            ("?alt=sse&", HIDDEN),
            ("?&alt=sse", HIDDEN),
            ("?=x", HIDDEN),
            ("?%61lt=sse", HIDDEN),
            ("?%6bey=s", HIDDEN),
            ("?%24fields=x", HIDDEN),
            ("?a b=1", HIDDEN),
            ("?alt[]=sse", HIDDEN),
            ("?alt;fields=x", HIDDEN),
            ("?ALT=sse", name("ALT")),
            ("?Key=s", name("Key")),
            ("?sk-0123456789abcdef0123456789abcdef", HIDDEN),
        ];
        for (query, want) in cases {
            let target = format!("/v1beta/models/m:generateContent{query}");
            assert_eq!(
                of_call(&RequestTarget::parse(target.as_bytes())),
                want,
                "{query}"
            );
        }
    }

    #[test]
    fn what_is_left_out_is_named() {
        let nine: String = (0..9).map(|n| format!("&p{n}=1")).collect();
        let long = "x".repeat(33);
        let cases = [
            ("/p", None),
            ("/p?", None),
            ("/p?&", None),
            ("/p?beta=true&api-version=1", None),
            ("/p?model=s3cret", Some("model.")),
            ("/p?beta=true&model=a&x.y=b&model=c", Some("model, x.y.")),
            ("/p?beta=true;model=s3cret", Some("beta.")),
            ("/p?s3cret", Some("one without a plain name.")),
            ("/p?s3cret&%6dodel=x", Some("2 without plain names.")),
            ("/p?model=1&s3cret", Some("model, and 1 more.")),
            (
                &format!("/p?{long}=1&a<b=1"),
                Some("2 without plain names."),
            ),
            (
                &format!("/p?{nine}"),
                Some("p0, p1, p2, p3, p4, p5, p6, p7, and 1 more."),
            ),
        ];
        for (target, want) in cases {
            let got = left_out(&RequestTarget::parse(target.as_bytes()));
            let want = want.map(|names| {
                format!("Query parameters that are not known here did not go on: {names}")
            });
            assert_eq!(got, want, "{target}");
        }
    }

    /// Google's system parameters and those of its older clients.
    #[test]
    fn system_parameters_are_not_taken() {
        let names = [
            "$alt",
            "$apiVersion",
            "$.xgafv",
            "$callback",
            "callback",
            "$ct",
            "$fields",
            "fields",
            "$httpHeaders",
            "$httpMethod",
            "$key",
            "$outputDefaults",
            "$outputIntEnums",
            "$prettyPrint",
            "prettyPrint",
            "$quotaUser",
            "quotaUser",
            "$req",
            "$userProject",
            "userProject",
            "$unique",
            "$userIp",
            "userIp",
            "access_token",
            "bearer_token",
            "oauth_token",
            "upload_protocol",
            "uploadType",
            "passwd",
            "password",
            "pp",
            "trace",
            "pageSize",
            "pageToken",
            "model",
            "x",
        ];
        for parameter in names {
            for value in ["=x", "=", ""] {
                let target = format!("/v1beta/models/m:generateContent?alt=sse&{parameter}{value}");
                let got = of_call(&RequestTarget::parse(target.as_bytes()));
                assert_eq!(got, name(parameter), "{parameter}{value}");
            }
        }
    }

    #[test]
    fn parameters_of_resources() {
        let cases = [
            ("files", "", Ok(())),
            ("files", "?pageSize=2&pageToken=a%2Bb=&key=s", Ok(())),
            (
                "files",
                "?uploadType=multipart&upload_protocol=raw&upload_id=x",
                Ok(()),
            ),
            ("files/x", "?alt=json&updateMask=ttl,expireTime", Ok(())),
            ("fileSearchStores/x", "?force=True", Ok(())),
            ("files/x:download", "?alt=media", Ok(())),
            ("files/x", "?alt=media", ALT),
            ("files", "?alt=sse", ALT),
            (
                "files",
                "?pageSize=-1",
                Err(ParameterError::Value("pageSize")),
            ),
            (
                "files",
                "?pageSize=",
                Err(ParameterError::Value("pageSize")),
            ),
            (
                "files",
                "?pageSize=1&pageSize=1",
                Err(ParameterError::Value("pageSize")),
            ),
            (
                "files",
                "?pageToken=a;fields=x",
                Err(ParameterError::Value("pageToken")),
            ),
            ("files", "?force=1", Err(ParameterError::Value("force"))),
            ("files", "?fields=name", name("fields")),
            ("files", "?%24fields=name", HIDDEN),
            ("files", "?access_token=s", name("access_token")),
        ];
        for (path, query, want) in cases {
            let target = format!("/v1beta/{path}{query}");
            let got = of_resource(&RequestTarget::parse(target.as_bytes()));
            assert_eq!(got, want, "{path}{query}");
        }
    }
}
