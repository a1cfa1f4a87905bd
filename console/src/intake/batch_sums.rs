//! The sums of the lines of a batch.

use core::mem;
use std::collections::{BTreeMap, HashMap};

use memchr::{memchr, memchr_iter};
use time::{Duration, OffsetDateTime};
use trilane::config::labels::Label;
use trilane::limits::{Period, SubjectKind, Window, member_id, member_parts};
use trilane::money::Amount;

use super::batch::LedgerBatch;
use crate::ledger::{LABEL, LedgerRecord, Sum, Unread, UsageColumn, owner_member};
use crate::store::account_answers::{AccountAnswers, AccountName, Refusal};
use crate::store::erasures::Pseudonyms;
use crate::store::hour_counts::{self, AttemptKey, FirstByteKey};
use crate::store::lines_aside::AsideLine;
use crate::store::request_ids;
use crate::store::requests::StoredRequest;
use crate::store::spend::SpendKey;
use crate::store::spend_feed::ShareKey;
use crate::store::usage_dimensions::{self, DimensionKey, DimensionRows};
use crate::store::usage_rows::{OWNER, UsageKey, UsageRows};
use crate::timestamp::{hour, microseconds};

/// The longest line that is read, in bytes without its line feed: as `trilane usage` reads them.
pub const LONGEST: usize = 1 << 20;
/// The details of lines that are void.
const NOT_COUNTED: &str = "of a time that was made void before it came";
const TAKEN_AWAY: &str = "was counted, and is no more";
/// The most of a line that is kept aside, in bytes.
const KEPT: usize = 1000;

/// The most of a vendor's code that is kept, in characters: as the gateway writes it.
const CODE: usize = 64;

/// The labels of a line that are added up: a document has no more.
const LABELS: usize = 4;
/// The longest client, session or value of a label that is added up, in bytes: gateways write shorter ones.
const LONGEST_VALUE: usize = 128;

/// The reason of lines that are kept aside because somebody has made them void.
pub const VOID: &str = "void";

/// The sums of the lines of a batch.
#[derive(Debug, Default)]
pub struct BatchSums {
    envoy: String,
    file: String,
    /// The bytes that were read: to the end of the last whole line.
    pub read: usize,
    /// Whether that is within a line that is too long.
    pub skipping: bool,
    /// By how much the times of lines are set back.
    correction: Duration,
    /// Times of which lines are void, in microseconds since 1970.
    void: Vec<(i64, i64)>,
    /// Usage by hour.
    pub hours: UsageRows,
    /// Usage by day and by what requests say of themselves.
    pub dimensions: DimensionRows,
    /// Charges by subject and period.
    pub charges: BTreeMap<SpendKey, Sum>,
    /// Those of them that a process has in its own counters.
    pub shares: BTreeMap<ShareKey, Sum>,
    /// The time of the latest use of each key, in microseconds since 1970.
    pub used: BTreeMap<String, i64>,
    /// The counts of responses by their time to the first byte.
    pub first_bytes: BTreeMap<FirstByteKey, i64>,
    /// The counts of attempts at upstream accounts by their outcome.
    pub attempts: BTreeMap<AttemptKey, i64>,
    /// The latest answers of upstream accounts.
    pub answers: BTreeMap<AccountName, AccountAnswers>,
    /// The lines that were counted.
    pub requests: Vec<StoredRequest>,
    /// Those that were not.
    pub aside: Vec<AsideLine>,
}

impl BatchSums {
    /// Reads the whole lines of a batch. `skipping`: it begins within a line that is too long. If its file ends with it, the
    /// last line is one, whole or not. Times are set back by the `correction` of its Envoy's clock, and lines of times that are
    /// `void` are kept aside.
    pub fn of(
        batch: &LedgerBatch<'_>,
        skipping: bool,
        correction: Duration,
        void: Vec<(i64, i64)>,
    ) -> Self {
        let (bytes, from, ends) = (batch.bytes(), batch.from(), batch.ends());
        let mut sums = Self {
            envoy: batch.envoy().to_owned(),
            file: batch.file().to_owned(),
            correction,
            void,
            ..Self::default()
        };
        if skipping {
            match memchr(b'\n', bytes) {
                Some(end) => sums.read = end.saturating_add(1),
                None => {
                    sums.read = bytes.len();
                    sums.skipping = !ends;
                    return sums;
                }
            }
        }
        let start = sums.read;
        let rest = bytes.get(start..).unwrap_or_default();
        for end in memchr_iter(b'\n', rest) {
            let end = start.saturating_add(end);
            let line = bytes.get(sums.read..end).unwrap_or_default();
            sums.line(line, place(from, sums.read), true);
            sums.read = end.saturating_add(1);
        }
        let tail = bytes.get(sums.read..).unwrap_or_default();
        if ends {
            sums.line(tail, place(from, sums.read), false);
            sums.read = bytes.len();
        } else if tail.len() > LONGEST {
            // Its end may be anywhere: no batch needs to have all of it.
            sums.line(tail, place(from, sums.read), false);
            sums.read = bytes.len();
            sums.skipping = true;
        }
        sums
    }

