//! The API, `/api/v1`.
//!
//! A request passes `sign_in`, which finds whose token it has and asks the table of [`ROUTES`] whether this role may do this.
//! Then its handler (one file for each kind of object) reads or changes the store, in one transaction with the audit. Whatever
//! is wrong is a problem (RFC 9457). Lists come in pages; a POST that comes again under one key is done once.

pub(crate) mod account_test;
pub(crate) mod account_tests;
pub(crate) mod audit;
pub(crate) mod budgets;
mod caller;
pub(crate) mod credentials;
mod document_reach;
pub(crate) mod documents;
pub(crate) mod drafts;
pub(crate) mod envoys;
pub(crate) mod erasures;
mod feed;
mod fields;
pub(crate) mod holder;
pub(crate) mod hour_counts;
pub(crate) mod key_models;
pub(crate) mod key_rotation;
pub(crate) mod keys;
mod ledger;
pub(crate) mod me;
mod member_budgets;
pub(crate) mod nearly_spent;
pub(crate) mod once;
pub(crate) mod one_request;
mod openapi;
pub(crate) mod paging;
pub(crate) mod parts;
pub(crate) mod people;
pub(crate) mod problem;
mod report;
pub(crate) mod requests;
mod role;
mod routes;
pub(crate) mod setup;
mod sign_in;
pub(crate) mod sign_in_links;
pub(crate) mod spend;
mod spend_feed;
mod state;
pub mod storage;
pub(crate) mod team_members;
pub(crate) mod teams;
pub(crate) mod tokens;
pub(crate) mod usage;
pub(crate) mod usage_top;
pub(crate) mod vendor_models;
mod voids;
pub(crate) mod webhooks;

pub use crate::envoy_report::EnvoyReport;
pub(crate) use caller::address;
pub use caller::{Caller, RemoteAddress};
pub use credentials::{CredentialForAgent, CredentialsForAgent};
pub use envoys::{EnrolBody, EnrolledView};
pub use key_models::KeyModel;
pub use ledger::{PositionView, TakenView};
pub use openapi::{openapi, router};
pub use problem::ApiProblem;
pub(crate) use problem::FailureReason;
pub(crate) use report::report;
pub use role::Role;
pub use routes::{ApiRoute, OPEN, ROUTES};
pub(crate) use routes::{allows, forbidden};
pub use spend_feed::{SpendFeedAmount, SpendFeedPage, SpendFeedSubject};
pub use state::{ConsoleState, Reporter};
