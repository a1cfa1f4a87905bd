//! A key's own settings, on the command line and in a document: models, multiplier, team and addresses.

use trilane::config::document::KeyDocument;
use trilane::keys::AddressRange;
use trilane::money::Multiplier;

use trilane_console::json_line::json_line;

/// Models, multiplier, team and addresses; those that are not given stay.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct AccessArgs {
    /// The models of its group that the key may use, with commas between them, or `all`
    #[arg(long, value_name = "IDS", value_parser = models)]
    pub models: Option<OwnValue<Vec<String>>>,

    /// The final multiplier of the key's requests, whichever source serves them, or `group` for the group's
    #[arg(long, value_name = "NUMBER", value_parser = multiplier)]
    pub multiplier: Option<OwnValue<String>>,

    /// The team that the key belongs to, which gateways write into their ledgers, or `none`
    #[arg(long, value_name = "ID", value_parser = team)]
    pub team: Option<OwnValue<String>>,

    /// Confirm a team that a console does not know. A document takes any
    #[arg(long, requires = "team")]
    pub new_team: bool,
    /// The addresses and ranges from which the key may be used, such as 10.0.0.0/8, with commas between them, or `any`
    #[arg(long, value_name = "ADDRESSES", value_parser = addresses)]
    pub addresses: Option<OwnValue<Vec<String>>>,
}

/// A value of the key's own, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnValue<T>(Option<T>);

/// A member of a key, and its new value as JSON; `None` removes it.
pub type MemberChange = (&'static str, Option<String>);

fn models(text: &str) -> Result<OwnValue<Vec<String>>, String> {
    if text == "all" {
        return Ok(OwnValue(None));
    }
    let names: Vec<String> = text.split(',').map(str::to_owned).collect();
    if names.iter().any(String::is_empty) {
        return Err("expected ids of models with commas between them, or all".to_owned());
    }
    Ok(OwnValue(Some(names)))
}

fn multiplier(text: &str) -> Result<OwnValue<String>, String> {
    if text == "group" {
        return Ok(OwnValue(None));
    }
    match Multiplier::parse(text) {
        Ok(_) => Ok(OwnValue(Some(text.to_owned()))),
        Err(reason) => Err(format!("{reason}, or group")),
    }
}

fn team(text: &str) -> Result<OwnValue<String>, String> {
    match text {
        "none" => Ok(OwnValue(None)),
        "" => Err("expected an id, or none".to_owned()),
        id => Ok(OwnValue(Some(id.to_owned()))),
    }
}

fn addresses(text: &str) -> Result<OwnValue<Vec<String>>, String> {
    if text == "any" {
        return Ok(OwnValue(None));
    }
    let ranges: Vec<String> = text.split(',').map(str::to_owned).collect();
    match ranges
        .iter()
        .find_map(|range| range.parse::<AddressRange>().err())
    {
        Some(reason) => Err(format!("each {reason}; or any")),
        None => Ok(OwnValue(Some(ranges))),
    }
}

impl AccessArgs {
    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        self.models.is_none()
            && self.multiplier.is_none()
            && self.team.is_none()
            && self.addresses.is_none()
    }

    /// The members of a key that become others, in the order of a document.
    pub fn changes(&self, before: &KeyDocument, compact: bool) -> Vec<MemberChange> {
        let text = |text: &String| serde_json::Value::from(text.as_str()).to_string();
        let list = |names: &Vec<String>| {
            if compact {
                // Texts, into memory: it cannot fail.
                serde_json::to_string(names).unwrap_or_default()
            } else {
                json_line(names)
            }
        };
        let changes = [
            change("team", &self.team, before.team.as_ref(), text),
            change("models", &self.models, before.models.as_ref(), list),
            change(
                "multiplier",
                &self.multiplier,
                before.multiplier.as_ref(),
                text,
            ),
            change(
                "addresses",
                &self.addresses,
                before.addresses.as_ref(),
                list,
            ),
        ];
        changes.into_iter().flatten().collect()
    }
}

fn change<T: PartialEq>(
    name: &'static str,
    to: &Option<OwnValue<T>>,
    before: Option<&T>,
    written: impl Fn(&T) -> String,
) -> Option<MemberChange> {
    let OwnValue(to) = to.as_ref()?;
    (to.as_ref() != before).then(|| (name, to.as_ref().map(written)))
}
