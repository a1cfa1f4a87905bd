//! Model names and the catalogs that hold them.

mod answered;
mod bare_name;
pub mod catalog;
pub mod name;
mod subset;

pub use answered::AnsweredModel;
pub use catalog::{Catalog, Model};
pub use subset::{ModelSubset, ModelTag};
