//! The plugin configuration: where a loader gets its document.

use core::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::config::origin::{is_path, is_plain};

/// The plugin configuration of a root, as text in the Envoy configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginDocument {
    source: Option<SourceDocument>,
    inline: Option<Box<RawValue>>,
    tick_ms: Option<u64>,
    limits_service: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceDocument {
    cluster: String,
    path: Option<String>,
    authority: Option<String>,
    max_bytes: Option<usize>,
}

/// The place that the document is loaded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentSource {
    /// Behind an Envoy cluster, fetched with GET at every tick.
    Http(HttpSource),
    /// In the plugin configuration itself: these bytes.
    Inline(Vec<u8>),
}

/// An HTTP source of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSource {
    /// The Envoy cluster to ask.
    pub cluster: String,
    /// The path to ask for.
    pub path: String,
    /// The authority to name; the cluster's name by default.
    pub authority: String,
    /// The longest document accepted, in bytes.
    pub max_bytes: usize,
}

/// A root's plugin configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginConfig {
    /// The source of the document; `None` for a filter that relies on a loader elsewhere in this Envoy.
    pub source: Option<DocumentSource>,
    /// The interval at which the source is polled.
    pub tick: Duration,
    /// Whether the rate limit filters follow this one, as Envoy's configuration
    /// declares: a filter cannot see those behind it.
    pub limits_service: bool,
}

/// The longest response that is read, in bytes. Envoy fails an HTTP call whose response passes 32 MiB, without a reason; one near that
/// is rejected with its length.
pub const MAX_BYTES: usize = 31_000_000;
const TICK_MS: u64 = 500;

impl PluginConfig {
    /// Reads a plugin configuration; nothing at all means `{}`.
    ///
    /// # Errors
    /// The problem with it, in one sentence.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let bytes = if bytes.is_empty() { b"{}" } else { bytes };
        let plugin: PluginDocument =
            serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let tick_ms = plugin.tick_ms.unwrap_or(TICK_MS);
        if !(50..=60_000).contains(&tick_ms) {
            return Err("tick_ms: must be between 50 and 60000".to_owned());
        }
        let source = match (plugin.source, plugin.inline) {
            (Some(_), Some(_)) => return Err("source and inline exclude each other".to_owned()),
            (Some(source), None) => Some(DocumentSource::Http(HttpSource::parse(source)?)),
            (None, Some(inline)) => Some(DocumentSource::Inline(inline.get().as_bytes().to_vec())),
            (None, None) => None,
        };
        Ok(Self {
            source,
            tick: Duration::from_millis(tick_ms),
            limits_service: plugin.limits_service.unwrap_or(false),
        })
    }
}

impl HttpSource {
    fn parse(source: SourceDocument) -> Result<Self, String> {
        let path = source.path.unwrap_or_else(|| "/gateway.json".to_owned());
        let authority = source.authority.unwrap_or_else(|| source.cluster.clone());
        let max_bytes = source.max_bytes.unwrap_or(MAX_BYTES);
        if !is_plain(&source.cluster) || !is_plain(&authority) {
            return Err("source.cluster: must name an Envoy cluster".to_owned());
        }
        if !is_path(&path) {
            return Err("source.path: must start with /".to_owned());
        }
        if max_bytes == 0 || max_bytes > MAX_BYTES {
            return Err(format!(
                "source.max_bytes: must be between 1 and {MAX_BYTES}"
            ));
        }
        Ok(Self {
            cluster: source.cluster,
            path,
            authority,
            max_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_service_is_declared() {
        let cases = [
            ("{}", false),
            (r#"{"limits_service": false}"#, false),
            (r#"{"limits_service": true}"#, true),
        ];
        for (text, want) in cases {
            let got = PluginConfig::parse(text.as_bytes()).map(|plugin| plugin.limits_service);
            assert_eq!(got, Ok(want), "{text}");
        }
        assert!(PluginConfig::parse(br#"{"limits_service": "yes"}"#).is_err());
    }

    #[test]
    fn plugin_configurations() {
        let http = |cluster: &str, path: &str| {
            Some(DocumentSource::Http(HttpSource {
                cluster: cluster.to_owned(),
                path: path.to_owned(),
                authority: cluster.to_owned(),
                max_bytes: MAX_BYTES,
            }))
        };
        let cases = [
            ("nothing", "", Ok((None, 500))),
            ("empty object", "{}", Ok((None, 500))),
            (
                "source",
                r#"{"source": {"cluster": "c", "path": "/g"}, "tick_ms": 300}"#,
                Ok((http("c", "/g"), 300)),
            ),
            (
                "default path",
                r#"{"source": {"cluster": "c"}}"#,
                Ok((http("c", "/gateway.json"), 500)),
            ),
            (
                "inline keeps its text",
                r#"{"inline": {"groups": [ ]}}"#,
                Ok((
                    Some(DocumentSource::Inline(br#"{"groups": [ ]}"#.to_vec())),
                    500,
                )),
            ),
            (
                "both",
                r#"{"source": {"cluster": "c"}, "inline": {}}"#,
                Err("exclude"),
            ),
            ("typo", r#"{"sauce": {}}"#, Err("unknown field `sauce`")),
            (
                "bad path",
                r#"{"source": {"cluster": "c", "path": "g"}}"#,
                Err("start with /"),
            ),
            (
                "no cluster",
                r#"{"source": {"cluster": ""}}"#,
                Err("must name"),
            ),
            (
                "no authority",
                r#"{"source": {"cluster": "c", "authority": ""}}"#,
                Err("must name"),
            ),
            ("tick too short", r#"{"tick_ms": 1}"#, Err("between 50")),
            (
                "too great",
                r#"{"source": {"cluster": "c", "max_bytes": 32000000}}"#,
                Err("max_bytes"),
            ),
            ("no JSON", "tick", Err("expected")),
        ];
        for (case, text, want) in cases {
            match (PluginConfig::parse(text.as_bytes()), want) {
                (Ok(got), Ok((source, tick))) => {
                    assert_eq!(got.source, source, "{case}");
                    assert_eq!(got.tick, Duration::from_millis(tick), "{case}");
                }
                (Err(got), Err(part)) => assert!(got.contains(part), "{case}: {got}"),
                (got, want) => panic!("{case}: {got:?}, want {want:?}"),
            }
        }
    }
}
