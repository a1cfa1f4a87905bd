//! One's own keys, with what is left for them.

use askama::Template;

use trilane::limits::{SubjectKind, Window};
use trilane::money::Amount;

use super::own_keys::{OwnKey, verdict};
use super::spend::SpendShown;
use crate::allowance::KeyAllowance;
use crate::cases::budgets;
use crate::cases::client_sign_ins::list::{self as sign_ins, ClientSignInView};
use crate::cases::key_models;
use crate::cases::me::teams::OwnTeamView;
use crate::cases::me::{keys as own_keys, teams};
use crate::cases::names::{Names, WantedNames};
use crate::cases::notice_choices as choices;
use crate::cases::ordered_keys;
use crate::cases::paging::PageParams;
use crate::cases::requests::{self, RequestParams};
use crate::cases::rights;
use crate::cases::spend::{self, SpendParams, SpentAmount};
use crate::cases::usage::{self, UsageParams, UsageView};
use crate::cases::{Caller, ConsoleState};
use crate::language;
use crate::pages::allowed;
use crate::pages::client_setup::{self, ClientSetup};
use crate::pages::form::Fields;
use crate::pages::keys::{SOME_KEY, gateway};
use crate::pages::notice_choices::{self, NoticeChoicesForm};
use crate::pages::requests::RequestRow;
use crate::pages::text::path_with;
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageResult, PageShell, ShownAmount, SignedForm, SignedIn,
    Visit, done, form_page, text,
};
use crate::timestamp::moment;

/// The keys and the requests of the page.
const KEYS: u16 = 20;
const REQUESTS: u16 = 10;
/// The most sums of usage that the page adds up: more models a day than anybody uses.
const USED: u32 = 20_000;

/// A budget of one's own.
struct OwnBudget {
    title: &'static str,
    left: ShownAmount,
    allowed: ShownAmount,
    percent: u64,
    kind: &'static str,
}

/// The setup of clients with one of the keys.
struct KeySetup {
    name: String,
    clients: Vec<ClientSetup>,
}

/// A team that one is in, in words.
struct OwnTeam {
    name: String,
    /// The page of the team, for its manager.
    page: Option<String>,
    allows: String,
}

