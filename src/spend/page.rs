//! A page of a spend feed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::budget::Budget;
use crate::limits::elsewhere::MOST_PERIODS;
use crate::limits::{FleetSpend, Period, SpentElsewhere, SubjectKind, told_name};
use crate::money::Amount;

/// The longest cursor, in bytes.
const MAX_CURSOR: usize = 256;
/// The longest id of a subject, in bytes: a member's has an owner and a team of 256 each.
const MAX_ID: usize = 513;

/// A page that passed every check.
#[derive(Debug)]
pub(super) struct SpendPage {
    /// The position at which the next page begins.
    pub cursor: String,
    /// Whether there is a next page already.
    pub more: bool,
    /// The records to write: their names in shared data, and their contents.
    pub records: Vec<(String, FleetSpend)>,
}

/// A page as it is written. Members of a later release are passed over.
#[derive(Debug, Serialize, Deserialize)]
pub struct SpendPageDocument<'a> {
    /// The position at which the next page begins.
    #[serde(borrow)]
    pub cursor: Cow<'a, str>,
    /// Whether there is a next page already.
    pub more: bool,
    /// The subjects that have changed.
    #[serde(borrow)]
    pub subjects: Vec<SpendSubjectDocument<'a>>,
}

/// The budget and spend of a subject as it is written.
#[derive(Debug, Serialize, Deserialize)]
pub struct SpendSubjectDocument<'a> {
    /// The kind of subject: the name of a [`SubjectKind`].
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// The id of the subject.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The budget of a member, an owner or a team.
    pub budget: Option<BudgetSpendDocument>,
    /// The amounts spent elsewhere, by their day or month.
    #[serde(borrow, default)]
    pub elsewhere: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
}

/// The budget of a subject as it is written.
#[derive(Debug, Serialize, Deserialize)]
pub struct BudgetSpendDocument {
    /// The amount for each day.
    pub per_day: Option<String>,
    /// The amount for each month.
    pub per_month: Option<String>,
}

impl SpendPage {
    /// Reads a page.
    ///
    /// # Errors
    /// The problem with it. Then nothing of it may be used.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let page: SpendPageDocument<'_> = serde_json::from_slice(bytes)
            .map_err(|error| format!("it is no page (column {})", error.column()))?;
        let plain = page.cursor.bytes().all(|byte| byte.is_ascii_graphic());
        if page.cursor.is_empty() || page.cursor.len() > MAX_CURSOR || !plain {
            return Err("cursor: must be 1 to 256 visible ASCII characters".to_owned());
        }
        let records = page.subjects.iter().enumerate();
        let records = records.filter_map(|(place, subject)| {
            let record = subject.record().transpose()?;
            Some(record.map_err(|why| format!("subjects[{place}].{why}")))
        });
        Ok(Self {
            records: records.collect::<Result<_, _>>()?,
            cursor: page.cursor.into_owned(),
            more: page.more,
        })
    }
}

impl SpendSubjectDocument<'_> {
    /// Returns the record of the subject; `None` where it is of a kind that this release does not count.
    fn record(&self) -> Result<Option<(String, FleetSpend)>, String> {
        let Some(kind) = SubjectKind::named(&self.kind) else {
            return Ok(None);
        };
        if self.id.is_empty() || self.id.len() > MAX_ID {
            return Err("id: must be 1 to 513 bytes".to_owned());
        }
        if self.elsewhere.len() > MOST_PERIODS {
            return Err("elsewhere: has too many periods".to_owned());
        }
        let mut elsewhere = SpentElsewhere::default();
        for (written, sum) in &self.elsewhere {
            let period = Period::parse(written)
                .ok_or("elsewhere: a period must be a day or a month, such as 2026-11-25")?;
            elsewhere.0.push((period, amount(sum, "elsewhere")?));
        }
        let budget = self.budget.as_ref().map(BudgetSpendDocument::read);
        let told = FleetSpend {
            budget: budget.transpose()?.filter(Budget::is_set),
            elsewhere,
        };
        Ok(Some((told_name(kind, &self.id), told)))
    }
}