    fn line(&mut self, line: &[u8], position: i64, ended: bool) {
        if line.trim_ascii().is_empty() {
            return;
        }
        if line.len() > LONGEST {
            let why = format!("longer than {LONGEST} bytes");
            self.keep_aside(line, position, "too_long", why);
            return;
        }
        match LedgerRecord::parse(line) {
            Ok(record) => {
                let at = microseconds(self.corrected(record.time));
                if self
                    .void
                    .iter()
                    .any(|(since, until)| (*since..*until).contains(&at))
                {
                    self.keep_aside(line, position, VOID, NOT_COUNTED.to_owned());
                } else {
                    self.keep(&record, line, position);
                    self.add(&record);
                }
            }
            Err(Unread::Foreign(why)) => self.keep_aside(line, position, "foreign", why),
            Err(Unread::Damaged(why)) => self.keep_aside(line, position, "damaged", why),
            Err(Unread::Cut) => {
                let why = if ended {
                    "ends within a JSON object"
                } else {
                    "the file ends within it"
                };
                self.keep_aside(line, position, "cut", why.to_owned());
            }
        }
    }

    /// A time of a line, by the console's clock.
    fn corrected(&self, time: OffsetDateTime) -> OffsetDateTime {
        let corrected = time.checked_sub(self.correction);
        corrected.filter(|time| time.year() >= 0).unwrap_or(time)
    }

    /// Adds up a line that was counted with the clock of then, and keeps it aside.
    pub fn take_counted(&mut self, counted: &StoredRequest) {
        let line = counted.line.as_bytes();
        let Ok(record) = LedgerRecord::parse(line) else {
            // A release before has read it.
            let why = "void, and cannot be read any more: it stays in the sums".to_owned();
            self.keep_aside(line, counted.position, VOID, why);
            return;
        };
        // Moments are cut to microseconds, corrections are whole milliseconds.
        let at = i128::from(counted.at).saturating_mul(1000);
        let ahead = record.time.unix_timestamp_nanos().saturating_sub(at);
        let milliseconds = ahead.saturating_add(500_000).div_euclid(1_000_000);
        self.correction = Duration::milliseconds(i64::try_from(milliseconds).unwrap_or_default());
        self.add(&record);
        self.keep_aside(line, counted.position, VOID, TAKEN_AWAY.to_owned());
    }

    fn keep(&mut self, record: &LedgerRecord<'_>, line: &[u8], position: i64) {
        let at = microseconds(self.corrected(record.time));
        self.requests.push(StoredRequest {
            envoy_id: self.envoy.clone(),
            file_id: self.file.clone(),
            position,
            at,
            key_id: text(record.key()),
            owner: text(record.owner()),
            team: text(record.team()),
            group_id: text(record.group()),
            account: text(record.account()),
            model: text(record.model()),
            status: record.status_code().to_string(),
            outcome: text(record.outcome()),
            ids: record.ids().map(request_ids::digest),
            line: text(&String::from_utf8_lossy(line)),
        });
    }

    /// Adds up a record.
    fn add(&mut self, record: &LedgerRecord<'_>) {
        let begun = self.corrected(record.time);
        let at = microseconds(begun);
        let key = UsageKey::from([
            hour(begun),
            text(record.key()),
            text(record.owner()),
            text(record.team()),
            text(record.group()),
            text(record.source()),
            text(record.account()),
            text(record.model()),
            text(record.entry()),
            text(record.outcome()),
            text(record.currency()),
        ]);
        self.count(record);
        self.add_dimensions(record, &key);
        self.hours.entry(key).or_default().add(record);
        // A key that is refused was not used.
        if !record.key().is_empty() && record.status_code() != 401 {
            let used = self.used.entry(text(record.key())).or_insert(at);
            *used = at.max(*used);
        }
        let Some(charge) = record.charge.filter(|charge| *charge != Amount::ZERO) else {
            return;
        };
        let end = self.corrected(record.end()).date();
        for (kind, subject, counted) in record.subjects() {
            if subject.is_empty() {
                continue;
            }
            for window in Window::ALL {
                let key = SpendKey {
                    kind,
                    subject: text(&subject),
                    period: Period::of(window, end).to_string(),
                    currency: text(record.currency()),
                };
                if counted && !record.instance().is_empty() {
                    let share = ShareKey {
                        of: key.clone(),
                        instance: record.instance().to_owned(),
                    };
                    self.shares.entry(share).or_default().add(charge);
                }
                self.charges.entry(key).or_default().add(charge);
            }
        }
    }

    /// Adds up what a record says of its request.
    fn add_dimensions(&mut self, record: &LedgerRecord<'_>, hours: &UsageKey) {
        let [hour, key, owner, team, .., currency] = hours;
        let day = hour.get(..10).unwrap_or(hour);
        let labels = record.labels().filter(|(name, _)| Label::is_name(name));
        let labels = labels.map(|(name, value)| (format!("{LABEL}{name}"), value));
        let own = [
            (UsageColumn::Client, record.client()),
            (UsageColumn::Session, record.session()),
        ];
        let own = own.map(|(column, value)| (column.name().to_owned(), value));
        let of_request = own.into_iter().chain(labels.take(LABELS));
        for (dimension, value) in
            of_request.filter(|(_, value)| (1..=LONGEST_VALUE).contains(&value.len()))
        {
            let key = DimensionKey::from([
                dimension,
                day.to_owned(),
                key.clone(),
                owner.clone(),
                team.clone(),
                text(value),
                currency.clone(),
            ]);
            self.dimensions.entry(key).or_default().add(record);
        }
    }

