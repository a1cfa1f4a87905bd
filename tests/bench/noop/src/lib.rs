//! Wasm filters to compare trilane with: one that is called for everything and does nothing, which is what is left of the
//! cost of any filter; and one that makes trilane's host calls and decides nothing ([`floor`]), which is what is left of
//! the cost of any filter that does trilane's work.
//!
//! Outside WebAssembly it is empty, so that building the whole workspace needs no host.
#![cfg(target_arch = "wasm32")]

mod floor;

use proxy_wasm::hostcalls;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{ContextType, LogLevel};

proxy_wasm::main! {{
    proxy_wasm::set_log_level(LogLevel::Warn);
    proxy_wasm::set_root_context(|_| root());
}}

/// By its `root_id`: trilane's configuration has two of them, its loader's and its filter's.
fn root() -> Box<dyn RootContext> {
    let id = hostcalls::get_property(vec!["plugin_root_id"]);
    match id.ok().flatten().as_deref() {
        Some(b"gateway") => Box::new(floor::FloorRoot::default()),
        _ => Box::new(IdleRoot),
    }
}

struct IdleRoot;

impl Context for IdleRoot {}

impl RootContext for IdleRoot {
    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(IdleStream))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

struct IdleStream;

impl Context for IdleStream {}

impl HttpContext for IdleStream {}
