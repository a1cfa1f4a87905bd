//! Mails to people about their own keys and budgets: a sentence, what to do, and a link to the console.

use serde_json::json;
use time::OffsetDateTime;
use trilane::limits::{Period, SubjectKind, Window};
use trilane::money::Amount;

use super::message;
use crate::language::Language;
use crate::store::owner_notices::{self, MOST_A_DAY};
use crate::store::webhooks::{MessageCause, NewMessage};
use crate::store::{StoreError, Transaction};
use crate::written_budgets::is_reached;
use crate::{text, timestamp};

/// The percents of a budget at which people are mailed, the greatest first: of two that are reached at once the greater is told.
const PERCENTS: [u32; 2] = [100, 80];

/// Mails to people.
#[derive(Debug, Clone, Default)]
pub struct OwnerMails {
    /// The address at which people reach the console, for links.
    pub console: Option<String>,
}

/// Puts messages into the database for the people of a budget that has reached a percent. `amounts`: what is spent, what may be, and the
/// currency.
///
/// # Errors
/// Those of the database.
pub async fn tell_budget(
    transaction: &mut Transaction,
    mails: &OwnerMails,
    subject: (SubjectKind, &str),
    period: Period,
    amounts: (Amount, Amount, &str),
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let (spent, budget, currency) = amounts;
    let reached = PERCENTS
        .into_iter()
        .find(|percent| is_reached(spent, budget, *percent));
    let Some(percent) = reached else {
        return Ok(());
    };
    let (kind, id) = subject;
    let period_text = period.to_string();
    let (spent, budget) = (spent.to_string(), budget.to_string());
    let cause = MessageCause {
        kind: kind.name(),
        subject: id,
        period: &period_text,
        threshold: percent,
    };
    for receiver in owner_notices::of_budget(transaction, subject, (&period_text, percent)).await? {
        let notice = OwnerNotice::Budget(NoticedBudget {
            kind,
            name: receiver.name.as_deref().unwrap_or(id),
            period,
            percent,
            amounts: (&spent, &budget, currency),
        });
        let message = notice.message(receiver.language, mails.console.as_deref(), now)?;
        let now = timestamp::microseconds(now);
        owner_notices::add_message(transaction, &receiver.person, &cause, &message, now).await?;
    }
    Ok(())
}

/// The budget that has reached a percent.
#[derive(Debug, Clone)]
pub struct NoticedBudget<'a> {
    /// The kind of its subject.
    pub kind: SubjectKind,
    /// The name of its subject for people.
    pub name: &'a str,
    /// Its day or month.
    pub period: Period,
    /// The percent.
    pub percent: u32,
    /// The amounts that are spent and that may be, with the currency.
    pub amounts: (&'a str, &'a str, &'a str),
}

/// A cause to mail somebody.
#[derive(Debug, Clone)]
pub enum OwnerNotice<'a> {
    /// A budget has reached a percent.
    Budget(NoticedBudget<'a>),
    /// A key of this name expires at a moment.
    Expiring {
        /// The name of the key.
        name: &'a str,
        /// The moment, as RFC 3339.
        at: &'a str,
    },
    /// A key of this name was not used since a moment.
    Unused {
        /// The name of the key.
        name: &'a str,
        /// The moment, as RFC 3339.
        since: &'a str,
    },
}

impl OwnerNotice<'_> {
    const fn name(&self) -> &'static str {
        match self {
            Self::Budget(_) => "own.budget",
            Self::Expiring { .. } => "own.key_expiring",
            Self::Unused { .. } => "own.key_unused",
        }
    }

    /// Says what happened, in a sentence.
    fn sentence(&self) -> String {
        match self {
            Self::Budget(budget) => budget.sentence(),
            Self::Expiring { name, at } => {
                t!(
                    "Your key {name} expires at {moment}.",
                    name = name,
                    moment = text::utc(at)
                )
            }
            Self::Unused { name, since } => {
                t!(
                    "Your key {name} was not used since {moment}.",
                    name = name,
                    moment = text::utc(since)
                )
            }
        }
    }

    /// Says what to do, in a sentence or two.
    fn advice(&self) -> String {
        match self {
            Self::Budget(budget) => budget.advice(),
            Self::Expiring { .. } => {
                t!("Gateways refuse it from then on. Make another key where your team lets you, or ask an admin for a later end.").into_owned()
            }
            Self::Unused { .. } => {
                t!("Disable it if you do not need it: a key that is forgotten can be found by others.").into_owned()
            }
        }
    }

    /// The mail in this language, with a link to the console at this address.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn message(
        &self,
        language: Language,
        console: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<NewMessage, StoreError> {
        let (sentence, mail) = language.write(|| self.texts(console));
        message::of(self.name(), &sentence, &[("mail", json!(mail))], now)
    }

    /// The sentence, which is the subject, and the whole text.
    fn texts(&self, console: Option<&str>) -> (String, String) {
        let sentence = self.sentence().replace(char::is_control, " ");
        let page = match self {
            Self::Budget(NoticedBudget {
                kind: SubjectKind::Team | SubjectKind::Group,
                ..
            }) => "/usage",
            _ => "/me",
        };
        let link = console.map_or_else(
            || t!("See the console of your gateway.").into_owned(),
            |address| t!("See {address}", address = format!("{address}{page}")),
        );
        let most = t!(
            "You get at most {count} of these mails a day.",
            count = MOST_A_DAY
        );
        let choose = console.map_or_else(
            || t!("Choose which ones on the page Me of the console").into_owned(),
            |address| {
                t!(
                    "Choose which ones at {address}",
                    address = format!("{address}/me#notices")
                )
            },
        );
        let advice = self.advice();
        let mail = format!("{sentence}\n\n{advice}\n{link}\n\n{most} {choose}\n");
        (sentence, mail)
    }
}

