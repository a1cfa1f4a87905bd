//! Settings for Claude Code, as its sign-in at a gateway asks for them: which of them are inert, and the form in which a client reads them.
//!
//! Inert settings choose a model, switch telemetry to the gateway on or off, or take permissions away. They run no command, lead nowhere else
//! and permit nothing, and Claude Code asks nobody about them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use trilane::config::Problems;

/// The most bytes of settings.
pub const LONGEST: usize = 32 << 10;
/// The reason that a member needs its own approval.
const BEYOND: &str = text!(
    "is not inert: it may run a command, lead elsewhere or permit something on the machine of each person. It needs an approval of its own"
);
/// The reason that a member is never taken.
const SECRET: &str =
    text!("would hold a secret, and whoever reaches the gateway can read these settings");

/// The values that an inert member may have.
#[derive(Debug, Clone, Copy)]
enum Inert {
    Text,
    Texts,
    OneOf(&'static [&'static str]),
    Number,
}

use Inert::{Number, OneOf, Text, Texts};

/// The inert members. `console` would write telemetry onto the screen and `prometheus` open a port, so exporters have two values.
const INERT: &[(&str, Inert)] = &[
    ("model", Text),
    ("availableModels", Texts),
    ("permissions.deny", Texts),
    ("permissions.ask", Texts),
    (
        "permissions.disableBypassPermissionsMode",
        OneOf(&["disable"]),
    ),
    ("env.ANTHROPIC_MODEL", Text),
    ("env.ANTHROPIC_SMALL_FAST_MODEL", Text),
    ("env.ANTHROPIC_DEFAULT_OPUS_MODEL", Text),
    ("env.ANTHROPIC_DEFAULT_SONNET_MODEL", Text),
    ("env.ANTHROPIC_DEFAULT_HAIKU_MODEL", Text),
    ("env.CLAUDE_CODE_SUBAGENT_MODEL", Text),
    ("env.CLAUDE_CODE_MAX_OUTPUT_TOKENS", Number),
    ("env.MAX_THINKING_TOKENS", Number),
    ("env.CLAUDE_CODE_ENABLE_TELEMETRY", OneOf(&["0", "1"])),
    ("env.OTEL_METRICS_EXPORTER", OneOf(&["otlp", "none"])),
    ("env.OTEL_LOGS_EXPORTER", OneOf(&["otlp", "none"])),
    (
        "env.OTEL_EXPORTER_OTLP_PROTOCOL",
        OneOf(&["http/protobuf", "http/json"]),
    ),
    ("env.OTEL_METRIC_EXPORT_INTERVAL", Number),
    ("env.OTEL_LOGS_EXPORT_INTERVAL", Number),
    ("env.DISABLE_TELEMETRY", OneOf(&["0", "1"])),
    ("env.DISABLE_ERROR_REPORTING", OneOf(&["0", "1"])),
];

/// Members that are objects, whose members are looked at one by one.
const OBJECTS: [&str; 2] = ["env", "permissions"];

/// Endings of names of variables with secrets.
const SECRETS: [&str; 6] = [
    "_KEY",
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_HEADERS",
    "_CREDENTIALS",
];

impl Inert {
    /// Says what is wrong with a value.
    fn wrong(self, value: &Value) -> Option<String> {
        let is_short = |value: &Value| {
            let text = value.as_str();
            text.is_some_and(|text| !text.is_empty() && !text.contains(char::is_control))
        };
        match self {
            Self::Text => (!is_short(value)).then(|| text!("must be a text").to_owned()),
            Self::Texts => {
                let all = value.as_array();
                let good = all.is_some_and(|all| all.iter().all(is_short));
                (!good).then(|| text!("must be a list of texts").to_owned())
            }
            Self::OneOf(values) => {
                let good = value.as_str().is_some_and(|text| values.contains(&text));
                (!good).then(|| {
                    t!(
                        "must be \"{values}\" to be inert",
                        values = values.join("\" or \"")
                    )
                })
            }
            Self::Number => {
                let is_digits = |text: &str| {
                    (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
                };
                let good = value.as_str().is_some_and(is_digits);
                (!good).then(|| text!("must be a whole number in quotes").to_owned())
            }
        }
    }
}

/// The faults of settings.
#[derive(Debug, Default)]
pub struct SettingsFaults {
    /// Members that are not inert, each with the reason.
    pub beyond: Vec<(String, String)>,
    /// Members that nobody may set.
    pub refused: Problems,
}

impl SettingsFaults {
    /// The faults of these settings.
    pub fn of(settings: &Map<String, Value>) -> Self {
        let mut faults = Self::default();
        for (name, value) in settings {
            match value {
                Value::Object(members) if OBJECTS.contains(&name.as_str()) => {
                    for (member, value) in members {
                        faults.look(&format!("{name}.{member}"), value);
                    }
                }
                _ if OBJECTS.contains(&name.as_str()) => {
                    faults.refused.push(name, text!("must be an object"));
                }
                // It is no member of an object, however it is spelled.
                _ if name.contains('.') => faults.beyond.push((name.clone(), BEYOND.to_owned())),
                _ => faults.look(name, value),
            }
        }
        faults
    }

