//! The query of the page, in its address.

use crate::cases::usage::UsageParams;
use crate::pages::form::Fields;
use crate::text;

/// The columns that rows can be grouped by: the API's name, and the title.
pub const COLUMNS: [(&str, &str); 12] = [
    ("day", "Day"),
    ("month", "Month"),
    ("hour", "Hour"),
    ("key", "Key"),
    ("owner", "Owner"),
    ("team", "Team"),
    ("group", "Group"),
    ("model", "Model"),
    ("account", "Account"),
    ("source", "Source"),
    ("entry", "Entry"),
    ("outcome", "Outcome"),
];

/// The columns that rows can be filtered by.
pub const FILTERS: [(&str, &str); 6] = [
    ("key", "Key (its id)"),
    ("owner", "Owner"),
    ("team", "Team"),
    ("group", "Group"),
    ("model", "Model"),
    ("account", "Account"),
];

/// The query of the page.
pub struct Asked {
    /// The fields, with what holds where nothing was said.
    pub fields: Fields,
    /// The columns that rows are grouped by.
    pub by: Vec<&'static str>,
    /// The question to the API.
    pub params: UsageParams,
}

impl Asked {
    /// Reads a query. Without a beginning it is this month's.
    pub fn parse(query: &str, today: &str) -> Self {
        let mut fields = Fields::parse(query.as_bytes());
        if fields.all("since").next().is_none() {
            let month = today.get(..7).unwrap_or_default();
            fields = fields.with("since", format!("{month}-01"));
        }
        let known = |name: &str| {
            let column = COLUMNS.into_iter().find(|(of, _)| *of == name);
            column.map(|(of, _)| of)
        };
        let first = known(fields.get("by")).unwrap_or("day");
        let second = known(fields.get("then")).filter(|name| *name != first);
        let by: Vec<&str> = [Some(first), second].into_iter().flatten().collect();
        let params = UsageParams {
            by: by.join(","),
            since: fields.given("since"),
            until: fields.given("until"),
            key: fields.given("key"),
            owner: fields.given("owner"),
            team: fields.given("team"),
            group: fields.given("group"),
            model: fields.given("model"),
            account: fields.given("account"),
        };
        Self { fields, by, params }
    }

    /// The path of this page, or of its file, with other values in place of those of some names.
    pub fn path(&self, page: &str, other: &[(&str, &str)]) -> String {
        let names = ["by", "then", "since", "until"].into_iter();
        let all = names.chain(FILTERS.map(|(name, _)| name)).map(|name| {
            let changed = other.iter().find(|(of, _)| *of == name);
            let value = changed.map_or_else(|| self.fields.get(name), |(_, value)| value);
            (name, value)
        });
        // An empty beginning is one that was wanted so.
        let all = all.filter(|(name, value)| !value.is_empty() || *name == "since");
        text::path_with(page, &all.collect::<Vec<_>>())
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
    fn what_an_address_asks_for() {
        for (query, by, since, path) in [
            ("", "day", Some("2026-11-01"), "/usage?since=2026-11-01"),
            ("since=", "day", None, "/usage?since="),
            (
                "by=key&then=model&since=",
                "key,model",
                None,
                "/usage?by=key&then=model&since=",
            ),
            (
                "by=key&then=key&since=",
                "key",
                None,
                "/usage?by=key&then=key&since=",
            ),
            ("by=person&since=", "day", None, "/usage?by=person&since="),
            (
                "since=&model=a%26b",
                "day",
                None,
                "/usage?since=&model=a%26b",
            ),
        ] {
            let asked = Asked::parse(query, "2026-11-25");
            assert_eq!(asked.params.by, by, "{query}");
            assert_eq!(asked.params.since.as_deref(), since, "{query}");
            assert_eq!(asked.path("/usage", &[]), path, "{query}");
        }
        let asked = Asked::parse("since=&model=a", "2026-11-25");
        assert_eq!(
            asked.path("/usage.csv", &[("model", "")]),
            "/usage.csv?since="
        );
        assert!(asked.is_filtered());
    }
}
