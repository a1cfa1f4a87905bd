//! The API, `/api/v1`: the use cases over HTTP.
//!
//! A request passes `sign_in`, which finds whose token it has and asks the table of [`ROUTES`] whether this role may do this.
//! Then its handler calls the use case. A POST that comes again under one `Idempotency-Key` is done once.

mod answers;
mod audit;
mod budgets;
mod certificate;
mod client_settings;
mod credentials;
mod documents;
mod drafts;
mod envoys;
mod feed;
mod identity_providers;
mod keys;
mod ledger;
mod me;
mod oauth;
mod openapi;
mod parts;
mod people;
mod problem;
mod report;
mod requests;
mod routes;
mod search;
mod setup;
mod sign_in;
mod storage;
mod teams;
mod tokens;
mod usage;
mod webhooks;

pub use openapi::{openapi, router};
pub(crate) use report::report;
pub use routes::{ApiRoute, OPEN, ROUTES};
