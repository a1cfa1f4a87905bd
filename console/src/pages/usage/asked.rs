//! The query of the page, in its address.

use super::period::UsagePeriod;
use crate::cases::usage::UsageParams;
use crate::ledger::UsageColumn;
use crate::pages::form::Fields;
use crate::text;

/// The columns that rows can be grouped by: the API's name, and the title.
pub const COLUMNS: [(&str, &str); 15] = [
    ("day", text!("Day")),
    ("month", text!("Month")),
    ("hour", text!("Hour")),
    ("key", text!("Key")),
    ("owner", text!("Owner")),
    ("team", text!("Team")),
    ("group", text!("Group")),
    ("model", text!("Model")),
    ("account", text!("Account")),
    ("source", text!("Source")),
    ("entry", text!("API style")),
    ("outcome", text!("Outcome")),
    ("currency", text!("Currency")),
    ("client", text!("Client")),
    ("session", text!("Session")),
];

/// The fields of an address that choose the columns to group by.
pub const GROUPINGS: [(&str, &str); 3] = [
    ("by", text!("By")),
    ("then", text!("Then by")),
    ("and", text!("And by")),
];

/// The columns that rows can be filtered by.
pub const FILTERS: [(&str, &str); 6] = [
    ("key", text!("Key id")),
    ("owner", text!("Owner")),
    ("team", text!("Team")),
    ("group", text!("Group")),
    ("model", text!("Model")),
    ("account", text!("Account")),
];

/// The query of the page.
pub struct Asked {
    /// The fields, with what holds where nothing was said.
    pub fields: Fields,
    /// The period.
    pub period: UsagePeriod,
    /// The columns that rows are grouped by.
    pub by: Vec<String>,
    /// Whether every column of figures is shown.
    pub is_wide: bool,
    /// The question to the API.
    pub params: UsageParams,
}

/// The column that rows are grouped by unless another is chosen: of one day those who used it.
fn usual(period: &UsagePeriod) -> &'static str {
    match period.name {
        "today" | "yesterday" => "owner",
        _ => "day",
    }
}

impl Asked {
    /// Reads a query. Without a period it is this month's.
    pub fn parse(query: &str, today: &str) -> Self {
        let fields = Fields::parse(query.as_bytes());
        let period = UsagePeriod::of(&fields, today);
        let mut by: Vec<String> = Vec::new();
        for (field, _) in GROUPINGS {
            let column = UsageColumn::of(fields.get(field)).filter(UsageColumn::is_stored);
            let name = column.map(|column| column.name().to_owned());
            by.extend(name.filter(|name| !by.contains(name)));
        }
        if by.is_empty() {
            by.push(usual(&period).to_owned());
        }
        let params = UsageParams {
            by: by.join(","),
            since: period.since.clone(),
            until: period.until.clone(),
            key: fields.given("key"),
            owner: fields.given("owner"),
            team: fields.given("team"),
            group: fields.given("group"),
            model: fields.given("model"),
            account: fields.given("account"),
        };
        Self {
            is_wide: fields.get("columns") == "all",
            fields,
            period,
            by,
            params,
        }
    }

    /// The path of this page, or of its file, with other values in place of those of some names.
    pub fn path(&self, page: &str, other: &[(&str, &str)]) -> String {
        let changed = |name: &str| other.iter().find(|(of, _)| *of == name);
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for (place, (field, _)) in GROUPINGS.into_iter().enumerate() {
            // What is usual need not be said.
            let is_usual = self.by == [usual(&self.period)];
            pairs.extend(
                self.by
                    .get(place)
                    .filter(|_| !is_usual)
                    .map(|name| (field, name.as_str())),
            );
        }
        let period = self.period.fields();
        match changed("period") {
            Some(other) => pairs.push(*other),
            None => pairs.extend(period.iter().map(|(name, value)| (*name, value.as_str()))),
        }
        let kept = FILTERS.into_iter().map(|(name, _)| name).chain(["columns"]);
        pairs.extend(kept.map(|name| {
            let value = changed(name).map_or_else(|| self.fields.get(name), |(_, value)| value);
            (name, value)
        }));
        // An empty beginning is one that was wanted so.
        pairs.retain(|(name, value)| !value.is_empty() || *name == "since");
        text::path_with(page, &pairs)
    }

    /// Whether only a part of the usage is shown.
    pub fn is_filtered(&self) -> bool {
        FILTERS.iter().any(|(name, _)| self.fields.is_set(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (query, by, since, path) in [
            ("", "day", Some("2026-11-01"), "/usage?period=month"),
            ("since=", "day", None, "/usage?period=all"),
            (
                "period=yesterday&since=2026-10-01",
                "owner",
                Some("2026-11-24"),
                "/usage?period=yesterday",
            ),
            (
                "by=key&then=model&since=",
                "key,model",
                None,
                "/usage?by=key&then=model&period=all",
            ),
            (
                "by=key&then=key&since=",
                "key",
                None,
                "/usage?by=key&period=all",
            ),
            (
                "by=key&then=&and=day&since=",
                "key,day",
                None,
                "/usage?by=key&then=day&period=all",
            ),
            (
                "by=month&then=owner&and=entry&since=2026-01-01",
                "month,owner,entry",
                Some("2026-01-01"),
                "/usage?by=month&then=owner&and=entry&since=2026-01-01",
            ),
            ("by=person&since=", "day", None, "/usage?period=all"),
            (
                "by=label:project&then=client&since=",
                "label:project,client",
                None,
                "/usage?by=label%3Aproject&then=client&period=all",
            ),
            (
                "since=&model=a%26b&columns=all",
                "day",
                None,
                "/usage?period=all&model=a%26b&columns=all",
            ),
        ] {
            let asked = Asked::parse(query, "2026-11-25");
            assert_eq!(asked.params.by, by, "{query}");
            assert_eq!(asked.params.since.as_deref(), since, "{query}");
            assert_eq!(asked.path("/usage", &[]), path, "{query}");
        }
        let asked = Asked::parse("month=2026-10&model=a", "2026-11-25");
        assert_eq!(
            asked.path("/usage.csv", &[("model", "")]),
            "/usage.csv?month=2026-10"
        );
        assert_eq!(
            asked.path("/usage", &[("period", "today")]),
            "/usage?period=today&model=a"
        );
        assert!(asked.is_filtered());
    }
}
