//! The remaining limits and budgets of a key, and why its requests fail now, in one response.

use std::collections::BTreeMap;

use serde::Serialize;
use trilane::config::Document;
use trilane::config::document::LimitsDocument;
use trilane::limits::{SubjectKind, member_id};
use utoipa::ToSchema;

use super::binding::{self, RemainingSubject};
use super::diagnosis::{self, Diagnosis};
use super::recent;
use crate::cases::caller::Caller;
use crate::cases::keys::find_own;
use crate::cases::one_request;
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::state::ConsoleState;
use crate::explain::LedgerLine;
use crate::store::documents::{self, PublishedDocument};
use crate::store::keys::StoredKey;
use crate::store::requests::{self, RequestQuery, StoredRequest};
use crate::store::{StoreError, Transaction, spend_feed};
use crate::timestamp::moment;

/// The remaining limits and budgets that apply to a key, and why its requests fail now.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct KeyRemaining {
    /// The currency of budgets; missing where no document is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) currency: Option<String>,
    /// The key, its owner as a member of its team, its owner, its team and its group, in this order: those that have limits or budgets. A request must be allowed by
    /// all of them.
    pub(crate) subjects: Vec<RemainingSubject>,
    /// The diagnosis: whether requests fail now, and the reason.
    pub(crate) requests: Diagnosis,
}

impl KeyRemaining {
    /// The same for who holds the key.
    #[must_use]
    pub(crate) fn for_holder(self) -> Self {
        let subjects = self.subjects.into_iter();
        let mut subjects: Vec<RemainingSubject> =
            subjects.map(RemainingSubject::for_holder).collect();
        binding::mark_tightest(&mut subjects);
        Self { subjects, ..self }
    }
}

/// Reads what is left for keys, one after the other. What several keys have in common is read once.
pub struct KeyReader {
    now: i64,
    published: Option<PublishedDocument>,
    document: Option<Document>,
    shared: BTreeMap<(SubjectKind, String), Option<RemainingSubject>>,
}

impl KeyReader {
    /// With the document that is in force.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn new(transaction: &mut Transaction, now: i64) -> Result<Self, StoreError> {
        let published = documents::current(transaction).await?;
        let parsed = published
            .as_ref()
            .and_then(|current| Document::parse(current.served.as_bytes()).ok());
        Ok(Self {
            now,
            published,
            document: parsed,
            shared: BTreeMap::new(),
        })
    }

    /// Reads the remaining limits and budgets that apply to a key, and why its requests fail now.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn remaining(
        &mut self,
        transaction: &mut Transaction,
        key: &StoredKey,
    ) -> Result<KeyRemaining, StoreError> {
        let currency = self.document.as_ref();
        let currency = currency.and_then(|document| document.currency.clone());
        let mut subjects = self.subjects(transaction, key, currency.as_deref()).await?;
        binding::mark_tightest(&mut subjects);
        let of_key = diagnosis::of_key(key, self.document.as_ref(), &moment(self.now));
        let known = of_key
            .or_else(|| diagnosis::of_budgets(&subjects, currency.as_deref().unwrap_or_default()));
        let requests = match known {
            Some(known) => known,
            None => self.of_requests(transaction, key).await?,
        };
        Ok(KeyRemaining {
            currency,
            subjects,
            requests,
        })
    }

    async fn subjects(
        &mut self,
        transaction: &mut Transaction,
        key: &StoredKey,
        currency: Option<&str>,
    ) -> Result<Vec<RemainingSubject>, StoreError> {
        let own = key.limits.as_deref();
        let own = own.and_then(|limits| serde_json::from_str(limits).ok());
        let own: LimitsDocument = own.unwrap_or_default();
        let mut subjects = Vec::new();
        let of_key = (SubjectKind::Key, key.counters());
        subjects.extend(binding::read(transaction, of_key, &own, currency, self.now).await?);
        let member = key.owner.as_deref().zip(key.team.as_deref());
        let member = member.map(|(owner, team)| member_id(owner, team));
        for (kind, id) in [
            (SubjectKind::Member, member.as_deref()),
            (SubjectKind::Owner, key.owner.as_deref()),
            (SubjectKind::Team, key.team.as_deref()),
            (SubjectKind::Group, Some(key.group_id.as_str())),
        ] {
            let Some(id) = id else {
                continue;
            };
            let place = (kind, id.to_owned());
            if !self.shared.contains_key(&place) {
                let limits = self.limits(transaction, kind, id).await?;
                let of = (kind, id);
                let read = binding::read(transaction, of, &limits, currency, self.now).await?;
                self.shared.insert(place.clone(), read);
            }
            subjects.extend(self.shared.get(&place).cloned().flatten());
        }
        Ok(subjects)
    }

    /// The limits of a member, an owner or a team, which are in the database, or of a group, which are in the document.
    async fn limits(
        &self,
        transaction: &mut Transaction,
        kind: SubjectKind,
        id: &str,
    ) -> Result<LimitsDocument, StoreError> {
        if kind == SubjectKind::Group {
            let groups = self
                .document
                .iter()
                .flat_map(|of| of.groups.iter().flatten());
            let mut groups = groups.filter(|group| group.id.as_deref() == Some(id));
            let limits = groups.next().and_then(|group| group.limits.clone());
            return Ok(limits.unwrap_or_default());
        }
        Ok(LimitsDocument {
            budget: Some(spend_feed::budget(transaction, kind, id).await?),
            ..LimitsDocument::default()
        })
    }

    async fn of_requests(
        &self,
        transaction: &mut Transaction,
        key: &StoredKey,
    ) -> Result<Diagnosis, StoreError> {
        let since = recent::WINDOW.saturating_mul(1_000_000);
        let since = self.now.saturating_sub(since);
        let lines = latest(transaction, key, Some(since), recent::MOST).await?;
        let lines: Vec<LedgerLine> = lines
            .iter()
            .filter_map(|of| LedgerLine::parse(of.line.as_bytes()))
            .collect();
        let published = self.published.as_ref();
        let is_refused_again = |line: &LedgerLine| {
            let now = one_request::now(line, Some(key), published);
            // What cannot be told again stays as it was.
            now.map_or(true, |now| now.decision == "refused")
        };
        let seconds = self.now.div_euclid(1_000_000);
        let read = recent::read(&lines, seconds, is_refused_again);
        Ok(diagnosis::of_requests(read))
    }
}

/// The latest requests of a key, under its present owner.
///
/// # Errors
/// Those of the database.
pub async fn latest(
    transaction: &mut Transaction,
    key: &StoredKey,
    since: Option<i64>,
    most: u16,
) -> Result<Vec<StoredRequest>, StoreError> {
    let query = RequestQuery {
        key: Some(&key.id),
        owner: Some(key.owner.as_deref().unwrap_or_default()),
        since,
        limit: i64::from(most),
        ..RequestQuery::default()
    };
    Ok(requests::recent(transaction, &query).await?.lines)
}

/// The remaining limits and budgets of a key, its owner, alone and as a member of its team, its team and its group, and the reason that its requests fail now. Members see
/// those of their own keys, without amounts of teams and groups.
pub async fn get(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<KeyRemaining, ApiProblem> {
    caller.must(rights::SEE_KEYS)?;
    let mut transaction = state.store.read().await?;
    let key = find_own(&mut transaction, caller, id).await?;
    let mut reader = KeyReader::new(&mut transaction, state.now()).await?;
    let mut remaining = reader.remaining(&mut transaction, &key).await?;
    transaction.rollback().await;
    if caller.only_owner().is_some() {
        remaining = remaining.for_holder();
    }
    Ok(remaining)
}
