//! A statement as a dataset of FOCUS 1.2, the FinOps Open Cost and Usage Specification.
//!
//! A row is what one key used of one model in one day. Columns that are null in every row are left out where the specification lets
//! them be: there are no commitments, regions, unit prices or corrections. Columns of our own begin with `x_`, as it wants.

use std::collections::BTreeMap;

use time::{Date, format_description::well_known::Iso8601};
use trilane::limits::SubjectKind;

use super::caller::Caller;
use super::names::{Names, WantedNames};
use super::problem::ApiProblem;
use super::state::ConsoleState;
use super::statement::{StatementParams, StatementScope};
use super::usage::UsageView;
use crate::csv_file::{CsvFile, cell};

/// The grouping of the rows.
const BY: &str = "day,key,owner,team,group,model,source,entry";
/// The service's provider, and who issues statements.
const PROVIDER: &str = "trilane";

/// The columns, in the order of the alphabet, our own last.
const COLUMNS: [&str; 41] = [
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingAccountType",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ResourceId",
    "ResourceName",
    "ResourceType",
    "ServiceCategory",
    "ServiceName",
    "ServiceSubcategory",
    "SubAccountId",
    "SubAccountName",
    "SubAccountType",
    "Tags",
    "x_CacheReadTokens",
    "x_EstimatedCost",
    "x_FailedRequests",
    "x_Images",
    "x_InputTokens",
    "x_OutputTokens",
    "x_Requests",
];

/// The dataset of a statement, as CSV.
pub async fn csv(
    state: &ConsoleState,
    caller: &Caller,
    asked: StatementParams,
) -> Result<CsvFile, ApiProblem> {
    let scope = StatementScope::of(caller, &asked)?;
    let mut transaction = state.store.read().await?;
    let rows = scope.sums(&mut transaction, caller, BY).await;
    transaction.rollback().await;
    let rows = rows?;
    let mut wanted = WantedNames::default();
    for (kind, id) in [
        (SubjectKind::Team, &asked.team),
        (SubjectKind::Owner, &asked.owner),
    ] {
        wanted.all(kind, id.as_deref());
    }
    wanted.all(
        SubjectKind::Key,
        rows.iter()
            .filter_map(|row| row.values.get("key"))
            .map(String::as_str),
    );
    let names = wanted.find(state, caller).await?;
    let dataset = FocusDataset {
        months: [scope.first, scope.end],
        account: BillingAccount::of(&asked, &names),
        // A row without charges has no currency of its own.
        currency: rows
            .iter()
            .map(|row| row.currency.as_str())
            .find(|currency| !currency.is_empty())
            .unwrap_or("USD"),
        names: &names,
    };
    let heads = COLUMNS.map(str::to_owned).to_vec();
    let records = rows
        .iter()
        .map(|row| COLUMNS.map(|column| dataset.cell(column, row)).to_vec());
    let file = CsvFile::new(
        &format!("{}-focus", scope.file),
        [heads].into_iter().chain(records),
    );
    file.map_err(|error| ApiProblem::internal(error.to_string()))
}

/// The team or person that the statement is of.
struct BillingAccount {
    id: String,
    name: String,
    kind: &'static str,
}

impl BillingAccount {
    fn of(asked: &StatementParams, names: &Names) -> Self {
        let (kind, id, name) = match (&asked.owner, &asked.team) {
            (Some(owner), _) => ("Person", owner, names.owner(owner)),
            (None, Some(team)) => ("Team", team, names.team(team)),
            (None, None) => ("Person", &String::new(), names.owner("")),
        };
        Self {
            id: format!("{}:{id}", kind.to_lowercase()),
            name: name.text,
            kind,
        }
    }
}

/// The parts of a dataset that its rows have in common.
struct FocusDataset<'a> {
    months: [Date; 2],
    account: BillingAccount,
    currency: &'a str,
    names: &'a Names,
}

