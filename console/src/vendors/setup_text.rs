//! The document of a first run: vendors come and go, and a Mixed group serves them to one key.

use serde_json::Value;

use super::group_read::mixed_sources;
use super::group_text::{VendorGroup, put, removed};
use super::mixed_group::{self, MIXED, MixedSource, mixed};

/// A group of a document.
pub fn group_of<'a>(document: &'a Value, id: &str) -> Option<&'a Value> {
    let mut groups = document.get("groups")?.as_array()?.iter();
    groups.find(|group| group.get("id").and_then(Value::as_str) == Some(id))
}

/// The groups that are just vendors with their models.
pub fn vendor_groups(document: &Value) -> Vec<VendorGroup> {
    let groups = document.get("groups").and_then(Value::as_array);
    let groups = groups.into_iter().flatten();
    groups.filter_map(VendorGroup::read).collect()
}

/// The document with a vendor, in the place of the group of its id. The Mixed group that serves all vendors follows; it is
/// begun only where `may_begin` says so. `None` where the text is no document.
pub fn with_vendor(document: &str, group: &VendorGroup, may_begin: bool) -> Option<String> {
    let after = put(document.as_bytes(), &group.vendor.group, &group.text())?;
    with_mixed(document, after, may_begin)
}

/// The same without a vendor. `None` also where there is no such group.
pub fn without_vendor(document: &str, id: &str, may_begin: bool) -> Option<String> {
    let after = removed(document.as_bytes(), id)?;
    with_mixed(document, after, may_begin)
}

/// Brings the Mixed group up to date. One that somebody has changed gets what is new, and loses what is gone.
fn with_mixed(before: &str, after: Vec<u8>, may_begin: bool) -> Option<String> {
    let was: Value = serde_json::from_str(before).ok()?;
    let is: Value = serde_json::from_slice(&after).ok()?;
    let own = group_of(&was, MIXED);
    let made = || mixed(&mixed_sources(&was)).and_then(|made| serde_json::from_str(&made).ok());
    let is_ours = own.map_or(may_begin, |own| made().as_ref() == Some(own));
    let is_mixed = |own: &&Value| own.get("protocol").and_then(Value::as_str) == Some("Mixed");
    let after = match (own.filter(is_mixed), is_ours) {
        (_, true) => match mixed(&mixed_sources(&is)) {
            Some(text) => put(&after, MIXED, &text)?,
            None => removed(&after, MIXED).unwrap_or(after),
        },
        (Some(own), false) => put(&after, MIXED, &mixed_group::text(&changed(own, &was, &is)))?,
        (None, false) => after,
    };
    String::from_utf8(after).ok()
}