    fn look(&mut self, path: &str, value: &Value) {
        if let Some(variable) = path.strip_prefix("env.") {
            if !value.is_string() {
                return self.refused.push(path, text!("must be a text"));
            }
            if SECRETS.iter().any(|ending| variable.ends_with(ending)) {
                return self.refused.push(path, SECRET);
            }
        }
        if has_fraction(value) {
            // Clients would write it otherwise, and take their copy for another one.
            return self.refused.push(
                path,
                text!("must not have a number with a fraction, or above 9007199254740991"),
            );
        }
        let known = INERT.iter().find(|(known, _)| *known == path);
        let wrong = known.map_or_else(|| Some(BEYOND.to_owned()), |(_, inert)| inert.wrong(value));
        if let Some(reason) = wrong {
            self.beyond.push((path.to_owned(), reason));
        }
    }
}

fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_i64()
            .is_none_or(|number| number.unsigned_abs() > 9_007_199_254_740_991),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(members) => members.values().any(has_fraction),
        _ => false,
    }
}

/// Settings in the envelope in which Claude Code reads them. Without one of the three members, or with another checksum, it would not start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsEnvelope {
    uuid: String,
    checksum: String,
    settings: Map<String, Value>,
}

impl SettingsEnvelope {
    /// The envelope of these settings.
    pub fn new(settings: Map<String, Value>) -> Self {
        let checksum = checksum(&settings);
        Self {
            uuid: checksum.clone(),
            checksum,
            settings,
        }
    }

    /// Reads an envelope whose checksums are right.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let read: Self = serde_json::from_slice(bytes).ok()?;
        (Self::new(read.settings.clone()) == read).then_some(read)
    }

    /// The checksum. In quotes it is the `ETag`, by which clients ask again: they compute it from the settings that they have.
    pub fn checksum(&self) -> &str {
        &self.checksum
    }

    /// The envelope as JSON.
    pub fn to_json(&self) -> String {
        json!(self).to_string()
    }
}

/// The SHA-256 of settings as compact JSON with sorted keys, as clients compute it.
fn checksum(settings: &Map<String, Value>) -> String {
    // The members of a map of this crate are sorted.
    let text = json!(settings).to_string();
    format!("sha256:{}", hex::encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn what_is_inert() {
        for (settings, beyond, refused) in [
            (json!({}), "", ""),
            (
                json!({"model": "opus", "availableModels": ["opus", "haiku"],
                    "permissions": {"deny": ["WebFetch"], "ask": ["Bash"], "disableBypassPermissionsMode": "disable"},
                    "env": {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "60000"}}),
                "",
                "",
            ),
            (
                json!({"apiKeyHelper": "cat /etc/passwd"}),
                "apiKeyHelper",
                "",
            ),
            (json!({"hooks": {"PreToolUse": []}}), "hooks", ""),
            (
                json!({"permissions": {"allow": ["Bash"], "deny": "x"}}),
                "permissions.allow permissions.deny",
                "",
            ),
            (
                json!({"permissions": {"defaultMode": "bypassPermissions"}}),
                "permissions.defaultMode",
                "",
            ),
            (
                json!({"env": {"OTEL_METRICS_EXPORTER": "prometheus", "NODE_OPTIONS": "--require /tmp/x"}}),
                "env.NODE_OPTIONS env.OTEL_METRICS_EXPORTER",
                "",
            ),
            (
                json!({"env": {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://elsewhere.example"}}),
                "env.OTEL_EXPORTER_OTLP_ENDPOINT",
                "",
            ),
            (
                json!({"env": {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=x", "ANTHROPIC_AUTH_TOKEN": "x", "A": 1}}),
                "",
                "env.A env.ANTHROPIC_AUTH_TOKEN env.OTEL_EXPORTER_OTLP_HEADERS",
            ),
            (json!({"env": []}), "", "env"),
            (
                json!({"env": {"MAX_THINKING_TOKENS": "1e9"}}),
                "env.MAX_THINKING_TOKENS",
                "",
            ),
            (json!({"cleanupPeriodDays": 1.5}), "", "cleanupPeriodDays"),
            (json!({"model": "a\nb"}), "model", ""),
            // The name has a dot itself: it is not a member of `env`.
            (json!({"env.X": "1"}), "env.X", ""),
            (
                json!({"permissions.deny": ["Bash"]}),
                "permissions.deny",
                "",
            ),
        ] {
            let faults = SettingsFaults::of(&object(settings.clone()));
            let names: Vec<&str> = faults
                .beyond
                .iter()
                .map(|(name, _)| name.as_str())
                .collect();
            assert_eq!(names.join(" "), beyond, "{settings}");
            let names: Vec<&str> = faults
                .refused
                .0
                .iter()
                .map(|problem| problem.path.as_str())
                .collect();
            assert_eq!(names.join(" "), refused, "{settings}");
        }
    }

    #[test]
    fn the_checksum_is_that_of_sorted_compact_json() {
        let settings = object(json!({"model": "ö\u{2028}", "env": {"B": "2", "A": "\u{1f}/"}}));
        let envelope = SettingsEnvelope::new(settings);
        // By node: crypto.createHash('sha256').update('{"env":{"A":"\u001f/","B":"2"},"model":"ö\u2028"}')
        let text = "{\"env\":{\"A\":\"\\u001f/\",\"B\":\"2\"},\"model\":\"ö\u{2028}\"}";
        let want = hex::encode(Sha256::digest(text));
        assert_eq!(envelope.checksum(), format!("sha256:{want}"));
        let json = envelope.to_json();
        assert_eq!(SettingsEnvelope::parse(json.as_bytes()), Some(envelope));
        for (from, to) in [
            ("\"2\"", "\"3\""),
            ("uuid", "id"),
            ("},\"uuid\"", ",\"uuid\""),
            ("sha256:", "sha1:"),
        ] {
            let other = json.replacen(from, to, 1);
            assert_eq!(SettingsEnvelope::parse(other.as_bytes()), None, "{other}");
        }
    }
}
