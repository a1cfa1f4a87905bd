//! The health of models: the share of requests that their vendors answered well.

use std::collections::BTreeMap;

use serde::Serialize;
use trilane::ledger::Ending;
use utoipa::ToSchema;

use crate::ledger::UsageColumn;
use crate::store::usage_hours::{self, UsageQuery};
use crate::store::{StoreError, Transaction};
use crate::timestamp::moment;

/// The most sums that are read.
const MOST: i64 = 20_000;
/// Microseconds of an hour.
const HOUR: i64 = 3_600_000_000;

/// The state of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthState {
    /// At least 95 of 100 were answered well.
    Good,
    /// Fewer, yet at least half.
    SomeFail,
    /// Fewer than half.
    Fails,
    /// Nobody has asked it.
    Unknown,
}

/// The health of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct ModelHealth {
    /// The state.
    pub(crate) state: HealthState,
    /// The share of requests that were answered whole and without an error, in percent; 100 only for all of them. Requests that the
    /// gateway refused, or whose client left, do not count. Missing: there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) good_percent: Option<u8>,
}

/// Requests that a vendor was asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Asked {
    good: u64,
    all: u64,
}

impl Asked {
    fn add(&mut self, other: Self) {
        self.good = self.good.saturating_add(other.good);
        self.all = self.all.saturating_add(other.all);
    }

    fn health(self) -> ModelHealth {
        let percent = self.good.saturating_mul(100).checked_div(self.all);
        let percent = percent.and_then(|percent| u8::try_from(percent).ok());
        ModelHealth {
            state: match percent {
                None => HealthState::Unknown,
                Some(95..) => HealthState::Good,
                Some(50..) => HealthState::SomeFail,
                Some(_) => HealthState::Fails,
            },
            good_percent: percent,
        }
    }
}

/// The health of all models, of the hour before this one and of this one.
#[derive(Debug, Default)]
pub struct HealthReader {
    since: String,
    /// By group and model.
    asked: BTreeMap<(String, String), Asked>,
}

/// The number of requests with an outcome that count, and of good ones among them; `None`: the outcome says nothing of the model.
fn counted(outcome: &str, requests: u64) -> Option<Asked> {
    let good = match Ending::named(outcome)? {
        Ending::Finished => requests,
        Ending::ClientAbort | Ending::Refused | Ending::Answered => return None,
        Ending::ErrorEvent
        | Ending::Truncated
        | Ending::UpstreamReset
        | Ending::Timeout
        | Ending::UpstreamError
        | Ending::UpstreamFailed => 0,
    };
    Some(Asked {
        good,
        all: requests,
    })
}

impl HealthReader {
    /// Reads it.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn read(transaction: &mut Transaction, now: i64) -> Result<Self, StoreError> {
        let hour = moment(now.saturating_sub(HOUR));
        let hour = hour.get(..13).unwrap_or(&hour).to_owned();
        let query = UsageQuery {
            by: vec![UsageColumn::Group, UsageColumn::Model, UsageColumn::Outcome],
            since: Some(hour.clone()),
            limit: MOST,
            ..UsageQuery::default()
        };
        let mut asked: BTreeMap<(String, String), Asked> = BTreeMap::new();
        for sums in usage_hours::sums(transaction, &query).await? {
            let [group, model, outcome] = &sums.values[..] else {
                continue;
            };
            let requests = sums.counts.first().copied().unwrap_or_default();
            if let Some(counted) = counted(outcome, requests) {
                let place = (group.clone(), model.clone());
                asked.entry(place).or_default().add(counted);
            }
        }
        Ok(Self {
            since: format!("{hour}:00:00Z"),
            asked,
        })
    }

    /// The hour that it is read from, as RFC 3339.
    pub fn since(&self) -> &str {
        &self.since
    }

    /// The health of a model for keys of a group.
    pub fn in_group(&self, group: &str, model: &str) -> ModelHealth {
        let place = (group.to_owned(), model.to_owned());
        let asked = self.asked.get(&place).copied();
        asked.unwrap_or_default().health()
    }

    /// The health of a model for keys of all groups together.
    pub fn of_model(&self, model: &str) -> ModelHealth {
        let mut sum = Asked::default();
        for ((_, of), asked) in &self.asked {
            if of == model {
                sum.add(*asked);
            }
        }
        sum.health()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_outcomes_count() {
        for (outcome, want) in [
            ("finished", Some((3, 3))),
            ("upstream_failed", Some((0, 3))),
            ("timeout", Some((0, 3))),
            ("client_abort", None),
            ("refused", None),
            ("answered", None),
            ("none of these", None),
        ] {
            let counted = counted(outcome, 3).map(|of| (of.good, of.all));
            assert_eq!(counted, want, "{outcome}");
        }
    }

    #[test]
    fn states() {
        use HealthState::{Fails, Good, SomeFail, Unknown};
        for (good, all, state, percent) in [
            (0, 0, Unknown, None),
            (1000, 1000, Good, Some(100)),
            (999, 1000, Good, Some(99)),
            (949, 1000, SomeFail, Some(94)),
            (500, 1000, SomeFail, Some(50)),
            (499, 1000, Fails, Some(49)),
            (0, 1, Fails, Some(0)),
        ] {
            let health = Asked { good, all }.health();
            assert_eq!((health.state, health.good_percent), (state, percent));
        }
    }
}
