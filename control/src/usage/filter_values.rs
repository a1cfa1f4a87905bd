//! Whether the ledger has what `--key`, `--group` and `--model` name.

use trilane_console::ledger::LedgerRecord;

use super::args::UsageArgs;
use crate::failure::Failure;
use crate::terminal::{printable, say};

/// The most ids that a message lists.
const HANDFUL: usize = 5;

/// One value of `--key`, `--group` or `--model`.
#[derive(Debug)]
struct FilterValue {
    what: FilterColumn,
    wanted: String,
    /// Whether any request has it.
    there: bool,
    /// Whether any selected request has it.
    counted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterColumn {
    Key,
    Group,
    Model,
}

impl FilterColumn {
    const ALL: [Self; 3] = [Self::Key, Self::Group, Self::Model];

    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Group => "group",
            Self::Model => "model",
        }
    }

    fn of<'a>(self, record: &'a LedgerRecord<'_>) -> &'a str {
        let value = match self {
            Self::Key => record.key(),
            Self::Group => record.group(),
            Self::Model => record.model(),
        };
        if value.is_empty() { "-" } else { value }
    }
}

/// The values that were named, and some that exist.
#[derive(Debug)]
pub struct FilterValues {
    values: Vec<FilterValue>,
    /// The first few existing ids, by [`FilterColumn`]; one more than a message lists.
    known: [Vec<String>; FilterColumn::ALL.len()],
}

impl FilterValues {
    /// The values that the command line names.
    pub fn new(args: &UsageArgs) -> Self {
        let lists = [&args.key, &args.group, &args.model];
        let lists = FilterColumn::ALL.into_iter().zip(lists);
        let values = lists.flat_map(|(what, list)| {
            list.iter().map(move |wanted| FilterValue {
                what,
                wanted: wanted.clone(),
                there: false,
                counted: false,
            })
        });
        Self {
            values: values.collect(),
            known: Default::default(),
        }
    }

    /// Notes a request, and whether it is selected.
    pub fn see(&mut self, record: &LedgerRecord<'_>, counts: bool) {
        if self.values.is_empty() {
            return;
        }
        for value in &mut self.values {
            if !value.counted && value.what.of(record) == value.wanted {
                value.there = true;
                value.counted = counts;
            }
        }
        for (what, known) in FilterColumn::ALL.into_iter().zip(&mut self.known) {
            let id = what.of(record);
            if known.len() <= HANDFUL && id != "-" && !known.iter().any(|known| known == id) {
                known.push(id.to_owned());
            }
        }
    }

    /// Reports values without any request.
    ///
    /// # Errors
    /// The ledger has none of a value: an empty result must not pass for an answer.
    pub fn verdict(&self) -> Result<(), Failure> {
        let missing: Vec<&FilterValue> =
            self.values.iter().filter(|value| !value.counted).collect();
        for FilterValue {
            what,
            wanted,
            there,
            ..
        } in &missing
        {
            let name = what.name();
            let wanted = printable(wanted);
            say(&if *there {
                format!(
                    "error: --{name} {wanted}: there are requests with it, but none that the other options leave"
                )
            } else {
                format!(
                    "error: --{name} {wanted}: no request has it{}",
                    self.known_text(*what)
                )
            });
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(Failure::Told)
        }
    }

    /// A handful of existing ids.
    fn known_text(&self, what: FilterColumn) -> String {
        let known = self.known.get(what as usize).map(Vec::as_slice);
        let known = known.unwrap_or_default();
        if known.is_empty() {
            return format!("; none has any {}", what.name());
        }
        let listed: Vec<String> = known.iter().take(HANDFUL).map(|id| printable(id)).collect();
        let more = if known.len() > HANDFUL { ", …" } else { "" };
        format!("; there are {}{more}", listed.join(", "))
    }
}
