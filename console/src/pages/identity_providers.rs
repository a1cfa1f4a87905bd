//! Identity providers, and the switch of passwords.

use std::borrow::Cow;

use askama::Template;
use axum::extract::Path;

use super::confirm::Confirm;
use super::form::Fields;
use super::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page,
    page,
};
use crate::cases::providers::ClaimRule;
use crate::cases::providers::settings::{
    self, DiscoveryView, IdentityProviderBody, IdentityProviderView,
};
use crate::cases::providers::switch::{self, SignInSettings};
use crate::cases::{ApiProblem, ConsoleState, Role, rights};

#[derive(Template)]
#[template(path = "identity_provider.html")]
struct ProviderPage {
    shell: PageShell,
    /// The provider that there is; `None`: it is to be added.
    known: Option<IdentityProviderView>,
    /// The discovery that was just read.
    tested: Option<DiscoveryView>,
    states: Vec<(&'static str, Cow<'static, str>)>,
    fields: Fields,
    problems: FieldProblems,
}

/// A rule, as it stands in a line of the form.
fn line(rule: &ClaimRule) -> String {
    let role = rule.role.map(|role| role.name().to_owned());
    let teams = rule.teams.iter().map(|team| format!("team {team}"));
    let group = rule
        .key_group
        .as_ref()
        .map(|group| format!("key group {group}"));
    let gives: Vec<String> = role.into_iter().chain(teams).chain(group).collect();
    format!("{} = {} => {}", rule.claim, rule.equals, gives.join(", "))
}

/// The rule of a line.
fn rule(line: &str) -> Option<ClaimRule> {
    let (of, gives) = line.rsplit_once("=>")?;
    let (claim, equals) = of.split_once('=')?;
    let mut rule = ClaimRule {
        claim: claim.trim().to_owned(),
        equals: equals.trim().to_owned(),
        role: None,
        teams: Vec::new(),
        key_group: None,
    };
    for gift in gives
        .split(',')
        .map(str::trim)
        .filter(|gift| !gift.is_empty())
    {
        if let Some(team) = gift.strip_prefix("team ") {
            rule.teams.push(team.trim().to_owned());
        } else if let Some(group) = gift.strip_prefix("key group ") {
            rule.key_group = Some(group.trim().to_owned());
        } else {
            rule.role = Some(Role::parse(gift)?);
        }
    }
    Some(rule)
}

