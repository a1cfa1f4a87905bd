//! Puts the filter and the judge beside what is compiled, so that the program carries them: see `src/carried_filter.rs`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "TRILANE_EMBED_WASM";
/// The name of the judge's file, beside the filter's.
const JUDGE: &str = "trilane_judge.wasm";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let file = env::var_os(VARIABLE).filter(|file| !file.is_empty());
    let filter = file.map(PathBuf::from);
    let judge = filter.as_ref().map(|filter| filter.with_file_name(JUDGE));
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("there is no OUT_DIR")?);
    for (file, name) in [(filter, "filter.wasm"), (judge, "judge.wasm")] {
        let bytes = file.as_deref().map(module).transpose()?;
        fs::write(out.join(name), bytes.unwrap_or_default())?;
    }
    Ok(())
}

fn module(file: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", file.display());
    let bytes =
        fs::read(file).map_err(|error| format!("{VARIABLE}: {}: {error}", file.display()))?;
    if !bytes.starts_with(b"\0asm") {
        return Err(format!("{VARIABLE}: {} is no WebAssembly module", file.display()).into());
    }
    Ok(bytes)
}
