//! The control plane: what the console and the command `trilane` have in common.
//!
//! [`feed`] is the feed of keys as gateways read it, whatever it is made from. [`ledger`] reads lines of the ledger and adds
//! up what they say. [`store`] is the database; [`intake`] takes the ledger into it, exactly once, and [`documents`] lead the
//! configuration document through its life; [`envoys`] enrol their agents, whose Envoys have an [`envoy_clock`] of their own, say an [`envoy_report`], have (`envoys_have`) a new key soon, and take [`key_changes`] over, and [`credentials`] of upstream accounts are
//! sealed ([`account_credentials`] are those that the console keeps). [`explain`] says why a request was decided as it was; [`gateway`] runs the filter's own code for it. All of it is done by use cases ([`cases`]), which the [`api`] offers over HTTP, and the [`pages`] ([`sessions`], [`passwords`], [`identity_providers`]);
//! the [`server`] serves both over its [`connections`], [`live`] parts of pages among them; [`maintenance`] forgets what is old, and a [`named_file`] is read with a bound. [`written_budgets`] are budgets wherever they stand, and some are [`nearly_spent`]. [`secret`] draws keys and tokens,
//! pages are in the reader's [`language`], [`timestamp`] reads and writes times, [`throttle`] slows whoever guesses, [`client_address`] says from where a request comes, the audit goes to a collector ([`audit_export`]), and an [`allowance`] says which keys members of a team make by themselves.
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::string_slice,
        reason = "a test may panic"
    )
)]

#[macro_use]
pub mod language;

pub mod account_credentials;
pub mod allowance;
pub mod api;
pub mod audit_export;
pub mod cases;
pub mod client_address;
pub mod client_settings;
pub mod connections;
mod counted;
pub mod credentials;
mod csv_file;
pub mod documents;
pub mod entry_sources;
pub mod envoy_clock;
pub mod envoy_report;
pub mod envoys;
mod envoys_have;
pub mod explain;
pub mod feed;
pub mod first_admin;
pub mod gateway;
pub mod identity_providers;
pub mod import;
pub mod intake;
pub mod json_line;
pub mod json_span;
pub mod key_changes;
pub mod ledger;
pub mod live;
pub mod maintenance;
mod markup;
pub mod metrics;
pub mod named_file;
pub mod nearly_spent;
pub mod outgoing;
pub mod pages;
pub mod passwords;
pub mod peer_listener;
pub mod prices;
pub mod secret;
pub mod server;
pub mod sessions;
pub mod store;
mod text;
pub mod throttle;
pub mod timestamp;
pub mod vendors;
pub mod webhooks;
mod workload;
pub mod written_budgets;
