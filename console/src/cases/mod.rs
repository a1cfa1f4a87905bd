//! The use cases: what a caller does to a thing, with its rights checked. The API and the pages are two faces of them.
//!
//! Each takes the console's state and the [`Caller`], checks the caller's `rights`, then reads or changes the store, in one
//! transaction with the audit. Whatever is wrong is a problem (RFC 9457). Lists come in pages; a change that comes again under one
//! key is done once.

pub(crate) mod account_refusals;
pub(crate) mod account_test;
pub(crate) mod account_tests;
pub(crate) mod audit;
pub(crate) mod budgets;
mod caller;
pub(crate) mod client_settings;
pub(crate) mod client_sign_ins;
pub(crate) mod credentials;
pub(crate) mod document_check;
mod document_reach;
pub(crate) mod documents;
pub(crate) mod drafts;
pub(crate) mod envoys;
pub(crate) mod erasures;
pub(crate) mod feed;
mod fields;
pub(crate) mod holder;
pub(crate) mod hour_counts;
pub(crate) mod key_bulk;
pub(crate) mod key_by_value;
mod key_checks;
pub(crate) mod key_models;
pub(crate) mod key_rotation;
pub(crate) mod keys;
pub(crate) mod ledger;
pub(crate) mod managed_teams;
pub(crate) mod me;
mod member_budgets;
pub(crate) mod nearly_spent;
pub(crate) mod once;
pub(crate) mod one_request;
pub(crate) mod paging;
pub(crate) mod people;
pub(crate) mod people_bulk;
pub(crate) mod person_sessions;
pub(crate) mod problem;
pub(crate) mod providers;
pub(crate) mod requests;
pub(crate) mod rights;
mod role;
pub(crate) mod scopes;
pub(crate) mod setup;
pub(crate) mod sign_in_links;
pub(crate) mod spend;
pub(crate) mod spend_feed;
mod state;
pub mod storage;
pub(crate) mod subject_kinds;
pub(crate) mod team_members;
pub(crate) mod teams;
pub(crate) mod tokens;
pub(crate) mod usage;
pub(crate) mod usage_top;
pub(crate) mod vendor_models;
pub(crate) mod voids;
pub(crate) mod webhooks;

pub use crate::envoy_report::EnvoyReport;
pub use caller::Caller;
pub use credentials::{CredentialForAgent, CredentialsForAgent};
pub use envoys::{EnrolBody, EnrolledView};
pub use key_models::KeyModel;
pub use ledger::{PositionView, TakenView};
pub use problem::ApiProblem;
pub(crate) use problem::FailureReason;
pub(crate) use providers::still_there;
pub use role::Role;
pub use scopes::{Scope, Scopes};
pub use spend_feed::{SpendFeedAmount, SpendFeedPage, SpendFeedSubject};
pub use state::{ConsoleState, Reporter};
