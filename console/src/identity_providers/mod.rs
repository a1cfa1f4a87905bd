//! Sign-in by OpenID Connect: identity providers, and the people whom they vouch for.

mod still_there;

pub use still_there::StillThere;
