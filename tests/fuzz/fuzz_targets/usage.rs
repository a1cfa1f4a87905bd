#![no_main]

#[path = "../usage_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    checks::answer(body);
});
