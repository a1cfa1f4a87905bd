//! The configuration document as written: a mirror of its JSON, without meaning.
//!
//! Every field is optional here, so that reading finds only wrong types and unknown fields, and compiling can name
//! everything that is missing or does not fit together in one go.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::Window;

/// Objects of the document. Every field is optional, and is left out where it is absent.
macro_rules! objects {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[allow(missing_docs, reason = "the object says where its fields are documented")]
        pub struct $name {$(
            $(#[$field_doc])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,
        )*}
    )*};
}

objects! {
    /// The whole document.
    Document {
        /// Whether protocol C may send its key as the query parameter `key`.
        query_key: bool,
        /// The number of bytes of a request body that are held while the model is looked for.
        inspect_window: u64,
        /// The longest request body, in bytes.
        max_body: u64,
        /// The currency of all prices, for records.
        currency: String,
        /// The contact of key holders who need more: told in the refusal of a spent budget.
        contact: String,
        /// The groups.
        groups: Vec<GroupDocument>,
        /// The account keys, by digest.
        keys: Vec<KeyDocument>,
        /// The feed of further account keys.
        keys_feed: KeysFeedDocument,
        /// The feed that reports the spend of budgets elsewhere.
        spend_feed: SpendFeedDocument,
        /// The treatment of requests while the ledger cannot be written.
        ledger_unwritable: String,
        /// Whether requests are counted by a service that many Envoys share, too.
        limits_service: LimitsServiceDocument,
        /// The web pages whose scripts may read answers.
        cors: CorsDocument,
        /// The labels of requests in the ledger: names, each with the header that has its value.
        labels: BTreeMap<String, String>,
    }

    /// A group: a source of one protocol, or a Mixed group over such sources.
    ///
    /// The fields are documented where they get their meaning: policy.rs.
    GroupDocument {
        id: String,
        name: String,
        protocol: String,
        multiplier: String,
        cluster: String,
        accounts: Vec<AccountDocument>,
        failover: FailoverDocument,
        clients: String,
        image_generation: bool,
        count_tokens: bool,
        account_resources: bool,
        methods: BTreeMap<String, MethodDocument>,
        include_usage: bool,
        passes: Vec<String>,
        unreported: String,
        error_text: bool,
        entries: BTreeMap<String, EntryDocument>,
        lists: String,
        fallback: Vec<String>,
        models: Vec<ModelDocument>,
        limits: LimitsDocument,
    }

    /// A further method of the models of a protocol C group.
    ///
    /// The fields are documented where they get their meaning: policy.rs.
    MethodDocument {
        per_call: String,
    }

    /// An upstream account of a source group.
    ///
    /// The fields are documented where they get their meaning: account.rs.
    AccountDocument {
        id: String,
        url: String,
        credential: String,
        header: String,
        weight: u32,
        priority: u32,
        http: String,
        retries: u32,
        ca: String,
        proxy: String,
        region: String,
        cost: String,
        state: String,
        limits: LimitsDocument,
    }

    /// The conditions of failover to another account, and of the ejection of a failing account.
    ///
    /// The fields are documented where they get their meaning: account.rs.
    FailoverDocument {
        tries: u32,
        answer_seconds: u32,
        stream_answer_seconds: u32,
        total_seconds: u32,
        failures: u32,
        set_aside_seconds: u32,
        set_aside_max_seconds: u32,
        prompt_cache_seconds: u32,
        order: String,
    }

    /// One entry of a Mixed group.
    ///
    /// The fields are documented where they get their meaning: policy.rs.
    EntryDocument {
        source: String,
        extra_multiplier: String,
        sources: Vec<EntrySourceDocument>,
        order: String,
    }

    /// One of several sources of an entry.
    ///
    /// The fields are documented where they get their meaning: policy.rs.
    EntrySourceDocument {
        source: String,
        extra_multiplier: String,
    }

    /// A model of a source group, or the reference to one in a Mixed group.
    ///
    /// The fields are documented where they get their meaning: catalog.rs.
    ModelDocument {
        id: String,
        kind: String,
        display_name: String,
        created_at: String,
        upstream: String,
        aliases: Vec<String>,
        merge_dated: bool,
        reasoning: bool,
        entitled: bool,
        entry: String,
        source: String,
        sources: Vec<String>,
        prices: PricesDocument,
        free: bool,
    }

    /// The prices of a model, or of one of its classes of service: decimals in strings, per million tokens, per image, per call.
    ///
    /// The fields are documented where they get their meaning: usage.rs, prices.rs.
    PricesDocument {
        input: String,
        input_image: String,
        input_audio: String,
        cache_read: String,
        cache_write_5m: String,
        cache_write_1h: String,
        tool_use: String,
        output: String,
        reasoning: String,
        output_audio: String,
        output_image: String,
        image: String,
        per_call: PerCallDocument,
        per_request: PerCallDocument,
        above: Vec<AboveDocument>,
        times: Vec<PriceTimeDocument>,
        tiers: BTreeMap<String, PricesDocument>,
    }

    /// The prices of requests whose whole input is longer than so many tokens.
    AboveDocument {
        input_tokens: u64,
        prices: PricesDocument,
    }

    /// Prices that begin on a day, or hold on days of the week and at hours, all by UTC.
    ///
    /// The fields are documented where they get their meaning: schedule.rs.
    PriceTimeDocument {
        from: String,
        days: Vec<String>,
        hours: Vec<String>,
        at: String,
        prices: PricesDocument,
    }

    /// The prices of one call of a tool that runs at the vendor, or of a request that made such calls: decimals in strings.
    ///
    /// The fields are documented where they get their meaning: usage.rs.
    PerCallDocument {
        web_search: String,
        code_execution: String,
        file_search: String,
        maps_search: String,
    }

    /// An account key: never its value, only the SHA-256 digest of it.
    ///
    /// The fields are documented where they get their meaning: record.rs.
    KeyDocument {
        id: String,
        sha256: String,
        group: String,
        owner: String,
        team: String,
        counts_as: String,
        models: Vec<String>,
        multiplier: String,
        max_multiplier: String,
        addresses: Vec<String>,
        expires_at: String,
        disabled: bool,
        limits: LimitsDocument,
    }

    /// The usage limits of a key, or of all keys of a group together.
    ///
    /// The fields are documented where they get their meaning: limits/.
    LimitsDocument {
        requests_per_minute: u32,
        input_tokens_per_minute: u32,
        output_tokens_per_minute: u32,
        concurrent_requests: u32,
        budget: BudgetDocument,
    }

    /// The money that may be spent per day and per month: decimals in strings, in the currency of the prices.
    ///
    /// The fields are documented where they get their meaning: limits/budget.rs.
    BudgetDocument {
        per_day: String,
        per_month: String,
        spent: SpentDocument,
    }

    /// The amounts spent of a budget until some moment.
    ///
    /// The fields are documented where they get their meaning: limits/budget.rs.
    SpentDocument {
        at: String,
        in_day: String,
        in_month: String,
    }

    /// A service that counts the requests of many Envoys: Envoy's configuration says where it is.
    ///
    /// The fields are documented where they get their meaning: policy.rs.
    LimitsServiceDocument {
        failure: String,
    }

    /// The web pages whose scripts may read answers.
    ///
    /// The fields are documented where they get their meaning: cors.rs.
    CorsDocument {
        origins: Vec<String>,
    }

    /// A feed of spend: an HTTP service that says what is spent of budgets on other Envoys, and before.
    ///
    /// The fields are documented where they get their meaning: spend/mod.rs.
    SpendFeedDocument {
        cluster: String,
        path: String,
        authority: String,
    }

    /// A feed of account keys: an HTTP service that tells which there are and what changes.
    ///
    /// The fields are documented where they get their meaning: feed/mod.rs.
    KeysFeedDocument {
        cluster: String,
        path: String,
        authority: String,
    }
}

