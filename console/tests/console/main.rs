//! The console's database, on both engines for real: a file of SQLite, and a PostgreSQL server (`make postgres`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::string_slice,
    clippy::zombie_processes,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod absurd_lines;
mod account_tests;
mod addresses;
mod api;
mod audit;
mod audit_export;
mod authorization;
mod blocked_tables;
mod broken_off;
mod budgets;
mod bulk_keys;
mod client_settings;
mod client_sign_ins;
mod clocks;
mod connections;
mod credentials;
mod database;
mod document_keys;
mod documents;
mod envoys;
mod erasures;
mod erasures_broken_off;
mod failed_writes;
mod feed;
mod fleet_watch;
mod golden;
mod holder;
mod identity_providers;
mod intake;
mod key_again;
mod key_owners;
mod key_search;
mod languages;
mod leavers;
mod ledger;
mod live;
mod lives;
mod managers;
mod member_budgets;
mod metrics;
mod migration;
mod models;
mod multipliers;
mod names;
mod nearly_spent;
mod notices;
mod openapi;
mod ordered_keys;
mod owner_notices;
mod page_security;
mod page_snapshots;
mod postgres;
mod queries;
mod races;
mod random_intake;
mod readable_ids;
mod recovery;
mod requests;
mod retention;
mod rotation;
mod rules;
mod search;
mod sessions;
mod setup;
mod speed;
mod spend_feed;
mod statements;
mod storage;
mod teams;
mod usage_days;
mod usage_dimensions;
mod usage_top;
#[allow(dead_code, reason = "the tests of trilane init need more of them")]
mod vendors;
mod voids;
mod webhook_secrets;
mod webhooks;

/// The allocator of the command, so that what is measured here costs what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
