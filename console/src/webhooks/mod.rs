//! Webhooks: whoever wants is told when a budget is spent to some percent, when an Envoy is not heard of, and when an account has
//! no credential.
//!
//! [`watch`] follows the spend feed and puts a message into the database in the transaction that moves its place in the feed:
//! once for each webhook, subject, period and threshold, whatever stops. [`fleet_watch`] looks at what is now. [`delivery`] takes one message after the other, signs
//! it, and tries again later where it could not be delivered; the [`secrets`] that sign are sealed. Who sends it is left to the process: `trilane console`.

pub mod delivery;
pub mod fleet_watch;
pub mod secrets;
pub mod watch;