impl BudgetDocument {
    /// Whether it has an amount.
    pub fn is_set(&self) -> bool {
        self.per_day.is_some() || self.per_month.is_some()
    }

    /// Returns the amount that `window` may cost.
    pub fn of(&self, window: Window) -> Option<&str> {
        match window {
            Window::Day => self.per_day.as_deref(),
            Window::Month => self.per_month.as_deref(),
        }
    }
}

impl Document {
    /// This document without its keys: what the policy snapshot carries.
    pub fn without_keys(&self) -> Self {
        Self {
            keys: None,
            groups: self.groups.clone(),
            currency: self.currency.clone(),
            ledger_unwritable: self.ledger_unwritable.clone(),
            contact: self.contact.clone(),
            keys_feed: self.keys_feed.clone(),
            spend_feed: self.spend_feed.clone(),
            limits_service: self.limits_service.clone(),
            cors: self.cors.clone(),
            labels: self.labels.clone(),
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
    fn the_word_for_prices_of_the_catalogue_is_refused_in_a_clear_sentence() {
        let group = |prices: &str| {
            let model = format!(r#"{{"id": "m", "prices": {prices}}}"#);
            format!(
                r#"{{"groups": [{{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c", "models": [{model}]}}], "keys": []}}"#
            )
        };
        let want = "groups[0].models[0].prices: must be an object of prices: \"catalogue\" is resolved by trilane render \
            and trilane serve, which publish numbers";
        for prices in [r#""catalogue""#, "7"] {
            assert_eq!(problems(&group(prices)), [want], "{prices}");
        }
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
