//! Model names and the catalogs that hold them.

pub mod catalog;
pub mod name;

pub use catalog::{Catalog, Model};
