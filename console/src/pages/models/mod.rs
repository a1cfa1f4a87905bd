//! The models that one may use.

mod row;
mod show;
mod trial;

pub use row::{ModelRow, health, style};
pub use show::show;
pub use trial::run;
