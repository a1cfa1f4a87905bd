//! The report of an agent on its Envoy.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of an Envoy, as its agent reports it with each poll.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvoyReport {
    /// The release of the agent.
    #[schema(max_length = 64)]
    pub version: String,
    /// The digest of the document that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub document: Option<String>,
    /// The digest of the document that Envoy says it has in force. Empty: it has none, or one that the agent does not
    /// know, or does not answer. Absent: the agent cannot ask it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub in_force: Option<String>,
    /// The version of the feed of keys up to which it has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<u64>,
    /// The version of the feed of keys up to which its Envoy has read them from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_read: Option<u64>,
    /// The time of the agent's clock, which is that of its Envoy, when it sent this report, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub clock: Option<String>,
    /// The end of the certificate with which its Envoy ends TLS, as RFC 3339. Absent: it ends none, or the agent does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub certificate_ends_at: Option<String>,
    /// Bytes of the ledger that it has not sent yet.
    #[serde(default)]
    pub ledger_waiting: u64,
    /// The operations that fail at the moment, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10)]
    pub troubles: Vec<String>,
}

impl EnvoyReport {
    /// Whether it keeps to the bounds of its schema.
    pub(crate) fn is_within_bounds(&self) -> bool {
        let document = self.document.as_deref().unwrap_or_default();
        let in_force = self.in_force.as_deref().unwrap_or_default();
        let clock = self.clock.as_deref().unwrap_or_default();
        let certificate = self.certificate_ends_at.as_deref().unwrap_or_default();
        let texts = [
            self.version.as_str(),
            document,
            in_force,
            clock,
            certificate,
        ];
        let numbers = [
            self.keys.unwrap_or_default(),
            self.keys_read.unwrap_or_default(),
            self.ledger_waiting,
        ];
        texts.iter().all(|text| text.chars().count() <= 64)
            && numbers.iter().all(|number| i64::try_from(*number).is_ok())
            && self.troubles.len() <= 10
    }
}
