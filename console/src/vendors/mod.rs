//! Vendors of models: what is known of them beforehand, the one harmless request that tests a credential, and the group that
//! a document gets for one.
//!
//! `trilane init` and the pages of the first run have this in common. For a [`Vendor`] and its [`VendorCredential`] there is
//! [`list()`]: the vendor's own list of models, for which nothing is charged. [`Offer`] finds their names and prices, and
//! [`VendorGroup`] is the text of it all in a document. A console asks by its [`VendorAccess`], which calls its own gateway, too.

mod access;
mod another_account;
mod chosen;
mod credential;
mod failure;
mod gateway_call;
mod group_read;
mod group_text;
mod listed;
mod listing;
mod mixed_group;
mod own_price;
mod setup_text;
mod uncached;
mod unserved;
mod vendor;

pub use access::{AskedVendor, VendorAccess, console_sentence, works};
pub use another_account::{AnotherAccount, another_account, group_at, with_another_account};
pub use chosen::{ChosenModel, LeftOut, MOST_USUAL, ModelPricing, Offer, PriceSource};
pub use credential::VendorCredential;
pub use failure::{ListFailure, ListHints, ListSentence};
pub use gateway_call::{GatewayAnswer, GatewayCall};
pub use group_read::mixed_sources;
pub use group_text::{VendorGroup, added, new, put, removed, with_added};
pub use listed::ListedModel;
pub use listing::{
    Reach, download, environment_proxy, list, proxy_of_account, proxy_of_environment,
};
pub use mixed_group::{MIXED, MixedSource, add as add_to_mixed, mixed, text as mixed_text};
pub use own_price::OwnPrice;
pub use setup_text::{group_of, vendor_groups, with_vendor, without_vendor};
pub use uncached::uncached;
pub use vendor::{
    COMPATIBLE, PRESETS, Vendor, VendorPreset, api_style, protocol_style, protocol_title, styles,
};
