//! Finds keys that expire soon or that nobody uses, whose owners are to be mailed.

use time::{Duration, OffsetDateTime};

use super::owner_mail::{OwnerMails, OwnerNotice};
use crate::in_transaction;
use crate::store::owner_notices::{self, ExpiryWindow, NoticedKey};
use crate::store::webhooks::{self, MessageCause};
use crate::store::{Store, StoreError, Transaction};
use crate::timestamp::{microseconds, moment};

/// The interval between looks.
const PAUSE: Duration = Duration::hours(1);
/// For how long a key is not used before its owner is told.
const UNUSED: Duration = Duration::days(60);
/// The word before a moment that a key is not used since.
const SINCE: &str = "since ";

/// Looks at keys of people who can be mailed.
#[derive(Debug, Default)]
pub struct OwnerWatch {
    next: Option<OffsetDateTime>,
    mails: OwnerMails,
}

impl OwnerWatch {
    /// Looks for these mails.
    pub const fn new(mails: OwnerMails) -> Self {
        Self { next: None, mails }
    }

    /// Puts messages into the database for owners of keys: of a key that expires within a week, and within a day, once each; of one that
    /// was not used for 60 days, once until it is used again.
    ///
    /// # Errors
    /// Those of the database; nothing is changed then.
    pub async fn look(&mut self, store: &Store, now: OffsetDateTime) -> Result<(), StoreError> {
        if self.next.is_some_and(|next| now < next) {
            return Ok(());
        }
        let told: Result<(), StoreError> =
            in_transaction!(store, transaction => self.tell(transaction, now).await);
        told?;
        self.next = now.checked_add(PAUSE);
        Ok(())
    }

    async fn tell(
        &self,
        transaction: &mut Transaction,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        webhooks::lock_watch(transaction).await?;
        let at = |moment_of: OffsetDateTime| moment(microseconds(moment_of));
        let window = ExpiryWindow {
            now: at(now),
            day_ago: at(now.saturating_sub(Duration::DAY)),
            in_a_day: at(now.saturating_add(Duration::DAY)),
            in_a_week: at(now.saturating_add(Duration::WEEK)),
        };
        for key in owner_notices::expiring(transaction, &window).await? {
            let (name, at) = (name_of(&key), key.period.as_str());
            let notice = OwnerNotice::Expiring { name, at };
            self.add(transaction, &key, "expiring", &notice, now)
                .await?;
        }
        let since = now.saturating_sub(UNUSED);
        let since = (at(since), microseconds(since));
        let unused = owner_notices::unused(transaction, &window.now, (&since.0, since.1));
        for key in unused.await? {
            let stated = key.period.trim_start_matches(SINCE);
            let since = stated.parse().map_or_else(|_| stated.to_owned(), moment);
            let notice = OwnerNotice::Unused {
                name: name_of(&key),
                since: &since,
            };
            self.add(transaction, &key, "unused", &notice, now).await?;
        }
        Ok(())
    }

    async fn add(
        &self,
        transaction: &mut Transaction,
        key: &NoticedKey,
        kind: &str,
        notice: &OwnerNotice<'_>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let message = notice.message(key.language, self.mails.console.as_deref(), now)?;
        let cause = MessageCause {
            kind,
            subject: &key.id,
            period: &key.period,
            threshold: key.days,
        };
        let now = microseconds(now);
        owner_notices::add_message(transaction, &key.owner, &cause, &message, now).await?;
        Ok(())
    }
}

/// The name of a key for people.
fn name_of(key: &NoticedKey) -> &str {
    key.label.as_deref().unwrap_or(&key.id)
}
