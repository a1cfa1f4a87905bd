//! A record of the ledger, and why a line gives none.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hashbrown::HashSet;
use serde::Deserialize;
use serde::de::IgnoredAny;
use time::OffsetDateTime;
use trilane::ledger::{AttemptFailure, FailedAttempt, UsageStatus};
use trilane::limits::{SubjectKind, member_id};
use trilane::money::Amount;

use super::measure::Measure;
use super::{bounds, charge};
use crate::timestamp;

/// The outcome of an attempt that was answered, and that of an attempt before whose answer the client left.
const ANSWERED: &str = "answered";
const LEFT: &str = "client_left";
/// One request, from its ledger line. Texts are empty where the line has none.
#[derive(Debug)]
pub struct LedgerRecord<'a> {
    line: LineMembers<'a>,
    /// The time at which the request began.
    pub time: OffsetDateTime,
    /// The status of its usage.
    pub status: UsageStatus,
    /// The charge; `None` if the model has no prices or the usage is not known.
    pub charge: Option<Amount>,
}

/// The reason that a line gives no record.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is not a ledger line, but something else in the same file.
    Foreign(String),
    /// It is a ledger line of a request, but has an invalid value.
    Damaged(String),
    /// It is the beginning of a JSON object.
    Cut,
}

impl<'a> LedgerRecord<'a> {
    /// Reads a line; a line feed at its end may be there or not.
    ///
    /// # Errors
    /// The reason that the line gives no record.
    pub fn parse(text: &'a [u8]) -> Result<Self, Unread> {
        // Serde would take an array for a struct as well.
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Err(Unread::Foreign("not a JSON object".to_owned()));
        }
        // Checking UTF-8 once costs a fraction of checking each string. Members that are skipped may still be
        // no UTF-8.
        let line: Result<LineMembers<'a>, _> = match str::from_utf8(text) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(text),
        };
        let line = line.map_err(|error| why_unread(text, &error))?;
        if !line.is_of_a_request() {
            return Err(Unread::Foreign(
                "a JSON object, but not of a request".to_owned(),
            ));
        }
        line.into_record().map_err(Unread::Damaged)
    }

    /// Returns the time at which the request ended; the time at which it began if the line has no duration.
    pub fn end(&self) -> OffsetDateTime {
        let duration = self.line.duration.as_ref().and_then(Lenient::valid);
        let later = duration.and_then(|milliseconds| timestamp::after(self.time, *milliseconds));
        later.unwrap_or(self.time)
    }

    /// The status of the response; 0: none was sent.
    pub fn status_code(&self) -> u16 {
        self.line.status_code.unwrap_or_default()
    }

    /// Returns the time from the request's head to the first byte of the response's body, in microseconds.
    pub fn first_byte_us(&self) -> Option<u64> {
        self.line.first_byte.as_ref()?.valid().copied()
    }

    /// The attempts at upstream accounts: source and account of each, and how it ended. Names and kinds that no gateway writes are left
    /// out, so that counts by them are bounded.
    pub fn attempts(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        // Without a status the client left before the last one answered.
        let ended = if self.status_code() == 0 {
            LEFT
        } else {
            ANSWERED
        };
        let last = self.answering();
        let last = last.map(|(source, account)| (source, account, ended));
        let failed = self
            .failed()
            .filter(|(_, failed)| failed.kind != AttemptFailure::Request);
        let failed =
            failed.map(|(source, failed)| (source, failed.account.as_str(), failed.kind.name()));
        failed.chain(last)
    }

    /// The source and account of the last attempt, where it did not fail.
    pub fn answering(&self) -> Option<(&str, &str)> {
        let tries = self.line.tries.as_ref().and_then(Lenient::valid);
        let failures = u64::try_from(self.all_failed().len()).unwrap_or(u64::MAX);
        let is_answered = tries.is_some_and(|tries| *tries > failures);
        let last = Some((self.source(), self.account()));
        last.filter(|(_, account)| is_answered && !account.is_empty())
    }

    /// The attempts that failed because the account's vendor refuses it, each with the source of its account.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, &FailedAttempt)> {
        self.failed()
            .filter(|(_, failed)| failed.kind == AttemptFailure::Unauthorized)
    }

    /// The failed attempts, each with the source of its account.
    fn failed(&self) -> impl Iterator<Item = (&str, &FailedAttempt)> {
        self.all_failed().iter().filter_map(|attempt| {
            let attempt = attempt.valid()?;
            let (source, account) = (attempt.source.as_deref(), &attempt.account);
            let source = source.unwrap_or(self.source());
            let is_name = !account.is_empty() && account.len() <= 256 && source.len() <= 256;
            is_name.then_some((source, attempt))
        })
    }

    /// The failed attempts as the line has them.
    fn all_failed(&self) -> &[Lenient<FailedAttempt>] {
        let failed = self.line.failed.as_ref().and_then(Lenient::valid);
        failed.map(Vec::as_slice).unwrap_or_default()
    }

    /// The account key's id.
    pub fn key(&self) -> &str {
        present(&self.line.key)
    }

    /// The key's owner.
    pub fn owner(&self) -> &str {
        present(&self.line.owner)
    }

    /// The key's team.
    pub fn team(&self) -> &str {
        present(&self.line.team)
    }

    /// The number of the process in whose counters the charge is; empty where it is in none that a feed knows of.
    pub fn instance(&self) -> &str {
        let instance = present(&self.line.instance);
        let plain = instance.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if plain && instance.len() <= 64 {
            instance
        } else {
            ""
        }
    }

    /// The id of the key in whose counters the charge is.
    pub fn counters(&self) -> &str {
        match present(&self.line.counts_as) {
            "" => self.key(),
            counters => counters,
        }
    }

    /// The subjects of the request: of what kind, the id (empty: there is none), and whether a budget of it was counted.
    pub fn subjects(&self) -> [(SubjectKind, Cow<'_, str>, bool); 5] {
        let line = &self.line;
        let member = match (self.owner(), self.team()) {
            ("", _) | (_, "") => String::new(),
            (owner, team) => member_id(owner, team),
        };
        [
            (
                SubjectKind::Key,
                self.counters().into(),
                line.spent_key.is_some(),
            ),
            (
                SubjectKind::Member,
                member.into(),
                line.spent_member.is_some(),
            ),
            (
                SubjectKind::Owner,
                self.owner().into(),
                line.spent_owner.is_some(),
            ),
            (
                SubjectKind::Team,
                self.team().into(),
                line.spent_team.is_some(),
            ),
            (
                SubjectKind::Group,
                self.group().into(),
                line.spent_group.is_some(),
            ),
        ]
    }

    /// The key's group.
    pub fn group(&self) -> &str {
        present(&self.line.group)
    }

    /// The model's canonical name.
    pub fn model(&self) -> &str {
        present(&self.line.model)
    }

    /// The source group of the model.
    pub fn source(&self) -> &str {
        present(&self.line.source)
    }

    /// The upstream account that responded, or was tried last.
    pub fn account(&self) -> &str {
        present(&self.line.account)
    }

    /// The entry.
    pub fn entry(&self) -> &str {
        present(&self.line.entry)
    }

    /// Returns the outcome of the request.
    pub fn outcome(&self) -> &str {
        present(&self.line.outcome)
    }

    /// Returns the name and version of the client.
    pub fn client(&self) -> &str {
        said(&self.line.client)
    }

    /// Returns the session that the client names.
    pub fn session(&self) -> &str {
        said(&self.line.session)
    }

    /// The labels: names and values.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.line.labels.as_ref().and_then(Lenient::valid);
        let labels = labels.into_iter().flatten();
        labels.map(|(LineText(name), LineText(value))| (&**name, &**value))
    }

    /// Returns the value of a label.
    pub fn label(&self, name: &str) -> &str {
        let mut labels = self.labels();
        labels
            .find(|(of, _)| *of == name)
            .map_or("", |(_, value)| value)
    }

    /// The cost by the vendor's word, in dollars; `None` where it says nothing, or no cost that can be.
    pub fn reported_cost(&self) -> Option<Amount> {
        charge::parse(present(&self.line.reported_cost)).ok()
    }

    /// The cost by the account's factor, in the charge's currency; `None` where the line has none, or none that can be.
    pub fn cost(&self) -> Option<Amount> {
        charge::parse(present(&self.line.cost)).ok()
    }

    /// The charge's currency.
    pub fn currency(&self) -> &str {
        present(&self.line.currency)
    }

    /// The ids of the request: Envoy's, the vendor's of its response and of the request there, and the client's of its session.
    pub fn ids(&self) -> [&str; 4] {
        let line = &self.line;
        [
            present(&line.request_id),
            present(&line.response_id),
            present(&line.upstream_request_id),
            self.session(),
        ]
    }

    /// Returns the value that the record adds to a measure.
    pub fn amount(&self, measure: Measure) -> u64 {
        let line = &self.line;
        let number = match measure {
            Measure::Requests => return 1,
            Measure::Complete => return u64::from(self.status == UsageStatus::Complete),
            Measure::Estimated => return u64::from(self.status == UsageStatus::Estimated),
            Measure::Partial => return u64::from(self.status == UsageStatus::Partial),
            Measure::None => return u64::from(self.status == UsageStatus::None),
            Measure::Failed => return u64::from(self.status == UsageStatus::Failed),
            Measure::Input => line.input,
            Measure::Output => line.output,
            Measure::CacheRead => line.cache_read,
            // Cache writes of unknown duration count as five minutes, as in the gateway.
            Measure::CacheWrite5m => line.cache_write.map_or(line.cache_write_5m, |all| {
                Some(all.saturating_sub(line.cache_write_1h.unwrap_or(0)))
            }),
            Measure::CacheWrite1h => line.cache_write_1h,
            Measure::Reasoning => line.reasoning,
            Measure::ToolUse => line.tool_use,
            Measure::InputImage => line.input_image,
            Measure::Images => line.images,
            Measure::InputAudio => line.input_audio,
            Measure::OutputAudio => line.output_audio,
            Measure::OutputImage => line.output_image,
            Measure::WebSearch => line.web_search,
            Measure::CodeExecution => line.code_execution,
            Measure::FileSearch => line.file_search,
            Measure::MapsSearch => line.maps_search,
            Measure::EstimatedInput => line.estimated_input,
            Measure::EstimatedOutput => line.estimated_output,
            Measure::Uncovered => {
                let gaps = line.uncovered.as_ref();
                return u64::from(gaps.is_some_and(|gaps| !gaps.is_empty()));
            }
        };
        number.unwrap_or(0)
    }
}

