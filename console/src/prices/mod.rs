//! Prices of models: the `catalogue` of what vendors' pages state, a file of data in this library; the operator's own over it
//! ([`CatalogueFile`]), which comes from a [`PriceList`] of others; and what puts them into documents that ask for them
//! ([`resolve()`]).

mod catalogue;
mod catalogue_file;
mod price_line;
mod price_list;
mod resolve;

pub use catalogue::{CatalogueModel, PriceCatalogue, SourcePage, protocol_named};
pub use catalogue_file::{CatalogueFile, NAME as CATALOGUE_NAME};
pub use price_line::{PriceLines, lines, one_line};
pub(crate) use price_list::Per;
pub use price_list::{ListPrice, PriceList, UnreadModel};
pub use resolve::{ResolvedPrices, resolve};
