//! `trilane render`: which files are written, when, and what never gets into them.

mod control_plane;
mod envoy;
mod golden;
mod keeping;
mod publishing;
mod refusals;
mod running;
mod site;
mod told;
mod watch;
mod writing;
