//! Writes a resource whose patches have remarks.

use yaml_serde::{Mapping, Value};

/// A patch, with what it is for. Where that is empty the remark above concerns it too.
#[derive(Debug)]
pub struct Patch {
    /// The remark: lines without `#`.
    pub why: &'static str,
    /// The patch.
    pub value: Value,
}

/// A resource as YAML: where it comes from, what it is for, and its patches as the last member of its `spec`.
///
/// # Errors
/// It cannot be written as YAML.
pub fn patches(
    origin: &str,
    why: &str,
    resource: &Value,
    list: &str,
    patches: &[Patch],
) -> Result<String, String> {
    let mut text = format!("{}  {list}:\n", head(origin, why, resource)?);
    for patch in patches {
        text.push_str(&indented(&remark(patch.why), 4));
        let value = yaml(&Value::Sequence(vec![patch.value.clone()]))?;
        text.push_str(&indented(&value, 4));
    }
    Ok(text)
}

/// Renders the head of a manifest: comments, and the resource without its patches.
///
/// # Errors
/// It cannot be written as YAML.
pub fn head(origin: &str, why: &str, resource: &Value) -> Result<String, String> {
    let above = if why.is_empty() { "" } else { "#\n" };
    Ok(format!(
        "# Written by `trilane envoy-config {origin}` from envoy.yaml, where each part is explained.\n{above}{}{}",
        remark(why),
        yaml(resource)?
    ))
}

/// A value as YAML.
///
/// # Errors
/// It cannot be written as such.
pub fn yaml(value: &Value) -> Result<String, String> {
    yaml_serde::to_string(value).map_err(|error| format!("the manifest cannot be written: {error}"))
}

/// The lines, further to the right. Empty ones stay empty.
pub fn indented(text: &str, by: usize) -> String {
    let line = |line: &str| match line.trim() {
        "" => line.to_owned(),
        _ => format!("{}{line}", " ".repeat(by)),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// A mapping with these members, in this order.
pub fn map<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.map(|(name, value)| (Value::from(name), value));
    Value::Mapping(Mapping::from_iter(members))
}

fn remark(why: &str) -> String {
    why.lines().map(|line| format!("# {line}\n")).collect()
}
