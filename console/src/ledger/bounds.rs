//! Bounds of a ledger line's values. All that a gateway writes is within them; all that is within them can be stored, and added up with
//! some nine thousand million others.

use super::measure::Measure;
use super::record::LedgerRecord;

/// The greatest count of a line.
const COUNT: u64 = 1_000_000_000;
/// The longest id or name, in bytes.
const NAME: usize = 256;
/// The longest that all of them may be together, in bytes: an index of PostgreSQL has 2704 for all that usage is looked at by.
const NAMES: usize = 2000;

/// Tells which value of a record is beyond its bound.
pub(super) fn problem(record: &LedgerRecord<'_>) -> Option<String> {
    let names = [
        record.key(),
        record.owner(),
        record.team(),
        record.group(),
        record.source(),
        record.account(),
        record.model(),
        record.entry(),
        record.outcome(),
    ];
    let lengths = names.map(str::len);
    if lengths.iter().any(|length| *length > NAME) || record.counters().len() > NAME {
        return Some(format!("an id or name has more than {NAME} bytes"));
    }
    if lengths.into_iter().fold(0, usize::saturating_add) > NAMES {
        return Some(format!("all ids and names have more than {NAMES} bytes"));
    }
    let currency = record.currency();
    let is_code = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase());
    if !currency.is_empty() && !is_code {
        return Some("trilane.currency is no code of three letters, such as USD".to_owned());
    }
    let mut measures = Measure::ALL.into_iter();
    let absurd = measures.find(|measure| record.amount(*measure) > COUNT)?;
    Some(format!("the count of {} is more than 10^9", absurd.name()))
}
