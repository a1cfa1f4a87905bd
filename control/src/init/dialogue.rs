//! The dialogue: asks a person for what the options say in scripts.

use std::env;
use std::io;

use dialoguer::theme::Theme;
use dialoguer::{Confirm, Input, MultiSelect, Password, Select};
use trilane::money::Amount;
use trilane::protocol::Protocol;
use trilane_console::vendors::protocol_title;
use trilane_console::vendors::{
    COMPATIBLE, ChosenModel, MOST_USUAL, ModelPricing, Offer, OwnPrice, PRESETS, Vendor,
    VendorCredential, VendorPreset,
};

use super::credential::CredentialSource;
use super::present::PresentDocument;
use crate::failure::Failure;
use crate::terminal::{say, theme};

/// The number of models that are shown at a time.
const PAGE: usize = 15;

/// A person at a terminal.
pub struct Dialogue(Box<dyn Theme>);

impl Dialogue {
    /// With whoever started the command.
    ///
    /// # Errors
    /// There is no terminal.
    pub fn new() -> Result<Self, Failure> {
        let why = "there is no terminal to ask at: name the vendors with --vendor";
        let theme = theme().ok_or_else(|| Failure::Usage(why.to_owned()))?;
        Ok(Self(theme))
    }

    /// Asks what to do with an existing document. `None`: it stays as it is.
    pub fn present(&self, document: &str) -> Result<Option<PresentDocument>, Failure> {
        let choices = ["add a vendor to it", "replace it", "leave it as it is"];
        let choice = self.select(&format!("{document} is there already"), &choices, 0)?;
        Ok(match choice {
            0 => Some(PresentDocument::Added),
            1 => Some(PresentDocument::Replaced),
            _ => None,
        })
    }

    /// A vendor, and where it is.
    pub fn vendor(&self) -> Result<Vendor, Failure> {
        let titles = PRESETS.map(|preset| preset.title);
        let preset = PRESETS.get(self.select("Which vendor?", &titles, 0)?);
        let preset: &'static VendorPreset = preset.unwrap_or(&PRESETS[0]);
        if preset.name != COMPATIBLE {
            return Vendor::new(preset, None, None, None).map_err(Failure::Data);
        }
        loop {
            let url = self.text("Its base address", Some("http://127.0.0.1:11434/v1"))?;
            let protocols = [Protocol::A, Protocol::B, Protocol::C];
            let titles = protocols.map(protocol_title);
            let chosen = self.select("What does it speak?", &titles, 0)?;
            let protocol = protocols.get(chosen).copied().unwrap_or(Protocol::A);
            let group = self.text("A name for it", Some("local"))?;
            match Vendor::new(preset, Some(&url), Some(protocol), Some(&group)) {
                Ok(vendor) => return Ok(vendor),
                Err(why) => say(&why),
            }
        }
    }

    /// The id of a new group for a vendor that another group has already; `None`: that one gets another credential.
    pub fn group_beside(&self, known: &str, vendor: &Vendor) -> Result<Option<String>, Failure> {
        let choices = [
            "add another key to it, which is used where the first fails",
            "make another group, with models and prices of its own",
        ];
        let prompt = format!("The group {known} has this vendor already");
        match self.select(&prompt, &choices, 0)? {
            0 => Ok(None),
            _ if vendor.group != known => Ok(Some(vendor.group.clone())),
            _ => self.text("A name for the new group", None).map(Some),
        }
    }

    /// The vendor's credential, and whether it is one.
    pub fn credential(&self, vendor: &Vendor) -> Result<(VendorCredential, bool), Failure> {
        let variable = vendor.preset.variable;
        let set = !variable.is_empty() && env::var_os(variable).is_some();
        let group = &vendor.group;
        loop {
            if set && self.confirm(&format!("Take the credential in ${variable}?"), true)? {
                match CredentialSource::Variable(variable.to_owned()).read() {
                    Ok(credential) => return Ok((credential, true)),
                    Err(why) => say(&why),
                }
            }
            let choices = [
                "I type it, and it is not shown",
                "in a file",
                "in an environment variable",
                "it asks for none",
            ];
            let choices = choices.get(..if vendor.preset.url.is_empty() { 4 } else { 3 });
            let choice = self.select(
                &format!("Where is the credential of {group}?"),
                choices.unwrap_or_default(),
                0,
            )?;
            let read = match choice {
                0 => self.typed()?,
                1 => CredentialSource::File(self.text("The file", None)?.into()).read(),
                2 => CredentialSource::Variable(self.text("The variable", None)?).read(),
                _ => CredentialSource::None.read(),
            };
            match read {
                Ok(credential) => return Ok((credential, choice < 3)),
                Err(why) => say(&why),
            }
        }
    }

    /// A credential that is typed or pasted. It is not shown, so its length is.
    fn typed(&self) -> Result<Result<VendorCredential, String>, Failure> {
        let text = self.secret("The credential")?;
        let length = text.trim().chars().count();
        say(&format!("{length} characters were read"));
        Ok(VendorCredential::new("that was typed", &text))
    }

    /// The id of another key than one that is there.
    pub fn key_id(&self, taken: &str) -> Result<String, Failure> {
        self.text(
            &format!("There is a key {taken} already. A name for the new one"),
            None,
        )
    }

    /// Whether to go on after a failure.
    pub fn again(&self) -> Result<bool, Failure> {
        self.confirm("Try another credential?", true)
    }

    /// Whether there is another vendor.
    pub fn another(&self) -> Result<bool, Failure> {
        self.confirm("Another vendor?", false)
    }

