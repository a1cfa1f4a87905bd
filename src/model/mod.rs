//! Model names and the catalogs that hold them.

pub mod catalog;
pub mod name;
mod subset;

pub use catalog::{Catalog, Model};
pub use subset::{ModelSubset, ModelTag};