impl NoticedBudget<'_> {
    fn sentence(&self) -> String {
        let Self { name, percent, .. } = self;
        let whose = match self.kind {
            SubjectKind::Key => t!("of your key {name}", name = name),
            SubjectKind::Member => t!("of your keys of the team {name}", name = name),
            SubjectKind::Owner => t!("of all your keys").into_owned(),
            SubjectKind::Team => t!("of your team {name}", name = name),
            SubjectKind::Group => t!("of the group {name}", name = name),
        };
        let (spent, budget, currency) = self.amounts;
        let amounts = match self.kind {
            // Others use it as well, and the managers of a team do not see what they spend.
            SubjectKind::Group => String::new(),
            _ => t!(
                ": {spent} of {budget}",
                spent = text::amount(currency, spent),
                budget = text::amount(currency, budget)
            ),
        };
        match self.period.window() {
            Window::Day => t!(
                "Today's budget {whose} is {percent} % spent{amounts}.",
                whose = whose,
                percent = percent,
                amounts = amounts
            ),
            Window::Month => t!(
                "This month's budget {whose} is {percent} % spent{amounts}.",
                whose = whose,
                percent = percent,
                amounts = amounts
            ),
        }
    }

    fn advice(&self) -> String {
        let end = timestamp::unix_text(self.period.ends_at()).unwrap_or_default();
        let end = text::utc(&end);
        let ask = match self.kind {
            SubjectKind::Team | SubjectKind::Group => {
                t!("Ask an admin for a larger one, or spread what is left.")
            }
            _ => t!("Ask an admin for a larger one if you need it."),
        };
        let what = if self.percent >= 100 {
            t!(
                "Gateways refuse requests that need it until {moment}.",
                moment = end
            )
        } else {
            t!(
                "Once it is spent, gateways refuse requests that need it until {moment}.",
                moment = end
            )
        };
        format!("{what} {ask}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use time::macros::datetime;

    use super::*;

    #[test]
    fn mails() {
        let budget = |kind, name, window, percent| {
            let period = Period::of(window, datetime!(2026-11-25 12:00 UTC).date());
            let amounts = ("4.1", "5", "USD");
            OwnerNotice::Budget(NoticedBudget {
                kind,
                name,
                period,
                percent,
                amounts,
            })
        };
        let at = "2026-12-01T00:00:00Z";
        for (notice, sentence, parts) in [
            (
                budget(SubjectKind::Key, "laptop", Window::Day, 80),
                "Today's budget of your key laptop is 80 % spent: $4.10 of $5.00.",
                [
                    "Once it is spent, gateways refuse requests that need it until 2026-11-26 00:00 UTC.",
                    "https://c.example/me\n",
                ],
            ),
            (
                budget(SubjectKind::Owner, "ann", Window::Month, 100),
                "This month's budget of all your keys is 100 % spent: $4.10 of $5.00.",
                [
                    "Gateways refuse requests that need it until 2026-12-01 00:00 UTC.",
                    "https://c.example/me\n",
                ],
            ),
            (
                budget(SubjectKind::Team, "Blue", Window::Month, 80),
                "This month's budget of your team Blue is 80 % spent: $4.10 of $5.00.",
                ["spread what is left", "https://c.example/usage\n"],
            ),
            (
                budget(SubjectKind::Group, "mixed", Window::Month, 80),
                "This month's budget of the group mixed is 80 % spent.",
                ["spread what is left", "https://c.example/usage\n"],
            ),
            (
                OwnerNotice::Expiring {
                    name: "a\r\nBcc: x",
                    at,
                },
                "Your key a  Bcc: x expires at 2026-12-01 00:00 UTC.",
                [
                    "Gateways refuse it from then on.",
                    "at https://c.example/me#notices\n",
                ],
            ),
            (
                OwnerNotice::Unused {
                    name: "ci",
                    since: at,
                },
                "Your key ci was not used since 2026-12-01 00:00 UTC.",
                [
                    "Disable it if you do not need it",
                    "at most 20 of these mails a day",
                ],
            ),
        ] {
            let message = notice.message(
                Language::ENGLISH,
                Some("https://c.example"),
                OffsetDateTime::UNIX_EPOCH,
            );
            let body: Value = serde_json::from_str(&message.unwrap().body).unwrap();
            assert_eq!(body["text"], sentence);
            let mail = body["mail"].as_str().unwrap();
            assert!(mail.starts_with(&format!("{sentence}\n\n")), "{mail}");
            for part in parts {
                assert!(mail.contains(part), "{part}: {mail}");
            }
        }
    }
}
