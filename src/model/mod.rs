//! Model names and the catalogs that hold them.

pub mod catalog;
pub mod name;
pub mod prices;

pub use catalog::{Catalog, Model};
pub use prices::{Price, Prices};
