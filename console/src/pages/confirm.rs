//! Asks before something is done that cannot be taken back.

use askama::Template;

use super::shell::PageShell;

/// A question, with the form that answers it.
#[derive(Template)]
#[template(path = "confirm.html")]
pub struct Confirm {
    /// Its title is the question.
    pub shell: PageShell,
    /// The page before: title and path.
    pub crumb: (String, String),
    /// What will happen.
    pub text: String,
    /// Where the form is sent to.
    pub action: String,
    /// Its hidden fields.
    pub hidden: Vec<(&'static str, String)>,
    /// What the button says.
    pub button: &'static str,
    /// Where it leads not to.
    pub back: String,
}

/// A secret, shown this once.
#[derive(Template)]
#[template(path = "shown_once.html")]
pub struct ShownOnce {
    /// Its title says what was made.
    pub shell: PageShell,
    /// The page before: title and path.
    pub crumb: (String, String),
    /// The secret; `None`: the form came again, and nobody has it any more.
    pub value: Option<String>,
    /// Whether it is a path at this console, of which the browser knows the address.
    pub is_path: bool,
    /// What to do with it.
    pub text: String,
    /// Until when it is good.
    pub until: Option<String>,
}