    /// Asks which of the models are taken, and what they cost. Of many it first asks for a part of their names.
    pub fn models(&self, offer: &Offer) -> Result<Vec<ChosenModel>, Failure> {
        let usual = offer.usual();
        let mut chosen: Vec<ChosenModel> = Vec::new();
        loop {
            let shown = self.filtered(&offer.models)?;
            let lines = shown.iter().map(|model| {
                let is_taken = usual.contains(model) || chosen.contains(model);
                (model.line(), is_taken)
            });
            let asked = MultiSelect::with_theme(self.0.as_ref())
                .with_prompt("Which models? (space: take or leave, enter: done)")
                .items_checked(lines)
                .max_length(PAGE)
                .report(false)
                .interact();
            let places = asked.map_err(|error| failed(&error))?;
            chosen.retain(|model| !shown.contains(model));
            let taken = places
                .into_iter()
                .filter_map(|place| shown.get(place).cloned());
            chosen.extend(taken);
            let is_all = shown.len() == offer.models.len();
            if chosen.is_empty() {
                say("take one at least");
            } else if is_all || !self.confirm("Look for other models?", false)? {
                break;
            }
        }
        self.prices(&mut chosen)?;
        Ok(chosen)
    }

    /// The models with a part of a name that is asked for; all of them where they are few.
    fn filtered(&self, models: &[ChosenModel]) -> Result<Vec<ChosenModel>, Failure> {
        if models.len() <= MOST_USUAL {
            return Ok(models.to_vec());
        }
        let prompt = format!(
            "{} models. Show those whose name has (nothing: all)",
            models.len()
        );
        loop {
            let part = self.text(&prompt, Some(""))?.to_ascii_lowercase();
            let named = |model: &&ChosenModel| model.id.to_ascii_lowercase().contains(&part);
            let found: Vec<ChosenModel> = models.iter().filter(named).cloned().collect();
            if !found.is_empty() {
                return Ok(found);
            }
            say(&format!("no name has {part}"));
        }
    }

    /// Asks for the prices that nobody else knows.
    fn prices(&self, chosen: &mut [ChosenModel]) -> Result<(), Failure> {
        let unknown = chosen.iter().filter(|model| !model.is_priced()).count();
        if unknown == 0 {
            return Ok(());
        }
        let choices = [
            "leave them without: what they cost is not counted",
            "I type them",
            "they cost nothing: it is my own server",
        ];
        let prompt = format!("{unknown} of these have no known price");
        let choice = self.select(&prompt, &choices, 0)?;
        for model in chosen.iter_mut().filter(|model| !model.is_priced()) {
            match choice {
                1 => self.price(model)?,
                2 => model.pricing = ModelPricing::Free,
                _ => {}
            }
        }
        Ok(())
    }

    fn price(&self, model: &mut ChosenModel) -> Result<(), Failure> {
        let prompt = format!(
            "{}: INPUT/CACHED/OUTPUT in dollars for a million tokens (nothing: leave it without)",
            model.id
        );
        loop {
            let text = self.text(&prompt, Some(""))?;
            if text.is_empty() {
                return Ok(());
            }
            match OwnPrice::of(&model.id, &text) {
                Ok(own) => {
                    model.pricing = ModelPricing::given(own.prices);
                    say(&model.line());
                    return Ok(());
                }
                Err(why) => say(&why),
            }
        }
    }

    /// The budget a day of the first key; `None` for none.
    pub fn budget(&self) -> Result<Option<String>, Failure> {
        loop {
            let prompt = "What may the first key spend a day, in dollars? (nothing: no budget)";
            let text = self.text(prompt, Some(""))?;
            if text.is_empty() {
                return Ok(None);
            }
            match Amount::parse(&text) {
                Ok(Amount::ZERO) => say("must be more than 0"),
                Ok(_) => return Ok(Some(text)),
                Err(why) => say(why),
            }
        }
    }

    fn text(&self, prompt: &str, default: Option<&str>) -> Result<String, Failure> {
        let mut input = Input::with_theme(self.0.as_ref())
            .with_prompt(prompt)
            .report(false);
        if let Some(default) = default {
            input = input
                .default(default.to_owned())
                .allow_empty(default.is_empty())
                .show_default(!default.is_empty());
        }
        let text: String = input.interact_text().map_err(|error| failed(&error))?;
        Ok(text.trim().to_owned())
    }

    fn secret(&self, prompt: &str) -> Result<String, Failure> {
        Password::with_theme(self.0.as_ref())
            .with_prompt(prompt)
            .report(false)
            .interact()
            .map_err(|error| failed(&error))
    }

    fn select(&self, prompt: &str, choices: &[&str], first: usize) -> Result<usize, Failure> {
        Select::with_theme(self.0.as_ref())
            .with_prompt(prompt)
            .items(choices)
            .default(first)
            .interact()
            .map_err(|error| failed(&error))
    }

    fn confirm(&self, prompt: &str, default: bool) -> Result<bool, Failure> {
        Confirm::with_theme(self.0.as_ref())
            .with_prompt(prompt)
            .default(default)
            .interact()
            .map_err(|error| failed(&error))
    }
}

fn failed(error: &dialoguer::Error) -> Failure {
    let dialoguer::Error::IO(error) = error;
    if error.kind() == io::ErrorKind::Interrupted {
        return Failure::Data("ended: nothing was written".to_owned());
    }
    Failure::Data(format!("cannot ask at this terminal: {error}"))
}
