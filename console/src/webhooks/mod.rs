//! Webhooks: whoever wants is told when a budget is spent to some percent, when an Envoy is not heard of, and when an account has
//! no credential: programs, Slack, Teams, or people by e-mail.
//!
//! [`watch`] follows the spend feed and puts a message into the database in the transaction that moves its place in the feed:
//! once for each webhook, subject, period and threshold, whatever stops. [`fleet_watch`] looks at what is now. [`message`] has the
//! facts and a sentence for people, [`kind`] what each kind of receiver is sent. [`delivery`] takes one message after the other, and
//! tries again later where it could not be delivered; the [`secrets`] that sign are sealed. [`sender`] sends them, by HTTP or by
//! [`mail`].
//!
//! People are mailed about their own keys and budgets: [`owner_watch`] finds keys that expire or are not used, [`owner_mail`] has the words.

pub mod delivery;
pub mod fleet_watch;
pub mod kind;
pub mod mail;
pub mod message;
pub mod owner_mail;
pub mod owner_watch;
pub mod secrets;
pub mod sender;
pub mod watch;
