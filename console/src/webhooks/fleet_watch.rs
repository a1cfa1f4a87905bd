//! Finds Envoys that are not heard of, accounts without a credential, and accounts that their vendors refuse.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};

use super::message;
use super::watch::MOST;
use crate::credentials::{AccountCredential, SealingKeys};
use crate::in_transaction;
use crate::store::account_answers::{self, AccountAnswers, AccountName};
use crate::store::credentials::{self, StoredCredential};
use crate::store::webhooks::{self, MessageCause, Webhook};
use crate::store::{Store, StoreError, Transaction, documents, envoys, hour_counts};
use crate::timestamp::{microseconds, moment};

/// The interval between looks.
const PAUSE: Duration = Duration::seconds(10);
/// For how long something may be wrong before anybody is told: a restart, or the steps of whoever sets something up.
const PATIENCE: Duration = Duration::minutes(5);
/// An Envoy that is away for longer is not told of: what was told of it is forgotten one day.
const ABANDONED: Duration = Duration::days(30);

/// The length of a moment's hour, in characters: `2026-11-25T10`.
const HOUR: usize = 13;

/// Looks at the fleet. It keeps the accounts of the document in force, which may be long.
#[derive(Debug, Default)]
pub struct FleetWatch {
    next: Option<OffsetDateTime>,
    document: AccountsInForce,
    /// The messages that were put into the database: webhook, kind, subject and period.
    told: BTreeSet<[String; 4]>,
}

/// The accounts of a document.
#[derive(Debug, Default)]
struct AccountsInForce {
    etag: String,
    /// In microseconds since 1970.
    published_at: i64,
    accounts: Vec<AccountCredential>,
}

/// Something that is wrong.
struct FleetTrouble {
    kind: &'static str,
    subject: String,
    /// The period in which it is reported once.
    period: String,
    /// The type of its message, and the facts.
    message: (&'static str, Vec<(&'static str, Value)>),
}

impl FleetWatch {
    /// Puts messages into the database about what is wrong, once for each webhook: of an Envoy, while it is away; of an account
    /// without a credential, every day; of one that is refused, for each hour in which that began. `keys` open credentials; without
    /// them none is kept here, and none is missed.
    ///
    /// # Errors
    /// Those of the database; nothing is changed then.
    pub async fn look(
        &mut self,
        store: &Store,
        keys: impl FnOnce() -> Option<SealingKeys>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        if self.next.is_some_and(|next| now < next) {
            return Ok(());
        }
        let mut transaction = store.read().await?;
        let found = self.find(&mut transaction, keys().as_ref(), now).await;
        transaction.rollback().await;
        let (hooks, troubles) = found?;
        let pairs = || {
            let of_hook = |hook| troubles.iter().map(move |trouble| (hook, trouble));
            hooks.iter().flat_map(of_hook)
        };
        let place = |hook: &Webhook, trouble: &FleetTrouble| {
            [&hook.id, trouble.kind, &trouble.subject, &trouble.period]
                .map(|part: &str| part.to_owned())
        };
        let new = pairs().filter(|(hook, trouble)| !self.told.contains(&place(hook, trouble)));
        let new: Vec<(&Webhook, &FleetTrouble)> = new.collect();
        if !new.is_empty() {
            let told: Result<(), StoreError> =
                in_transaction!(store, transaction => tell(transaction, &new, now).await);
            told?;
        }
        self.told = pairs()
            .map(|(hook, trouble)| place(hook, trouble))
            .collect();
        self.next = now.checked_add(PAUSE);
        Ok(())
    }

    /// The webhooks, and what they are told of.
    async fn find(
        &mut self,
        transaction: &mut Transaction,
        keys: Option<&SealingKeys>,
        now: OffsetDateTime,
    ) -> Result<(Vec<Webhook>, Vec<FleetTrouble>), StoreError> {
        let hooks = webhooks::list(transaction, "", MOST).await?;
        if hooks.is_empty() {
            return Ok((hooks, Vec::new()));
        }
        let away = (before(now, ABANDONED), before(now, PATIENCE));
        let away = envoys::seen_between(transaction, away).await?.into_iter();
        let mut troubles: Vec<FleetTrouble> = away.map(not_seen).collect();
        self.renew(transaction).await?;
        if let Some(keys) = keys
            && self.document.published_at <= before(now, PATIENCE)
        {
            troubles.extend(self.without(transaction, keys, now).await?);
        }
        let refused = account_answers::refused(transaction).await?;
        let in_force = refused.into_iter().filter(|(name, _)| self.has(name));
        troubles.extend(in_force.filter_map(refused_by_vendor));
        Ok((hooks, troubles))
    }