/// The members of a ledger line that are used here. Others are skipped, whatever their values.
#[derive(Debug, Deserialize)]
struct LineMembers<'a> {
    #[serde(borrow)]
    timestamp: Option<LineText<'a>>,
    #[serde(borrow)]
    request_id: Option<LineText<'a>>,
    #[serde(borrow, rename = "gen_ai.response.id")]
    response_id: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.upstream_request_id")]
    upstream_request_id: Option<LineText<'a>>,
    #[serde(rename = "http.response.status_code")]
    status_code: Option<u16>,
    #[serde(rename = "duration_ms")]
    duration: Option<Lenient<u64>>,
    #[serde(rename = "trilane.time_to_first_byte_us")]
    first_byte: Option<Lenient<u64>>,
    #[serde(rename = "trilane.tries")]
    tries: Option<Lenient<u64>>,
    #[serde(rename = "trilane.tries.failed")]
    failed: Option<Lenient<Vec<Lenient<FailedAttempt>>>>,
    #[serde(borrow, rename = "trilane.usage.status")]
    status: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.outcome")]
    outcome: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.key.id")]
    key: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.key.owner")]
    owner: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.key.team")]
    team: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.key.counts_as")]
    counts_as: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.group")]
    group: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.source")]
    source: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.account")]
    account: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.entry")]
    entry: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.model")]
    model: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.client")]
    client: Option<Lenient<LineText<'a>>>,
    #[serde(borrow, rename = "trilane.session")]
    session: Option<Lenient<LineText<'a>>>,
    #[serde(borrow, rename = "trilane.labels")]
    labels: Option<Lenient<BTreeMap<LineText<'a>, LineText<'a>>>>,
    #[serde(borrow, rename = "trilane.charge")]
    charge: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.cost")]
    cost: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.usage.reported_cost")]
    reported_cost: Option<LineText<'a>>,
    #[serde(borrow, rename = "trilane.currency")]
    currency: Option<LineText<'a>>,
    #[serde(rename = "gen_ai.usage.input_tokens")]
    input: Option<u64>,
    #[serde(rename = "gen_ai.usage.output_tokens")]
    output: Option<u64>,
    #[serde(rename = "gen_ai.usage.cache_read.input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "gen_ai.usage.cache_creation.input_tokens")]
    cache_write: Option<u64>,
    #[serde(rename = "trilane.usage.cache_creation_5m.input_tokens")]
    cache_write_5m: Option<u64>,
    #[serde(rename = "trilane.usage.cache_creation_1h.input_tokens")]
    cache_write_1h: Option<u64>,
    #[serde(rename = "gen_ai.usage.reasoning.output_tokens")]
    reasoning: Option<u64>,
    #[serde(rename = "trilane.usage.tool_use.input_tokens")]
    tool_use: Option<u64>,
    #[serde(rename = "trilane.usage.image.input_tokens")]
    input_image: Option<u64>,
    #[serde(rename = "trilane.usage.images")]
    images: Option<u64>,
    #[serde(rename = "trilane.usage.audio.input_tokens")]
    input_audio: Option<u64>,
    #[serde(rename = "trilane.usage.audio.output_tokens")]
    output_audio: Option<u64>,
    #[serde(rename = "trilane.usage.image.output_tokens")]
    output_image: Option<u64>,
    #[serde(rename = "trilane.usage.calls.web_search")]
    web_search: Option<u64>,
    #[serde(rename = "trilane.usage.calls.code_execution")]
    code_execution: Option<u64>,
    #[serde(rename = "trilane.usage.calls.file_search")]
    file_search: Option<u64>,
    #[serde(rename = "trilane.usage.calls.maps_search")]
    maps_search: Option<u64>,
    #[serde(rename = "trilane.estimated.input_tokens")]
    estimated_input: Option<u64>,
    #[serde(rename = "trilane.estimated.output_tokens")]
    estimated_output: Option<u64>,
    #[serde(borrow, rename = "trilane.instance")]
    instance: Option<LineText<'a>>,
    /// The spend counted against budgets; only whether it was counted matters here.
    #[serde(rename = "trilane.spent.key.day")]
    spent_key: Option<IgnoredAny>,
    #[serde(rename = "trilane.spent.member.day")]
    spent_member: Option<IgnoredAny>,
    #[serde(rename = "trilane.spent.owner.day")]
    spent_owner: Option<IgnoredAny>,
    #[serde(rename = "trilane.spent.team.day")]
    spent_team: Option<IgnoredAny>,
    #[serde(rename = "trilane.spent.group.day")]
    spent_group: Option<IgnoredAny>,
    /// The usage that no price covers; only whether there is any matters here.
    #[serde(rename = "trilane.uncovered")]
    uncovered: Option<Vec<IgnoredAny>>,
}