impl FocusDataset<'_> {
    /// The value of a column in a row; empty: null.
    fn cell(&self, column: &str, row: &UsageView) -> String {
        let of = |name: &str| row.values.get(name).map_or("", String::as_str);
        let day = Date::parse(of("day"), &Iso8601::DATE).unwrap_or(self.months[0]);
        let count = |name: &str| row.count(name).to_string();
        let tokens = row.count("input").saturating_add(row.count("output"));
        let [quantity, unit] = match tokens {
            0 => [count("requests"), "Requests".to_owned()],
            _ => [tokens.to_string(), "Tokens".to_owned()],
        };
        let if_model = |text: &str| if of("model").is_empty() { "" } else { text }.to_owned();
        let if_key = |text: &str| if of("key").is_empty() { "" } else { text }.to_owned();
        match column {
            "BilledCost" | "ContractedCost" | "EffectiveCost" | "ListCost" => row.charge.clone(),
            "BillingAccountId" => cell(&self.account.id),
            "BillingAccountName" => cell(&self.account.name),
            "BillingAccountType" => self.account.kind.to_owned(),
            "BillingCurrency" if row.currency.is_empty() => self.currency.to_owned(),
            "BillingCurrency" => row.currency.clone(),
            "BillingPeriodStart" => moment(self.months[0]),
            "BillingPeriodEnd" => moment(self.months[1]),
            "ChargeCategory" => "Usage".to_owned(),
            "ChargeDescription" => {
                let model = if of("model").is_empty() {
                    "no model"
                } else {
                    of("model")
                };
                cell(&format!("Requests for {model}"))
            }
            "ChargeFrequency" => "Usage-Based".to_owned(),
            "ChargePeriodStart" => moment(day),
            "ChargePeriodEnd" => moment(day.next_day().unwrap_or(day)),
            "ConsumedQuantity" | "PricingQuantity" => quantity,
            "ConsumedUnit" | "PricingUnit" => unit,
            "InvoiceIssuerName" | "ProviderName" => PROVIDER.to_owned(),
            "PricingCategory" => "Standard".to_owned(),
            "PublisherName" if of("source").is_empty() => PROVIDER.to_owned(),
            "PublisherName" => cell(of("source")),
            "ResourceId" | "ResourceName" => cell(of("model")),
            "ResourceType" => if_model("Model"),
            "ServiceCategory" => "AI and Machine Learning".to_owned(),
            "ServiceName" => "Model requests".to_owned(),
            "ServiceSubcategory" => "Generative AI".to_owned(),
            "SubAccountId" => cell(of("key")),
            "SubAccountName" if of("key").is_empty() => String::new(),
            "SubAccountName" => cell(&self.names.key(of("key")).text),
            "SubAccountType" => if_key("API key"),
            "Tags" => tags(row),
            "x_CacheReadTokens" => count("cache_read"),
            "x_EstimatedCost" => row.estimated_charge.clone(),
            "x_FailedRequests" => count("failed"),
            "x_Images" => count("images"),
            "x_InputTokens" => count("input"),
            "x_OutputTokens" => count("output"),
            "x_Requests" => count("requests"),
            // There are no corrections: a line is counted once.
            _ => String::new(),
        }
    }
}

/// The first moment of a day.
fn moment(day: Date) -> String {
    format!("{day}T00:00:00Z")
}

