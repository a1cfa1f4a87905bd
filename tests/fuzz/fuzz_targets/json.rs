#![no_main]

#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    checks::json(body);
});