    /// Gives what belongs to persons whose data is erased to their pseudonyms.
    pub fn give_pseudonyms(&mut self, pseudonyms: &Pseudonyms) {
        if pseudonyms.is_empty() {
            return;
        }
        for aside in &mut self.aside {
            let other = |owner: &str| pseudonyms.of(owner).map(str::to_owned);
            aside.line = owner_member::replaced_within(&aside.line, other);
        }
        let mut others: HashMap<String, String> = HashMap::new();
        for request in &mut self.requests {
            if !others.contains_key(&request.owner) {
                let Some(pseudonym) = pseudonyms.of(&request.owner) else {
                    continue;
                };
                others.insert(request.owner.clone(), pseudonym.to_owned());
            }
            let Some(pseudonym) = others.get(&request.owner) else {
                continue;
            };
            request.line = owner_member::replaced(&request.line, pseudonym);
            request.owner.clone_from(pseudonym);
        }
        if others.is_empty() {
            return;
        }
        for (mut key, totals) in mem::take(&mut self.hours) {
            give(key.get_mut(OWNER), &others);
            self.hours.entry(key).or_default().add_all(&totals);
        }
        for (mut key, totals) in mem::take(&mut self.dimensions) {
            give(key.get_mut(usage_dimensions::OWNER), &others);
            self.dimensions.entry(key).or_default().add_all(&totals);
        }
        for (mut key, charge) in mem::take(&mut self.charges) {
            give_subject(&mut key, &others);
            self.charges.entry(key).or_default().add_sum(&charge);
        }
        for (mut share, charge) in mem::take(&mut self.shares) {
            give_subject(&mut share.of, &others);
            self.shares.entry(share).or_default().add_sum(&charge);
        }
    }

    /// Counts what the line says of the time to the first byte, and of attempts.
    fn count(&mut self, record: &LedgerRecord<'_>) {
        let hour = hour(self.corrected(record.time));
        let is_good = (200..300).contains(&record.status_code());
        if let Some(microseconds) = record.first_byte_us().filter(|_| is_good) {
            let bound = hour_counts::bound(microseconds);
            let (model, account) = (text(record.model()), text(record.account()));
            let key = (hour.clone(), model, account, bound);
            let count = self.first_bytes.entry(key).or_default();
            *count = count.saturating_add(1);
        }
        for (source, account, ended) in record.attempts() {
            let key = [hour.clone(), text(source), text(account), text(ended)];
            let count = self.attempts.entry(key).or_default();
            *count = count.saturating_add(1);
        }
        let at = microseconds(self.corrected(record.time));
        for (source, refused) in record.refusals() {
            let words = refused.error.as_ref();
            let code = words.and_then(|error| error.code.as_ref().or(error.kind.as_ref()));
            let refusal = Refusal {
                fault: refused
                    .fault
                    .map_or_else(String::new, |fault| text(fault.name())),
                status: refused.status.into(),
                code: code.map_or_else(String::new, |code| text(code).chars().take(CODE).collect()),
            };
            let account = (text(source), text(&refused.account));
            self.answers.entry(account).or_default().refuse(at, refusal);
        }
        if let Some((source, account)) = record.answering().filter(|_| is_good) {
            let account = (text(source), text(account));
            self.answers.entry(account).or_default().answer(at);
        }
    }

    fn keep_aside(&mut self, line: &[u8], position: i64, reason: &str, detail: String) {
        let kept = line.get(..KEPT).unwrap_or(line);
        self.aside.push(AsideLine {
            position,
            length: i64::try_from(line.len()).unwrap_or(i64::MAX),
            reason: reason.to_owned(),
            detail: text(
                detail
                    .get(..detail.floor_char_boundary(KEPT))
                    .unwrap_or_default(),
            ),
            line: text(&String::from_utf8_lossy(kept)),
        });
    }
}

fn give_subject(key: &mut SpendKey, others: &HashMap<String, String>) {
    match key.kind {
        SubjectKind::Owner => give(Some(&mut key.subject), others),
        SubjectKind::Member => {
            let known = member_parts(&key.subject)
                .and_then(|(owner, team)| Some(member_id(others.get(owner)?, team)));
            if let Some(other) = known {
                key.subject = other;
            }
        }
        SubjectKind::Key | SubjectKind::Team | SubjectKind::Group => {}
    }
}

fn give(owner: Option<&mut String>, others: &HashMap<String, String>) {
    if let Some(owner) = owner
        && let Some(other) = others.get(owner)
    {
        owner.clone_from(other);
    }
}

/// A text that both engines store: PostgreSQL has none with a zero.
fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn place(from: i64, offset: usize) -> i64 {
    from.saturating_add(i64::try_from(offset).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
