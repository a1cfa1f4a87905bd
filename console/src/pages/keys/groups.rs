//! The groups that a key may be of, to choose from.

use trilane::limits::SubjectKind;

use crate::cases::names::WantedNames;
use crate::cases::{ConsoleState, key_models};
use crate::language::translated;
use crate::pages::{PageProblem, SignedIn};
use crate::vendors::api_style;

/// The groups in force: the id of each, with its name, the id again and its API style.
///
/// # Errors
/// Those of the database.
pub async fn group_choices(
    state: &ConsoleState,
    signed_in: &SignedIn,
) -> Result<Vec<(String, String)>, PageProblem> {
    let groups = key_models::groups(state, &signed_in.caller).await?;
    let mut wanted = WantedNames::default();
    wanted.all(SubjectKind::Group, groups.iter().map(|(id, _)| id.as_str()));
    let names = wanted.find(state, &signed_in.caller).await?;
    let titled = groups.into_iter().map(|(id, serves)| {
        let name = match names.group(&id).text {
            name if name == id => name,
            name => format!("{name} · {id}"),
        };
        let style = translated(api_style(&serves));
        let title = t!("{name} ({style})", name = name, style = style);
        (id, title)
    });
    Ok(titled.collect())
}