    /// Whether the document in force has an account.
    fn has(&self, (group, account): &AccountName) -> bool {
        let mut accounts = self.document.accounts.iter();
        accounts.any(|of| of.group == *group && of.account == *account)
    }

    /// Reads the document in force, if it is another one.
    async fn renew(&mut self, transaction: &mut Transaction) -> Result<(), StoreError> {
        let etag = documents::current_etag(transaction).await?;
        let etag = etag.unwrap_or_default();
        if self.document.etag == etag {
            return Ok(());
        }
        let document = documents::current(transaction).await?;
        self.document = document.map_or_else(AccountsInForce::default, |document| {
            let accounts = AccountCredential::of_document(document.served.as_bytes());
            AccountsInForce {
                etag: document.etag,
                published_at: document.published_at,
                accounts: accounts.unwrap_or_default(),
            }
        });
        Ok(())
    }

    /// The accounts whose credential is not kept here and which have answered nothing since yesterday, and those whose credential
    /// cannot be opened.
    async fn without(
        &self,
        transaction: &mut Transaction,
        keys: &SealingKeys,
        now: OffsetDateTime,
    ) -> Result<Vec<FleetTrouble>, StoreError> {
        let kept = credentials::all(transaction).await?;
        let yesterday = now.saturating_sub(Duration::DAY).date().to_string();
        let answering = hour_counts::answering_since(transaction, &yesterday).await?;
        let day = now.date().to_string();
        let trouble = |of: &AccountCredential| {
            let is_of =
                |one: &&StoredCredential| one.name == of.name && one.destination == of.destination;
            let reason = match kept.iter().find(is_of) {
                Some(one) => match keys.open(one.bound_to(), &one.value) {
                    Some(_) => return None,
                    None => "unreadable",
                },
                // What answers has a credential: in a file at its gateway.
                None if answering.contains(&(of.group.clone(), of.account.clone())) => return None,
                None => "not_kept",
            };
            Some(without_credential(of, reason, &day))
        };
        Ok(self.document.accounts.iter().filter_map(trouble).collect())
    }
}

fn not_seen((id, name, seen_at): (String, String, i64)) -> FleetTrouble {
    let seen = moment(seen_at);
    FleetTrouble {
        kind: "envoy",
        message: (
            "envoy.not_seen",
            vec![
                ("envoy", json!(id)),
                ("name", json!(name)),
                ("seen_at", json!(seen)),
            ],
        ),
        subject: id,
        period: seen,
    }
}

fn without_credential(of: &AccountCredential, reason: &str, day: &str) -> FleetTrouble {
    let facts = vec![
        ("group", json!(of.group)),
        ("account", json!(of.account)),
        ("credential", json!(of.name)),
        ("reason", json!(reason)),
    ];
    FleetTrouble {
        kind: "account",
        subject: format!("{}/{}", of.group, of.account),
        period: day.to_owned(),
        message: ("account.no_credential", facts),
    }
}

/// It is told at once: nothing is served there until somebody acts.
fn refused_by_vendor(
    ((group, account), answers): (AccountName, AccountAnswers),
) -> Option<FleetTrouble> {
    let since = moment(answers.refused_since()?);
    let hour = since.get(..HOUR)?.to_owned();
    let refusal = answers.refusal;
    let mut facts = vec![
        ("group", json!(group)),
        ("account", json!(account)),
        ("since", json!(since)),
        ("status", json!(refusal.status)),
    ];
    let named = [("fault", refusal.fault), ("code", refusal.code)];
    facts.extend(
        named
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name, json!(text))),
    );
    Some(FleetTrouble {
        kind: "refusal",
        subject: format!("{group}/{account}"),
        period: hour,
        message: ("account.refused", facts),
    })
}

async fn tell(
    transaction: &mut Transaction,
    new: &[(&Webhook, &FleetTrouble)],
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    for (hook, trouble) in new {
        let (of_type, facts) = &trouble.message;
        let new = message::new(hook.language, of_type, facts, now)?;
        let cause = MessageCause {
            kind: trouble.kind,
            subject: &trouble.subject,
            period: &trouble.period,
            threshold: 0,
        };
        webhooks::add_message(transaction, &hook.id, &cause, &new, microseconds(now)).await?;
    }
    Ok(())
}

/// Returns the time of `age` ago, in microseconds since 1970.
fn before(now: OffsetDateTime, age: Duration) -> i64 {
    microseconds(now.saturating_sub(age))
}