/// A value that few need, such as how long a request took. An invalid one does not make a line invalid.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Lenient<T> {
    Valid(T),
    Other(IgnoredAny),
}

impl<T> Lenient<T> {
    fn valid(&self) -> Option<&T> {
        match self {
            Self::Valid(value) => Some(value),
            Self::Other(_) => None,
        }
    }
}

/// A string that is borrowed from the line unless it has escapes. (A type of its own, because serde
/// always copies what is an `Option<Cow<str>>`.)
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct LineText<'a>(#[serde(borrow)] Cow<'a, str>);

/// The text, empty if there is none, for which Envoy writes `-`.
fn present<'a>(text: &'a Option<LineText<'_>>) -> &'a str {
    match text {
        Some(LineText(text)) if text != "-" => text,
        _ => "",
    }
}

/// The same of a text that few need.
fn said<'a>(text: &'a Option<Lenient<LineText<'_>>>) -> &'a str {
    match text.as_ref().and_then(Lenient::valid) {
        Some(LineText(text)) if text != "-" => text,
        _ => "",
    }
}

impl<'a> LineMembers<'a> {
    fn is_of_a_request(&self) -> bool {
        self.timestamp.is_some() && (self.status_code.is_some() || self.status.is_some())
    }

    fn into_record(self) -> Result<LedgerRecord<'a>, String> {
        let written = present(&self.timestamp);
        let time = timestamp::parse(written)
            .ok_or_else(|| format!("timestamp {:?} is no RFC 3339 time", start(written)))?;
        let status = match present(&self.status) {
            // A request that never reached the filter has none, and used nothing.
            "" => UsageStatus::None,
            name => UsageStatus::named(name)
                .ok_or_else(|| format!("trilane.usage.status {:?} is not known", start(name)))?,
        };
        let charge = match present(&self.charge) {
            "" => None,
            text => {
                let amount = charge::parse(text);
                Some(amount.map_err(|why| format!("trilane.charge {:?} {why}", start(text)))?)
            }
        };
        let record = LedgerRecord {
            line: self,
            time,
            status,
            charge,
        };
        bounds::problem(&record).map_or(Ok(record), Err)
    }
}

