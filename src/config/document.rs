//! The configuration document as written: a mirror of its JSON, without meaning.
//!
//! Every field is optional here, so that reading finds only wrong types and unknown fields, and compiling can name
//! everything that is missing or does not fit together in one go.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The whole document.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Whether protocol C may send its key as the query parameter `key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_key: Option<bool>,
    /// How many bytes of a request body are held while the model is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspect_window: Option<u64>,
    /// The longest request body, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_body: Option<u64>,
    /// The currency of all prices, for records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupDocument>>,
    /// The account keys, by digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<KeyDocument>>,
    /// Where more account keys come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys_feed: Option<KeysFeedDocument>,
    /// Whether requests are counted by a service that many Envoys share, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits_service: Option<LimitsServiceDocument>,
}

/// A group: a source of one protocol, or a Mixed group over such sources.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: policy.rs"
)]
pub struct GroupDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<Vec<AccountDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_generation: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_tokens: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_resources: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<BTreeMap<String, MethodDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_usage: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreported: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<BTreeMap<String, EntryDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<ModelDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsDocument>,
}

/// A further method of the models of a protocol C group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: policy.rs"
)]
pub struct MethodDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_call: Option<String>,
}

/// An upstream account of a source group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: account.rs"
)]
pub struct AccountDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
}

/// When another account is tried, and how long a failing one is set aside.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: account.rs"
)]
pub struct FailoverDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_answer_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside_seconds: Option<u32>,
}

/// One entry of a Mixed group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: policy.rs"
)]
pub struct EntryDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_multiplier: Option<String>,
}

/// A model of a source group, or the reference to one in a Mixed group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: catalog.rs"
)]
pub struct ModelDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aliases: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_dated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entitled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PricesDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<bool>,
}

/// The prices of a model, or of one of its classes of service: decimals in strings, per million tokens, per image, per call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: usage.rs, prices.rs"
)]
pub struct PricesDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_audio: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_5m: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_audio: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_call: Option<PerCallDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tiers: Option<BTreeMap<String, PricesDocument>>,
}

/// What one call of a tool costs that runs at the vendor: decimals in strings.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: usage.rs"
)]
pub struct PerCallDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_execution: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_search: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maps_search: Option<String>,
}

/// An account key: never its value, only the SHA-256 digest of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: record.rs"
)]
pub struct KeyDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsDocument>,
}

/// How much a key may use, or all keys of a group together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: limits/"
)]
pub struct LimitsDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_per_minute: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_per_minute: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent_requests: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetDocument>,
}

/// How much money a day and a month may cost: decimals in strings, in the prices' currency.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: limits/budget.rs"
)]
pub struct BudgetDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_month: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<SpentDocument>,
}

/// What was spent of a budget until some moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: limits/budget.rs"
)]
pub struct SpentDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_month: Option<String>,
}

/// A service that counts the requests of many Envoys: Envoy's configuration says where it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: policy.rs"
)]
pub struct LimitsServiceDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A feed of account keys: an HTTP service that tells which there are and what changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: feed/mod.rs"
)]
pub struct KeysFeedDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
}

impl Document {
    /// This document without its keys: what the policy snapshot carries.
    pub fn without_keys(&self) -> Self {
        Self {
            keys: None,
            groups: self.groups.clone(),
            currency: self.currency.clone(),
            keys_feed: self.keys_feed.clone(),
            limits_service: self.limits_service.clone(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        match Document::parse(text.as_bytes()) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn all_problems_of_form_are_listed() {
        let text = r#"{
            "groupz": [],
            "query_key": "yes",
            "groups": [{"id": 7, "naem": "x", "models": [{"id": "m", "aliases": "a"}, 3]}, 5],
            "keys": [{"id": "k", "disabled": "sk-secret"}]
        }"#;
        let got = problems(text);
        for want in [
            "groupz: unknown field `groupz`",
            "query_key: must be true or false",
            "groups[0].id: must be a string",
            "groups[0].naem: unknown field `naem`",
            "groups[0].models[0].aliases: must be a list",
            "groups[0].models[1]: must be an object",
            "groups[1]: must be an object",
            "keys[0].disabled: must be true or false",
            // And what compiling finds.
            "groups[0].protocol: must be",
            "keys[0].sha256: must be",
        ] {
            assert!(
                got.iter().any(|p| p.starts_with(want)),
                "{want} is not among {got:#?}"
            );
        }
        assert!(got.iter().all(|p| !p.contains("sk-secret")), "{got:#?}");
        assert_eq!(got.len(), 10, "{got:#?}");
    }

    #[test]
    fn text_that_is_not_json() {
        let cases = [
            ("empty", ""),
            ("cut", r#"{"groups": ["#),
            ("trailing", "{} {}"),
        ];
        for (case, text) in cases {
            let got = problems(text);
            assert_eq!(got.len(), 1, "{case}: {got:?}");
            assert!(
                got[0].starts_with("is not valid JSON (line "),
                "{case}: {got:?}"
            );
        }
    }

    #[test]
    fn a_field_written_twice() {
        let got = problems(r#"{"groups": [], "groups": [], "keys": []}"#);
        assert_eq!(got, ["groups: is there twice"]);
    }
}
