//! The totals of each group of records.

use hashbrown::HashMap;
use trilane_console::ledger::{LedgerRecord, Measure, UsageColumn, UsageTotals};

use super::report::{UsageReport, UsageRow};

/// Ends a value in a map key of several. It is not a byte of UTF-8.
const END: u8 = 0xff;

/// Adds up records. Memory grows by about a kilobyte for each combination of values that occurs, and by nothing else.
#[derive(Debug)]
pub struct Groups {
    columns: Vec<UsageColumn>,
    /// By the values of the columns, then the currency, each ended by [`END`].
    groups: HashMap<Box<[u8]>, UsageTotals>,
    /// All records, by currency; the few that there are.
    all: Vec<(Box<str>, UsageTotals)>,
    /// Complete records without a charge.
    uncharged: u64,
    /// The map key of the current record; kept to save an allocation for each.
    key: Vec<u8>,
}

impl Groups {
    /// Begins without records.
    pub fn new(columns: &[UsageColumn]) -> Self {
        Self {
            columns: columns.to_vec(),
            groups: HashMap::new(),
            all: Vec::new(),
            uncharged: 0,
            key: Vec::new(),
        }
    }

    /// Adds a record.
    pub fn add(&mut self, record: &LedgerRecord<'_>) {
        self.key.clear();
        for column in &self.columns {
            self.key.extend_from_slice(column.value(record).as_bytes());
            self.key.push(END);
        }
        for totals in self.totals(record.currency()) {
            totals.add(record);
        }
        if record.charge.is_none() && record.amount(Measure::Complete) == 1 {
            self.uncharged = self.uncharged.saturating_add(1);
        }
    }

    /// Adds sums of records that have these values and this currency.
    pub fn add_sums(&mut self, values: &[String], currency: &str, sums: &UsageTotals) {
        self.key.clear();
        for value in values {
            self.key.extend_from_slice(value.as_bytes());
            self.key.push(END);
        }
        for totals in self.totals(currency) {
            totals.add_all(sums);
        }
    }

    /// The totals of the current values and of all, in a currency.
    fn totals(&mut self, currency: &str) -> impl Iterator<Item = &mut UsageTotals> {
        self.key.extend_from_slice(currency.as_bytes());
        self.key.push(END);
        let of_values = self.groups.entry_ref(self.key.as_slice()).or_default();
        let known = self.all.iter().position(|(known, _)| **known == *currency);
        let place = known.unwrap_or(self.all.len());
        if known.is_none() {
            self.all.push((currency.into(), UsageTotals::default()));
        }
        let of_all = self.all.get_mut(place).map(|(_, totals)| totals);
        core::iter::once(of_values).chain(of_all)
    }

    /// The sorted report.
    pub fn into_report(self) -> UsageReport {
        let one_currency = self.one_currency();
        // Rows without a charge have no currency. They get the only one, if there is only one.
        let common = |currency: String| one_currency.clone().unwrap_or(currency);
        let apart = self.columns.contains(&UsageColumn::Currency);

        let rows = self.groups.into_iter().map(|(key, totals)| {
            let mut values: Vec<String> = key
                .split(|byte| *byte == END)
                .map(|value| String::from_utf8_lossy(value).into_owned())
                .collect();
            values.pop(); // after the last END
            let currency = values.pop().unwrap_or_default();
            let currency = if apart { currency } else { common(currency) };
            UsageRow {
                values,
                currency,
                totals,
            }
        });
        let all = self.all.into_iter().map(|(currency, totals)| UsageRow {
            values: Vec::new(),
            currency: common(currency.into()),
            totals,
        });
        let rows = merged(rows.collect());
        let mut totals = merged(all.collect());
        if totals.is_empty() {
            totals.push(UsageRow::default());
        }
        UsageReport {
            columns: self.columns,
            rows,
            totals,
            uncharged: self.uncharged,
            unknown: Vec::new(),
        }
    }

    /// The only currency of all charges, empty if there are none; `None` if there are several.
    fn one_currency(&self) -> Option<String> {
        let mut currencies = self
            .all
            .iter()
            .filter(|(currency, totals)| !currency.is_empty() || !totals.charge.is_zero())
            .map(|(currency, _)| currency.to_string());
        let one = currencies.next().unwrap_or_default();
        currencies.next().is_none().then_some(one)
    }
}

/// Sorts rows by values, then currency, and merges equal ones.
fn merged(mut rows: Vec<UsageRow>) -> Vec<UsageRow> {
    rows.sort_by(|a, b| (&a.values, &a.currency).cmp(&(&b.values, &b.currency)));
    rows.dedup_by(|row, kept| {
        let alike = row.values == kept.values && row.currency == kept.currency;
        if alike {
            // One of the two had no currency, so it has no charge.
            kept.totals.add_all(&row.totals);
        }
        alike
    });
    rows
}

#[cfg(test)]
mod tests;