/// A Mixed group with what the sources of a document have now and had not before, and without what they had.
fn changed(own: &Value, was: &Value, is: &Value) -> Value {
    let mut group = own.clone();
    let (before, now) = (mixed_sources(was), mixed_sources(is));
    for source in &before {
        let same =
            |other: &&MixedSource| other.group == source.group && other.protocol == source.protocol;
        let kept = now.iter().find(same);
        let is_gone =
            |id: &str| kept.is_none_or(|kept| !kept.models.iter().any(|known| known == id));
        if source.models.iter().any(|id| is_gone(id)) || kept.is_none() {
            mixed_group::remove(&mut group, source, is_gone);
        }
    }
    for source in &now {
        let same =
            |other: &&MixedSource| other.group == source.group && other.protocol == source.protocol;
        let had = before.iter().find(same).map_or(&[][..], |had| &had.models);
        let new = source.models.iter().filter(|id| !had.contains(id));
        let new: Vec<String> = new.cloned().collect();
        if !new.is_empty() {
            mixed_group::add(&mut group, source, &new);
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::super::listed::ListedModel;
    use super::super::vendor::{Vendor, VendorPreset};
    use super::super::{Offer, new};
    use super::*;
    use crate::prices::PriceCatalogue;

    fn vendor(name: &str, model: &str) -> VendorGroup {
        let preset = VendorPreset::named(name).unwrap();
        let vendor = Vendor::new(preset, None, None, None).unwrap();
        let listed = vec![ListedModel::named(model)];
        VendorGroup {
            models: Offer::of(&vendor, listed, &PriceCatalogue::embedded()).models,
            vendor,
            proxy: None,
            ca: None,
        }
    }

    fn ids(document: &str) -> Vec<String> {
        let document: Value = serde_json::from_str(document).unwrap();
        let groups = document["groups"].as_array().unwrap().iter();
        groups
            .map(|group| group["id"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn one_key_for_all_of_them() {
        let (a, b) = (
            vendor("openai", "gpt-6-luna"),
            vendor("anthropic", "claude-opus-4-8"),
        );
        let none = new(&[]).0;
        let one = with_vendor(&none, &a, true).unwrap();
        assert_eq!(ids(&one), ["openai"]);
        let both = with_vendor(&one, &b, true).unwrap();
        assert_eq!(ids(&both), ["openai", "anthropic", MIXED]);
        assert_eq!(
            serde_json::from_str::<Value>(&both).unwrap(),
            serde_json::from_str::<Value>(&new(&[a, b]).0).unwrap(),
            "as trilane init writes it"
        );
        let other = with_vendor(&both, &vendor("openai", "gpt-6.2-sol"), true).unwrap();
        let other: Value = serde_json::from_str(&other).unwrap();
        let served = group_of(&other, MIXED).unwrap()["models"].to_string();
        assert!(
            served.contains("gpt-6.2-sol") && !served.contains("gpt-6-luna"),
            "{served}"
        );
        let back = without_vendor(&both, "anthropic", true).unwrap();
        assert_eq!(ids(&back), ["openai"]);
        assert_eq!(without_vendor(&back, "anthropic", true), None);
        let read = vendor_groups(&serde_json::from_str(&both).unwrap());
        let read: Vec<&str> = read.iter().map(|one| one.vendor.group.as_str()).collect();
        assert_eq!(read, ["openai", "anthropic"]);
    }

    #[test]
    fn a_group_of_ones_own_stays() {
        let (a, b) = (
            vendor("openai", "gpt-6-luna"),
            vendor("anthropic", "claude-opus-4-8"),
        );
        let one = with_vendor(&new(&[]).0, &a, true).unwrap();
        let both = with_vendor(&one, &b, false).unwrap();
        assert_eq!(ids(&both), ["openai", "anthropic"], "none is begun");
        let own = r#"{"id": "all", "protocol": "A", "models": []}"#;
        let own = put(both.as_bytes(), MIXED, own).unwrap();
        let own = String::from_utf8(own).unwrap();
        let after = without_vendor(&own, "openai", true).unwrap();
        assert_eq!(ids(&after), ["anthropic", MIXED]);
    }

    /// The models that the group `all` of a document shows.
    fn shown(document: &str) -> Vec<String> {
        let document: Value = serde_json::from_str(document).unwrap();
        let models = group_of(&document, MIXED).unwrap()["models"].clone();
        let models = models.as_array().unwrap().iter();
        models
            .map(|model| model["id"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn what_was_unticked_stays_so() {
        let mut a = vendor("openai", "gpt-6-luna");
        a.models.extend(vendor("openai", "gpt-6.2-sol").models);
        let b = vendor("anthropic", "claude-opus-4-8");
        let one = with_vendor(&new(&[]).0, &a, true).unwrap();
        let both = with_vendor(&one, &b, true).unwrap();
        assert_eq!(
            shown(&both),
            ["gpt-6-luna", "gpt-6.2-sol", "claude-opus-4-8"]
        );
        let less = both.replace(r#"{"id": "gpt-6-luna", "entry": "responses"},"#, "");
        assert_eq!(shown(&less), ["gpt-6.2-sol", "claude-opus-4-8"]);
        let third = with_vendor(&less, &vendor("deepseek", "deepseek-v4-pro"), true).unwrap();
        let want = ["gpt-6.2-sol", "claude-opus-4-8", "deepseek-v4-pro"];
        assert_eq!(shown(&third), want);
        let back = without_vendor(&third, "openai", true).unwrap();
        assert_eq!(shown(&back), ["claude-opus-4-8", "deepseek-v4-pro"]);
        let whole = trilane::config::Document::parse(back.as_bytes()).unwrap();
        assert_eq!(
            trilane::config::compile(&whole).map(|it| it.warnings),
            Ok(Vec::new())
        );
    }
}
