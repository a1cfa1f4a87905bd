//! Sign-in by OpenID Connect, against a provider that is strict, and then against one with faults.

mod browser;
mod faults;
mod flow;
mod provider;
mod proxy_header;
mod rules;
mod settings;
mod still_there;