/// The rest that a row is of, as a JSON object of texts.
fn tags(row: &UsageView) -> String {
    let tags = ["owner", "team", "group", "source", "entry"];
    let tags = tags.into_iter().filter_map(|name| {
        let value = row.values.get(name).filter(|value| !value.is_empty());
        value.map(|value| (name, value.as_str()))
    });
    let tags: BTreeMap<&str, &str> = tags.collect();
    serde_json::to_string(&tags).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column of FOCUS 1.2 that a dataset must have: its name, whether it may be null, and the form of its values.
    const MANDATORY: [(&str, bool, FocusForm); 24] = [
        ("BilledCost", false, FocusForm::Decimal),
        ("BillingAccountId", false, FocusForm::Text),
        ("BillingAccountName", true, FocusForm::Text),
        ("BillingCurrency", false, FocusForm::Currency),
        ("BillingPeriodEnd", false, FocusForm::Moment),
        ("BillingPeriodStart", false, FocusForm::Moment),
        (
            "ChargeCategory",
            false,
            FocusForm::OneOf(&["Usage", "Purchase", "Tax", "Credit", "Adjustment"]),
        ),
        ("ChargeClass", true, FocusForm::OneOf(&["Correction"])),
        ("ChargeDescription", true, FocusForm::Text),
        ("ChargePeriodEnd", false, FocusForm::Moment),
        ("ChargePeriodStart", false, FocusForm::Moment),
        ("ContractedCost", false, FocusForm::Decimal),
        ("EffectiveCost", false, FocusForm::Decimal),
        ("InvoiceIssuerName", false, FocusForm::Text),
        ("ListCost", false, FocusForm::Decimal),
        // Not null in rows of usage.
        ("PricingQuantity", false, FocusForm::Decimal),
        ("PricingUnit", false, FocusForm::Text),
        ("ProviderName", false, FocusForm::Text),
        ("PublisherName", false, FocusForm::Text),
        (
            "ServiceCategory",
            false,
            FocusForm::OneOf(&["AI and Machine Learning", "Other"]),
        ),
        ("ServiceName", false, FocusForm::Text),
        // What a provider that counts usage must have beside them, and what may not be null where it is there.
        ("ConsumedQuantity", false, FocusForm::Decimal),
        ("ConsumedUnit", false, FocusForm::Text),
        (
            "ChargeFrequency",
            false,
            FocusForm::OneOf(&["One-Time", "Recurring", "Usage-Based"]),
        ),
    ];

    #[derive(Clone, Copy)]
    enum FocusForm {
        Text,
        Decimal,
        Currency,
        Moment,
        OneOf(&'static [&'static str]),
    }

    impl FocusForm {
        fn has(self, value: &str) -> bool {
            match self {
                Self::Text => !value.is_empty(),
                Self::Decimal => trilane::money::Amount::read(value).is_ok(),
                Self::Currency => {
                    value.len() == 3 && value.bytes().all(|byte| byte.is_ascii_uppercase())
                }
                Self::Moment => value.len() == 20 && crate::timestamp::parse(value).is_some(),
                Self::OneOf(values) => values.contains(&value),
            }
        }
    }

    fn row(
        values: &[(&'static str, &str)],
        currency: &str,
        charge: &str,
        tokens: u64,
    ) -> UsageView {
        UsageView {
            values: values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            place: Vec::new(),
            currency: currency.to_owned(),
            counts: [("requests", 3), ("input", tokens), ("output", tokens)].into(),
            charge: charge.to_owned(),
            estimated_charge: "0".to_owned(),
            costed_charge: None,
            cost: None,
            margin: None,
        }
    }

    #[test]
    fn rows_follow_the_rules_of_the_specification() {
        let names = Names::default();
        let month = |text: &str| Date::parse(text, &Iso8601::DATE).unwrap();
        let asked = StatementParams {
            team: Some("blue".to_owned()),
            ..StatementParams::default()
        };
        let dataset = FocusDataset {
            months: [month("2026-11-01"), month("2026-12-01")],
            account: BillingAccount::of(&asked, &names),
            currency: "EUR",
            names: &names,
        };
        let whole = [
            ("day", "2026-11-30"),
            ("key", "k"),
            ("owner", "ann"),
            ("team", "blue"),
            ("model", "gpt-5"),
            ("source", "s"),
        ];
        for (case, row, want) in [
            (
                "an ordinary one",
                row(&whole, "USD", "0.00000000000000000001", 21),
                [
                    ("BilledCost", "0.00000000000000000001"),
                    ("ChargePeriodEnd", "2026-12-01T00:00:00Z"),
                    ("ConsumedQuantity", "42"),
                    ("PricingUnit", "Tokens"),
                    ("Tags", r#"{"owner":"ann","source":"s","team":"blue"}"#),
                ],
            ),
            (
                "nothing known, nothing charged",
                row(
                    &[("day", "2026-11-01"), ("key", ""), ("model", "")],
                    "",
                    "0",
                    0,
                ),
                [
                    ("BillingCurrency", "EUR"),
                    ("BillingAccountId", "team:blue"),
                    ("SubAccountType", ""),
                    ("ResourceType", ""),
                    ("ConsumedUnit", "Requests"),
                ],
            ),
        ] {
            for (column, may_be_null, form) in MANDATORY {
                assert!(COLUMNS.contains(&column), "{column} is missing");
                let value = dataset.cell(column, &row);
                let is_right = form.has(&value) || (may_be_null && value.is_empty());
                assert!(is_right, "{case}: {column} is {value:?}");
            }
            for (column, value) in want {
                assert_eq!(dataset.cell(column, &row), value, "{case}: {column}");
            }
            // An object whose values are no objects.
            let tags: BTreeMap<String, String> =
                serde_json::from_str(&dataset.cell("Tags", &row)).unwrap();
            assert!(tags.values().all(|tag| !tag.is_empty()));
        }
        assert!(COLUMNS.is_sorted(), "{COLUMNS:?}");
        for column in COLUMNS {
            let is_ours = column.starts_with(|first: char| first.is_lowercase());
            assert_eq!(is_ours, column.starts_with("x_"), "{column}");
        }
    }
}
