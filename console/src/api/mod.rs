//! The API, `/api/v1`.
//!
//! A request passes `sign_in`, which finds whose token it has and asks the table of [`ROUTES`] whether this role may do this.
//! Then its handler (one file for each kind of object) reads or changes the store, in one transaction with the audit. Whatever
//! is wrong is a problem (RFC 9457). Lists come in pages; a POST that comes again under one key is done once.

mod audit;
mod caller;
mod documents;
mod drafts;
mod envoys;
mod feed;
mod fields;
mod keys;
mod ledger;
mod me;
mod once;
mod openapi;
mod paging;
mod parts;
mod people;
mod problem;
mod report;
mod requests;
mod role;
mod routes;
mod sign_in;
mod spend;
mod state;
mod tokens;
mod usage;

pub use envoys::EnvoyReport;
pub use openapi::{openapi, router};
pub use role::Role;
pub use routes::{ApiRoute, OPEN, ROUTES};
pub use state::{ConsoleState, Reporter};
