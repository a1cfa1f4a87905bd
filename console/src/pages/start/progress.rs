//! The steps of the first run, and the first request as it arrives.

use std::borrow::Cow;

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
    title: Cow<'static, str>,
    is_done: bool,
}

#[derive(Template)]
#[template(path = "start_progress.html")]
struct ProgressPart {
    steps: Vec<SetupStep>,
    request: Option<RequestRow>,
}

impl ProgressPart {
    /// Whether there is none to do.
    fn is_done(&self) -> bool {
        self.steps.iter().all(|step| step.is_done)
    }

    /// Whether all steps but the last are done, which is the request.
    fn awaits_request(&self) -> bool {
        let done = self.steps.iter().take_while(|step| step.is_done).count();
        done.saturating_add(1) == self.steps.len()
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
                step(t!("A vendor"), is_served || !drawn.is_empty()),
                step(
                    t!("Its models"),
                    is_served || drawn.iter().any(|vendor| !vendor.models.is_empty()),
                ),
                step(t!("Published"), is_served),
                step(t!("A gateway"), !envoys.items.is_empty()),
                step(t!("A key"), !keys.items.is_empty()),
                step(t!("A request"), request.is_some()),
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