/// The beginning of a text, for a reason that names it.
fn start(text: &str) -> &str {
    text.get(..text.floor_char_boundary(64)).unwrap_or_default()
}

/// Finds the reason that a line could not be read as a ledger line.
fn why_unread(text: &[u8], error: &serde_json::Error) -> Unread {
    if error.is_eof() {
        return Unread::Cut;
    }
    // Only the names: a ledger line with invalid values is still a request that must not be lost silently.
    match serde_json::from_slice::<Keys<'_>>(text) {
        Ok(keys) if keys.are_of_a_request() => Unread::Damaged(told(error)),
        Ok(_) => Unread::Foreign("a JSON object, but not of a request".to_owned()),
        Err(error) => Unread::Foreign(format!("not JSON: {}", told(&error))),
    }
}

/// An error's text without its line number, which is always 1.
fn told(error: &serde_json::Error) -> String {
    error
        .to_string()
        .replace(" at line 1 column ", " at column ")
}

/// The names of a JSON object's members, which may occur more than once.
#[derive(Debug)]
struct Keys<'a>(HashSet<Cow<'a, str>>);

impl Keys<'_> {
    fn are_of_a_request(&self) -> bool {
        let has = |key: &str| self.0.contains(key);
        has("timestamp") && (has("http.response.status_code") || has("trilane.usage.status"))
    }
}

impl<'de> Deserialize<'de> for Keys<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Keys<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut keys = HashSet::new();
                while let Some(LineText(key)) = map.next_key::<LineText<'de>>()? {
                    map.next_value::<IgnoredAny>()?;
                    keys.insert(key);
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests;
