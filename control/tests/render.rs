//! `trilane render`: which files are written, when, and what never gets into them.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[path = "render/control_plane.rs"]
mod control_plane;
#[path = "render/envoy.rs"]
mod envoy;
#[path = "render/golden.rs"]
mod golden;
#[path = "render/keeping.rs"]
mod keeping;
#[path = "render/publishing.rs"]
mod publishing;
#[path = "render/refusals.rs"]
mod refusals;
#[path = "render/running.rs"]
mod running;
#[path = "render/site.rs"]
mod site;
#[path = "render/told.rs"]
mod told;
#[path = "render/watch.rs"]
mod watch;
#[path = "render/writing.rs"]
mod writing;
