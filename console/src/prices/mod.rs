//! Prices of models: the `catalogue` of what vendors' pages state, a file of data in this library, and what puts it into
//! documents that ask for it ([`resolve()`]).

mod catalogue;
mod price_line;
mod resolve;

pub use catalogue::{CatalogueModel, PriceCatalogue, SourcePage, protocol_named};
pub use price_line::{PriceLines, lines, one_line};
pub use resolve::{ResolvedPrices, resolve};
