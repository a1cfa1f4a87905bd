//! The annotated configuration that is shipped, which this program carries.

use std::fs;
use std::path::Path;

use yaml_serde::Value;

use crate::failure::Failure;

/// The name of the carried configuration in messages.
pub const NAME: &str = "envoy.yaml";
/// The configuration with all of its remarks.
const ENVOY_YAML: &str = include_str!("../../../envoy/envoy.yaml");
/// The comment at the head of a written configuration.
const HEAD: &str = concat!(
    "# Written by `trilane envoy-config` (",
    env!("CARGO_PKG_VERSION"),
    ") from envoy.yaml, where each part is explained.\n"
);

/// Reads the configuration: that of this file, or the carried one. Aliases are resolved.
///
/// # Errors
/// The file cannot be read, or is no YAML.
pub fn read(file: Option<&Path>) -> Result<Value, Failure> {
    let Some(file) = file else {
        return parsed(NAME, ENVOY_YAML);
    };
    let name = file.display().to_string();
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::Unreadable(format!("cannot read {name}: {error}")))?;
    parsed(&name, &text)
}

fn parsed(name: &str, text: &str) -> Result<Value, Failure> {
    yaml_serde::from_str(text).map_err(|error| Failure::Data(format!("{name} is no YAML: {error}")))
}

/// The configuration as text.
///
/// # Errors
/// It cannot be written as YAML.
pub fn write(config: &Value) -> Result<String, Failure> {
    let text = yaml_serde::to_string(config)
        .map_err(|error| Failure::Data(format!("the configuration cannot be written: {error}")))?;
    Ok(format!("{HEAD}{text}"))
}