fn words(text: &str) -> Vec<String> {
    let words = text.split([',', ' ', '\n', '\r', '\t']);
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The body of the API's request, from the fields.
fn body(fields: &Fields) -> Result<IdentityProviderBody, ApiProblem> {
    let lines = fields.get("rules").lines().map(str::trim);
    let mut rules = Vec::new();
    for (number, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        rules.push(rule(line).ok_or_else(|| {
            let number = number.saturating_add(1);
            ApiProblem::invalid("rules", t!("line {number} is no rule such as: groups = eng => member, team blue, key group mixed", number = number))
        })?);
    }
    let secret = fields.get("client_secret");
    Ok(IdentityProviderBody {
        label: fields.given("label"),
        issuer: fields.get("issuer").to_owned(),
        client_id: fields.get("client_id").to_owned(),
        client_secret: (!secret.is_empty()).then(|| Some(secret.to_owned())),
        scopes: fields.given("scopes").map(|scopes| words(&scopes)),
        allowed_domains: words(fields.get("allowed_domains")),
        verified_claim: fields.given("verified_claim"),
        rules,
        enabled: Some(fields.get("enabled") != "no"),
        revision: fields.get("revision").parse().ok(),
    })
}

/// The fields of a provider that there is.
fn fields_of(provider: &IdentityProviderView) -> Fields {
    let settings = &provider.settings;
    let rules: Vec<String> = settings.rules.iter().map(line).collect();
    Fields::default()
        .with("id", &provider.id)
        .with("label", &settings.label)
        .with("issuer", &provider.issuer)
        .with("client_id", &provider.client_id)
        .with("scopes", settings.scopes.join(" "))
        .with("allowed_domains", settings.allowed_domains.join(" "))
        .with("verified_claim", &settings.verified_claim)
        .with("rules", rules.join("\n"))
        .with("enabled", if provider.enabled { "yes" } else { "no" })
        .with("revision", provider.revision.to_string())
}

fn show(
    signed_in: &SignedIn,
    known: Option<IdentityProviderView>,
    tested: Option<DiscoveryView>,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let title = match &known {
        Some(known) => known.settings.label.clone(),
        None => t!("Add an identity provider").into_owned(),
    };
    let failed = !problems.is_empty();
    form_page(
        &ProviderPage {
            shell: signed_in.shell(title),
            known,
            tested,
            states: vec![
                ("yes", t!("People may sign in with it")),
                ("no", t!("Turned off")),
            ],
            fields,
            problems,
        },
        failed,
    )
}

/// The form of a new provider.
pub async fn new(signed_in: SignedIn) -> PageResult {
    signed_in.caller.must(rights::CHANGE_SIGN_IN)?;
    show(
        &signed_in,
        None,
        None,
        Fields::default(),
        FieldProblems::default(),
    )
}

/// Adds a provider.
pub async fn create(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let id = fields.get("id").to_owned();
    let made = match body(&fields) {
        // Another one of this id is not changed by it.
        Ok(body) => {
            let body = IdentityProviderBody {
                revision: Some(0),
                ..body
            };
            settings::put(&state, &signed_in.caller, &id, body).await
        }
        Err(problem) => Err(problem),
    };
    match made {
        Ok(made) => Ok(done(
            &format!("/identity-providers/{}", made.id),
            Notice::Saved,
        )),
        Err(problem) => show(&signed_in, None, None, fields, FieldProblems::of(problem)?),
    }
}

/// One provider, with the form that changes it.
pub async fn one(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    signed_in.caller.must(rights::CHANGE_SIGN_IN)?;
    let known = settings::get(&state, &signed_in.caller, &id).await?;
    let fields = fields_of(&known);
    show(
        &signed_in,
        Some(known),
        None,
        fields,
        FieldProblems::default(),
    )
}

/// Changes a provider.
pub async fn change(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let changed = match body(&fields) {
        Ok(body) => settings::put(&state, &signed_in.caller, &id, body).await,
        Err(problem) => Err(problem),
    };
    match changed {
        Ok(_) => Ok(done(&format!("/identity-providers/{id}"), Notice::Saved)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            let known = settings::get(&state, &signed_in.caller, &id).await?;
            show(&signed_in, Some(known), None, fields, problems)
        }
    }
}

/// Reads a provider's discovery now, and shows what it says.
pub async fn test(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, _) = sent.parts();
    let known = settings::get(&state, &signed_in.caller, &id).await?;
    let fields = fields_of(&known);
    match settings::test(&state, &signed_in.caller, &id).await {
        Ok(tested) => show(
            &signed_in,
            Some(known),
            Some(tested),
            fields,
            FieldProblems::default(),
        ),
        Err(problem) => show(
            &signed_in,
            Some(known),
            None,
            fields,
            FieldProblems::of(problem)?,
        ),
    }
}

/// Asks whether a provider is to be removed.
pub async fn confirm_remove(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_SIGN_IN)?;
    let known = settings::get(&state, &signed_in.caller, &id).await?;
    page(&Confirm {
        shell: signed_in.shell(t!("Remove {name}?", name = known.settings.label)),
        crumb: (t!("Settings").into_owned(), "/settings".to_owned()),
        text: t!("Everybody who signed in with it is signed out, and nobody signs in with it any more. People stay, with their roles, teams and keys.").into_owned(),
        action: format!("/identity-providers/{id}/remove"),
        hidden: Vec::new(),
        button: text!("Remove"),
        back: format!("/identity-providers/{id}"),
    })
}

/// Removes a provider.
pub async fn remove(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    settings::remove(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done("/settings", Notice::Removed))
}

/// The providers and the switch of passwords, for the settings.
pub(super) async fn all(
    state: &ConsoleState,
    signed_in: &SignedIn,
) -> Result<(Vec<IdentityProviderView>, bool), ApiProblem> {
    let providers = settings::list(state, &signed_in.caller).await?;
    let settings = switch::get(state, &signed_in.caller).await?;
    Ok((providers.items, settings.passwords))
}

/// Turns passwords on or off.
pub async fn switch(sent: SignedForm) -> PageResult {
    let passwords = sent.fields.get("passwords") == "on";
    let wanted = SignInSettings { passwords };
    switch::set(&sent.state, &sent.signed_in.caller, wanted).await?;
    Ok(done("/settings", Notice::Saved))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_and_its_line() {
        for text in [
            "groups = eng => member, team blue, team red, key group mixed",
            "groups = AI = all => admin",
            "domain = example.com => ",
        ] {
            assert_eq!(line(&rule(text).unwrap()), text, "{text}");
        }
        let typed = rule("groups=eng=>viewer,team  blue").unwrap();
        assert_eq!(line(&typed), "groups = eng => viewer, team blue");
        for wrong in [
            "groups = eng",
            "groups => admin",
            "groups = eng => boss",
            "=>",
        ] {
            assert!(rule(wrong).is_none(), "{wrong}");
        }
    }
}
