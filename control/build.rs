//! Puts the filter beside what is compiled, so that the program carries it: see `src/carried_filter.rs`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

const VARIABLE: &str = "TRILANE_EMBED_WASM";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let filter = match env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        None => Vec::new(),
        Some(file) => {
            let file = PathBuf::from(file);
            println!("cargo::rerun-if-changed={}", file.display());
            let filter = fs::read(&file)
                .map_err(|error| format!("{VARIABLE}={}: {error}", file.display()))?;
            if !filter.starts_with(b"\0asm") {
                return Err(
                    format!("{VARIABLE}={} is no WebAssembly module", file.display()).into(),
                );
            }
            filter
        }
    };
    let out = env::var_os("OUT_DIR").ok_or("there is no OUT_DIR")?;
    fs::write(PathBuf::from(out).join("filter.wasm"), filter)?;
    Ok(())
}
