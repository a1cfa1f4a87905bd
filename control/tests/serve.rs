//! `trilane serve`: what is answered, and that a reader who follows the protocol ends with exactly the keys there are.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[path = "serve/document.rs"]
mod document;
#[path = "serve/file.rs"]
mod file;
#[path = "serve/http.rs"]
mod http;
#[path = "serve/life.rs"]
mod life;
#[path = "serve/limits.rs"]
mod limits;
#[path = "serve/listing.rs"]
mod listing;
#[path = "serve/model.rs"]
mod model;
#[path = "serve/owner.rs"]
mod owner;
#[path = "serve/queries.rs"]
mod queries;
#[path = "serve/reader.rs"]
mod reader;
#[path = "serve/running.rs"]
mod running;
#[path = "serve/slow.rs"]
mod slow;
#[path = "serve/sqlite.rs"]
mod sqlite;
#[path = "serve/statements.rs"]
mod statements;
