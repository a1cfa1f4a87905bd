//! Entry point for Envoy: the one thing to do when a VM starts.

proxy_wasm::main! {{
    proxy_wasm::set_log_level(proxy_wasm::types::LogLevel::Info);
    proxy_wasm::set_root_context(|_| crate::filter::root());
}}
