//! The steps of the first run, and the first request as it arrives.

use askama::Template;

use crate::cases::keys::{self, KeyListParams};
use crate::cases::paging::PageParams;
use crate::cases::requests::{self, RequestParams};
use crate::cases::setup;
use crate::cases::{Caller, ConsoleState, envoys, rights};
use crate::pages::requests::RequestRow;
use crate::pages::{PageProblem, PageResult, Visit, live};

/// A step of the first run.
struct SetupStep {
    title: &'static str,
    is_done: bool,
}

#[derive(Template)]
#[template(path = "start_progress.html")]
struct ProgressPart {
    steps: Vec<SetupStep>,
    request: Option<RequestRow>,
}

impl ProgressPart {
    /// The first step that is to do; `None`: all are done.
    fn next(&self) -> Option<&'static str> {
        let mut steps = self.steps.iter();
        steps.find(|step| !step.is_done).map(|step| step.title)
    }

    async fn read(state: &ConsoleState, caller: &Caller) -> Result<Self, PageProblem> {
        let one = || PageParams::first(1);
        let setup = setup::get(state, caller).await?;
        let keys = keys::list(state, caller, KeyListParams::default(), one()).await?;
        let envoys = envoys::list(state, caller, PageParams::default()).await?;
        let asked = RequestParams::default();
        let latest = requests::list(state, caller, asked, one()).await?;
        let rows = RequestRow::all(state, caller, &latest.items).await?;
        let request = rows.into_iter().next();
        let is_served = setup.groups_in_force > 0;
        let drawn = &setup.vendors;
        let step = |title, is_done| SetupStep { title, is_done };
        Ok(Self {
            steps: vec![
                step("A vendor", is_served || !drawn.is_empty()),
                step(
                    "Its models",
                    is_served || drawn.iter().any(|vendor| !vendor.models.is_empty()),
                ),
                step("Published", is_served),
                step("A gateway", !envoys.items.is_empty()),
                step("A key", !keys.items.is_empty()),
                step("A request", request.is_some()),
            ],
            request,
        })
    }
}

/// The steps.
///
/// # Errors
/// Those of the use cases.
pub async fn part(state: &ConsoleState, caller: &Caller) -> Result<String, PageProblem> {
    Ok(ProgressPart::read(state, caller).await?.render()?)
}

/// The steps, again whenever they are others.
pub async fn live(Visit { state, signed_in }: Visit) -> PageResult {
    signed_in.caller.must(rights::SEE_SETUP)?;
    let (of, who) = (state.clone(), signed_in.caller.clone());
    live::events(&state, signed_in, move || {
        let (state, caller) = (of.clone(), who.clone());
        async move { part(&state, &caller).await }
    })
}
