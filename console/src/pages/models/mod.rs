//! The models that one may use.

mod row;
mod show;
mod trial;

pub use row::{ModelRow, health};
pub use show::show;
pub use trial::run;
