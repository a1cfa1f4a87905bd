//! The rate limit service, for limits that several Envoys share: the descriptors of a request, and the tokens that it used.
//!
//! Envoy's own rate limit filters ask the service. They come behind this filter in the chain, and read both from the
//! filter state of the stream. Headers would not do: those that no upstream may see are removed by the time that tokens
//! are counted, at the stream's end.

use smol_str::SmolStr;

/// The treatment of a request while the service does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// It is forwarded, uncounted by the service.
    #[default]
    Open,
    /// It is rejected.
    Closed,
}

/// The descriptors of a request. Two rate limit filters are in the chain, one that fails open and one that fails closed;
/// the one that finds its names asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptors {
    /// The failure mode, which selects the one of the two filters that is to ask.
    pub failure: OnFailure,
    /// The id of the account key.
    pub key: SmolStr,
    /// The id of its group.
    pub group: SmolStr,
    /// The model's canonical name, where the request is one for a model.
    pub model: Option<SmolStr>,
}

impl Descriptors {
    /// The objects of the filter state: names, which Envoy begins with `wasm.`, and values.
    pub fn state(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let [key, group, model] = match self.failure {
            OnFailure::Open => ["limit_open_key", "limit_open_group", "limit_open_model"],
            OnFailure::Closed => [
                "limit_closed_key",
                "limit_closed_group",
                "limit_closed_model",
            ],
        };
        let model = self.model.as_deref().map(|id| (model, id));
        [(key, self.key.as_str()), (group, self.group.as_str())]
            .into_iter()
            .chain(model)
    }
}

/// The tokens that the service is to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServiceTokens {
    /// Input, cached or not.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
}

impl ServiceTokens {
    /// The most that Envoy adds at a time; a greater number would not be counted at all.
    const MOST: u64 = 1_000_000_000;

    /// The objects of the filter state, as [`Descriptors::state`]; both are there, or none.
    pub fn state(self) -> [(&'static str, String); 2] {
        [
            ("limit_input_tokens", self.input),
            ("limit_output_tokens", self.output),
        ]
        .map(|(name, tokens)| (name, tokens.min(Self::MOST).to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_filters_is_addressed() {
        let descriptors = |failure, model: Option<&str>| Descriptors {
            failure,
            key: "k".into(),
            group: "g".into(),
            model: model.map(SmolStr::from),
        };
        let cases = [
            (
                "open",
                descriptors(OnFailure::Open, Some("m")),
                &[
                    ("limit_open_key", "k"),
                    ("limit_open_group", "g"),
                    ("limit_open_model", "m"),
                ][..],
            ),
            (
                "closed",
                descriptors(OnFailure::Closed, Some("m")),
                &[
                    ("limit_closed_key", "k"),
                    ("limit_closed_group", "g"),
                    ("limit_closed_model", "m"),
                ],
            ),
            (
                "no model",
                descriptors(OnFailure::Open, None),
                &[("limit_open_key", "k"), ("limit_open_group", "g")],
            ),
        ];
        for (case, descriptors, want) in cases {
            let state: Vec<_> = descriptors.state().collect();
            assert_eq!(state, want, "{case}");
        }
    }

    #[test]
    fn more_than_envoy_takes_is_cut() {
        let tokens = ServiceTokens {
            input: u64::MAX,
            output: 0,
        };
        let want = [
            ("limit_input_tokens", "1000000000".to_owned()),
            ("limit_output_tokens", "0".to_owned()),
        ];
        assert_eq!(tokens.state(), want);
    }
}