impl BudgetSpendDocument {
    fn read(&self) -> Result<Budget, String> {
        let limit = |written: &Option<String>| {
            let written = written.as_deref();
            written.map(|text| amount(text, "budget")).transpose()
        };
        Ok(Budget {
            per_day: limit(&self.per_day)?,
            per_month: limit(&self.per_month)?,
            spent: None,
        })
    }
}

fn amount(text: &str, place: &str) -> Result<Amount, String> {
    Amount::parse(text).map_err(|why| format!("{place}: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn page(subjects: Value) -> Result<SpendPage, String> {
        let page = json!({"feed": "f", "cursor": "c.1", "more": true, "subjects": subjects});
        SpendPage::parse(page.to_string().as_bytes())
    }

    #[test]
    fn what_a_page_says() {
        let got = page(json!([
            {"kind": "key", "id": "k", "elsewhere": {"2026-11-25": "1.5", "2026-11": "20"}, "later": 1},
            {"kind": "owner", "id": "ann \u{e9}", "budget": {"per_day": "3", "later": 1}},
            {"kind": "team", "id": "t", "budget": {}},
            {"kind": "planet", "id": "", "elsewhere": {"x": "y"}},
        ]));
        let got = got.unwrap();
        assert_eq!((got.cursor.as_str(), got.more), ("c.1", true));
        let amount = |text| Amount::parse(text).unwrap();
        let month_first = vec![
            (Period::parse("2026-11").unwrap(), amount("20")),
            (Period::parse("2026-11-25").unwrap(), amount("1.5")),
        ];
        let of_owner = Budget {
            per_day: Some(amount("3")),
            ..Budget::default()
        };
        let want = [
            ("trilane/spend/1/key/k", None, month_first),
            ("trilane/spend/1/owner/ann \u{e9}", Some(of_owner), vec![]),
            ("trilane/spend/1/team/t", None, vec![]),
        ];
        let want = want.map(|(name, budget, elsewhere)| {
            let elsewhere = SpentElsewhere(elsewhere);
            (name.to_owned(), FleetSpend { budget, elsewhere })
        });
        assert_eq!(got.records, want);
    }

    #[test]
    fn a_page_with_a_fault_is_refused_whole() {
        let with = |member: &str, value: Value| {
            let mut subject = json!({"kind": "key", "id": "k"});
            subject[member] = value;
            json!([{"kind": "key", "id": "good"}, subject])
        };
        let many: serde_json::Map<String, Value> = (1..=9)
            .map(|day| (format!("2026-11-0{day}"), json!("1")))
            .collect();
        let cases = [
            ("no list", json!({}), "it is no page"),
            ("no id", with("id", json!("")), "subjects[1].id: must be"),
            (
                "a number",
                with("elsewhere", json!({"2026-11": 1})),
                "it is no page",
            ),
            (
                "no period",
                with("elsewhere", json!({"today": "1"})),
                "subjects[1].elsewhere: a period",
            ),
            (
                "no amount",
                with("elsewhere", json!({"2026-11": "-1"})),
                "subjects[1].elsewhere: must be",
            ),
            (
                "many periods",
                with("elsewhere", Value::Object(many)),
                "subjects[1].elsewhere: has too many",
            ),
            (
                "no budget",
                with("budget", json!({"per_day": "x"})),
                "subjects[1].budget: must be",
            ),
        ];
        for (case, subjects, want) in cases {
            let got = page(subjects).unwrap_err();
            assert!(got.starts_with(want), "{case}: {got}");
        }
        for cursor in ["", "a b", &"x".repeat(257)] {
            let page = json!({"cursor": cursor, "more": false, "subjects": []});
            let got = SpendPage::parse(page.to_string().as_bytes()).unwrap_err();
            assert!(got.starts_with("cursor: "), "{cursor}");
        }
    }
}
