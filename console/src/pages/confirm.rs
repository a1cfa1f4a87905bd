//! Asks before something is done that cannot be taken back.

use askama::Template;

use super::shell::PageShell;

/// A question, with the form that answers it.
#[derive(Template)]
#[template(path = "confirm.html")]
pub struct Confirm {
    /// The shell of the page. Its title is the question.
    pub shell: PageShell,
    /// The page before: title and path.
    pub crumb: (String, String),
    /// The consequences of the action, in words.
    pub text: String,
    /// The path that the form is sent to.
    pub action: String,
    /// The hidden fields of the form: names and values.
    pub hidden: Vec<(&'static str, String)>,
    /// The label of the button.
    pub button: &'static str,
    /// The path of the link that cancels.
    pub back: String,
}

/// A secret, shown this once.
#[derive(Template)]
#[template(path = "shown_once.html")]
pub struct ShownOnce {
    /// The shell of the page. Its title names the new secret.
    pub shell: PageShell,
    /// The page before: title and path.
    pub crumb: (String, String),
    /// The secret; `None`: the form came again, and nobody has it any more.
    pub value: Option<String>,
    /// Whether it is a path at this console, of which the browser knows the address.
    pub is_path: bool,
    /// The instructions for the use of the secret.
    pub text: String,
    /// Until when it is good.
    pub until: Option<String>,
}
