//! The three protocols on the wire: endpoints, queries, errors, model lists.
//!
//! [`responses`] is protocol A, [`messages`] is B, [`generate`] is C; what they share on
//! `GET /v1/models` is in [`listing`].

pub mod credential_name;
pub mod dialect;
pub mod endpoint;
pub mod entry;
pub mod generate;
pub mod limits;
pub mod listing;
pub mod messages;
pub mod page;
pub mod parameters;
pub mod path;
pub mod query;
pub mod resource;
pub mod responses;
pub mod unserved;
pub mod usage_report;

pub use dialect::{Dialect, ErrorFacts, Quota};
pub use endpoint::{Endpoint, EndpointSpec, ListKind, ModelPlace, Operation, Permission};
pub use entry::{Entry, Protocol};
pub use path::{Mismatch, match_request};