#[derive(Template)]
#[template(path = "me.html")]
struct MePage {
    shell: PageShell,
    name: String,
    today: ShownAmount,
    month: ShownAmount,
    /// The remaining amounts of one's own budgets of the day and the month, for all keys together.
    left: Vec<OwnBudget>,
    /// The verdict on several keys.
    verdict: Option<(&'static str, String)>,
    keys: Vec<OwnKey>,
    spend: SpendShown,
    setup: Option<KeySetup>,
    /// The lines by which a client signs in, where that may be.
    sign_in_lines: Option<String>,
    is_address_known: bool,
    next: Option<String>,
    teams: Vec<OwnTeam>,
    sign_ins: Vec<ClientSignInView>,
    requests: Vec<RequestRow>,
    /// The path of the list of one's own requests.
    all_requests: String,
    may_create: bool,
    /// The path of the form for a key of one's own, for an admin.
    new_key: Option<String>,
    may_change: bool,
    /// Whether a key that was ordered waits.
    is_awaited: bool,
    choices: NoticeChoicesForm,
}

/// Formats the amounts spent, by currency.
pub fn sums(spent: &[SpentAmount]) -> ShownAmount {
    if spent.is_empty() {
        return ShownAmount::of("", "0");
    }
    let each = spent.iter();
    ShownAmount::sum(each.map(|spent| (spent.currency.as_str(), spent.amount.as_str())))
}

/// The teams that one is in, as many as a page has.
pub async fn own_teams(
    state: &ConsoleState,
    signed_in: &SignedIn,
) -> Result<Vec<OwnTeamView>, PageProblem> {
    let found = teams::list(state, &signed_in.caller, PageParams::default()).await?;
    Ok(found.items)
}

/// Whether a team lets one make one more key.
pub fn has_room(team: &OwnTeamView) -> bool {
    let allowed = team.allowance.as_ref().map(|allowance| allowance.keys);
    allowed.is_some_and(|allowed| team.keys < i64::from(allowed))
}

/// Whether a person has no key yet, and a team lets them make one.
pub async fn wants_first_key(
    state: &ConsoleState,
    signed_in: &SignedIn,
) -> Result<bool, PageProblem> {
    if !signed_in.caller.may(rights::CHANGE_OWN_KEYS) {
        return Ok(false);
    }
    let teams = own_teams(state, signed_in).await?;
    if !teams.iter().any(has_room) {
        return Ok(false);
    }
    let one = PageParams::first(1);
    let keys = own_keys::list(state, &signed_in.caller, one).await?;
    Ok(keys.items.is_empty())
}

/// Adds the groups that teams let one make keys of.
pub fn add_groups(wanted: &mut WantedNames, teams: &[OwnTeamView]) {
    let allowances = teams.iter().filter_map(|team| team.allowance.as_ref());
    let groups = allowances.flat_map(|allowance| &allowance.groups);
    wanted.all(SubjectKind::Group, groups.map(String::as_str));
}

/// Describes the allowance of a team, with the names of its groups.
pub fn allows(team: &OwnTeamView, names: &Names) -> String {
    let Some(allowance) = &team.allowance else {
        return t!("Lets members make no keys: an admin makes them.").into_owned();
    };
    let (has, may) = (team.keys, allowance.keys);
    let keys = t!("You have {has} of {may} keys.", has = has, may = may);
    let groups = allowance.groups.iter().map(|id| names.group(id).text);
    let named = KeyAllowance {
        groups: groups.collect(),
        ..allowance.clone()
    };
    format!("{keys}{}{}", language::gap(), allowed::terms(&named))
}

async fn spent(
    state: &ConsoleState,
    caller: &Caller,
    window: Window,
) -> Result<ShownAmount, PageProblem> {
    let asked = SpendParams {
        kind: SubjectKind::Owner,
        subject: caller.id.clone(),
        period: state.period(window).to_string(),
    };
    let found = spend::get(state, caller, asked).await?;
    Ok(sums(&found.spent))
}

/// Reads the remaining amounts of the person's own budgets.
async fn left(state: &ConsoleState, signed_in: &SignedIn) -> Result<Vec<OwnBudget>, PageProblem> {
    let caller = &signed_in.caller;
    let found = match budgets::get(state, caller, SubjectKind::Owner, &caller.id).await {
        Ok(found) => found,
        Err(problem) if problem.status() == 404 => return Ok(Vec::new()),
        Err(problem) => return Err(problem.into()),
    };
    let each = [
        (text!("Left today"), found.budget.per_day, found.today),
        (
            text!("Left this month"),
            found.budget.per_month,
            found.this_month,
        ),
    ];
    let each = each.into_iter().filter_map(|(title, allowed, spent)| {
        let allowed = allowed?;
        let spent = spent.first();
        let used = spent.map_or("0", |spent| spent.amount.as_str());
        let currency = spent.map_or("", |spent| spent.currency.as_str());
        let left = Amount::read(&allowed).ok()?.less(Amount::read(used).ok()?);
        let percent = text::percent(used, &allowed);
        Some(OwnBudget {
            title,
            left: ShownAmount::of(currency, &left.to_string()),
            allowed: ShownAmount::of(currency, &allowed),
            percent,
            kind: text::fullness(percent),
        })
    });
    Ok(each.collect())
}

/// Reads the usage of this month by model and day.
async fn used(state: &ConsoleState, caller: &Caller) -> Result<Vec<UsageView>, PageProblem> {
    let asked = UsageParams {
        by: "model,day".to_owned(),
        since: Some(state.period(Window::Month).first_day().to_string()),
        owner: Some(caller.id.clone()),
        ..UsageParams::default()
    };
    let found = usage::all(state, caller, &asked, USED).await?;
    Ok(found.unwrap_or_default())
}

/// The setup of clients with the key that was asked for, or else the first that can be used.
async fn setup(
    state: &ConsoleState,
    caller: &Caller,
    keys: &[OwnKey],
    asked: &str,
) -> Result<Option<KeySetup>, PageProblem> {
    let is_asked = |key: &&OwnKey| key.id == asked;
    let first = || keys.iter().find(|key| key.is_usable());
    let Some(key) = keys.iter().find(is_asked).or_else(first) else {
        return Ok(None);
    };
    let served = key_models::list(state, caller, &key.id).await?.items;
    Ok(Some(KeySetup {
        name: key.name.clone(),
        clients: client_setup::clients(gateway(state), SOME_KEY, &served),
    }))
}

/// One's own page.
pub async fn own(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    show(&state, &signed_in, &asked, None).await
}

/// Changes the notices that one is mailed.
pub async fn save_notices(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let asked = notice_choices::changes(&fields);
    match choices::change_own(&state, &signed_in.caller, asked).await {
        Ok(_) => Ok(done("/me", Notice::Saved)),
        Err(problem) => {
            let sent = Some((fields, FieldProblems::of(problem)?));
            show(&state, &signed_in, &Fields::default(), sent).await
        }
    }
}

/// The page, with the form of notices if that was sent and is not good.
async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    asked: &Fields,
    sent: Option<(Fields, FieldProblems)>,
) -> PageResult {
    signed_in.caller.must(rights::SEE_OWN_KEYS)?;
    let place = PageParams::at(asked.given("cursor"), KEYS);
    let found = own_keys::list(state, &signed_in.caller, place).await?;
    let now = moment(state.now());
    let teams = own_teams(state, signed_in).await?;
    let mut wanted = WantedNames::default();
    add_groups(&mut wanted, &teams);
    for own in &found.items {
        wanted.add(SubjectKind::Group, &own.key.group);
        wanted.all(SubjectKind::Team, own.key.team.as_deref());
        for of in &own.remaining.subjects {
            wanted.add(of.kind, &of.id);
        }
    }
    let names = wanted.find(state, &signed_in.caller).await?;
    let keys = OwnKey::all(&found.items, &names, &now);
    let of_me = RequestParams {
        owner: Some(signed_in.caller.id.clone()),
        ..RequestParams::default()
    };
    let few = PageParams::first(REQUESTS);
    let latest = requests::list(state, &signed_in.caller, of_me, few);
    let latest = latest.await?.items;
    let sign_ins = sign_ins::own(state, &signed_in.caller).await?.items;
    let may_change = signed_in.caller.may(rights::CHANGE_OWN_KEYS);
    let signs_in = sign_ins::are_possible(state, &signed_in.caller).await?;
    let setup = setup(state, &signed_in.caller, &keys, asked.get("key")).await?;
    let used = used(state, &signed_in.caller).await?;
    let shell = signed_in.shell(t!("Me"));
    let name = shell.person.as_ref().map(|(_, name)| name.clone());
    let failed = sent.is_some();
    let chosen = choices::own(state, &signed_in.caller).await?;
    let choices = NoticeChoicesForm::new("/me/notices".to_owned(), &chosen, sent);
    form_page(
        &MePage {
            name: name.unwrap_or_default(),
            today: spent(state, &signed_in.caller, Window::Day).await?,
            month: spent(state, &signed_in.caller, Window::Month).await?,
            left: left(state, signed_in).await?,
            verdict: verdict(&keys),
            setup,
            sign_in_lines: (signs_in && state.gateway.is_some())
                .then(|| format!("trilane login {}\ntrilane run claude", gateway(state))),
            is_address_known: state.gateway.is_some(),
            spend: SpendShown::of(state, &used),
            keys,
            next: found.next,
            all_requests: path_with("/requests", &[("owner", &signed_in.caller.id)]),
            requests: RequestRow::all(state, &signed_in.caller, &latest).await?,
            may_create: may_change && teams.iter().any(has_room),
            new_key: signed_in
                .caller
                .may(rights::CHANGE_KEYS)
                .then(|| path_with("/new-key", &[("owner", &signed_in.caller.id)])),
            may_change,
            is_awaited: ordered_keys::waits(state, &signed_in.caller.id).await?,
            sign_ins,
            teams: teams
                .iter()
                .map(|team| OwnTeam {
                    name: team.name.clone(),
                    page: signed_in
                        .caller
                        .manages(Some(&team.id))
                        .then(|| format!("/teams/{}", team.id)),
                    allows: allows(team, &names),
                })
                .collect(),
            shell,
            choices,
        },
        failed,
    )
}
