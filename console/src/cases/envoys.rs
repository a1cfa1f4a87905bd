//! Envoys and their agents.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::fields;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::role::Role;
use super::state::ConsoleState;
use crate::envoy_report::EnvoyReport;
use crate::envoys::{self, EnrolledBySecret};
use crate::in_transaction;
use crate::intake::LedgerBatch;
use crate::secret::{self, NewSecret};
use crate::store::envoys::{self as stored, Envoy};
use crate::timestamp::moment;
use crate::{envoy_clock, timestamp};

/// An Envoy.
#[derive(Debug, Serialize, ToSchema)]
pub struct EnvoyView {
    /// The id of the Envoy.
    pub(crate) id: String,
    /// The name of the Envoy.
    pub(crate) name: String,
    /// `new`: its agent has not enrolled. `enrolled`. `revoked`: it may do nothing any more.
    pub(crate) state: &'static str,
    /// Until when its agent may enrol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enrol_until: Option<String>,
    /// The time at which the agent enrolled, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enrolled_at: Option<String>,
    /// The fingerprint of its agent's credential, where it has enrolled. The agent's log says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fingerprint: Option<String>,
    /// Whether its agent gets credentials of accounts: `trilane console approve FINGERPRINT`, on the console's machine.
    pub(crate) approved: bool,
    /// The time of the agent's latest report, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seen_at: Option<String>,
    /// The report that its agent sent then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<EnvoyReport>,
    /// The offset of the agent's clock from the console's at that time, in milliseconds; less than 0: it was behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clock_offset_ms: Option<i64>,
    /// The time at which the Envoy was added, as RFC 3339.
    pub(crate) created_at: String,
}

/// An Envoy to be added.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEnvoyBody {
    /// The id of the Envoy: letters, digits, `-` `_` `.` `:`.
    #[schema(min_length = 1, max_length = 128)]
    pub(crate) id: String,
    /// The name of the Envoy; the id unless it is given.
    #[schema(max_length = 128)]
    pub(crate) name: Option<String>,
}

/// A token with which an agent enrols.
#[derive(Debug, Serialize, ToSchema)]
pub struct EnrolmentView {
    /// The Envoy's id.
    pub(crate) envoy: String,
    /// The token, shown this once, good once.
    pub(crate) token: String,
    /// Until when it is good.
    pub(crate) expires_at: String,
}

/// An agent that wants to enrol.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_debug_implementations, reason = "it has a secret")]
pub struct EnrolBody {
    /// The enrolment token, or an enrolment secret.
    #[schema(max_length = 128)]
    pub token: String,
    /// With an enrolment secret: the id of its Envoy, which is added if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128)]
    pub envoy: Option<String>,
}

/// An agent that has enrolled.
#[derive(Serialize, Deserialize, ToSchema)]
#[expect(missing_debug_implementations, reason = "it has a secret")]
pub struct EnrolledView {
    /// The id of its Envoy.
    pub envoy: String,
    /// The agent's credential: a token of the API.
    pub token: String,
}

fn view(envoy: Envoy) -> EnvoyView {
    let state = match (envoy.disabled, envoy.enrolled_at) {
        (true, _) => "revoked",
        (false, None) => "new",
        (false, Some(_)) => "enrolled",
    };
    EnvoyView {
        id: envoy.id,
        name: envoy.name,
        state,
        enrol_until: envoy.enrol_until.map(moment),
        enrolled_at: envoy.enrolled_at.map(moment),
        fingerprint: envoy.credential.as_deref().map(envoys::fingerprint),
        approved: envoy.approved,
        seen_at: envoy.seen_at.map(moment),
        report: envoy
            .report
            .and_then(|report| serde_json::from_str(&report).ok()),
        clock_offset_ms: envoy.clock_offset,
        created_at: moment(envoy.created_at),
    }
}

/// Envoys in the order of their ids.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<EnvoyView>, ApiProblem> {
    caller.must(rights::SEE_ENVOYS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let mut transaction = state.store.read().await?;
    let envoys = stored::list(&mut transaction, &after, limit.to_fetch()).await?;
    transaction.rollback().await;
    Ok(limit.page(envoys, |envoy| envoy.id.clone(), view))
}

/// One Envoy.
pub async fn get(state: &ConsoleState, caller: &Caller, id: &str) -> Result<EnvoyView, ApiProblem> {
    caller.must(rights::SEE_ENVOYS)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let mut transaction = state.store.read().await?;
    let envoy = stored::find(&mut transaction, id).await?;
    transaction.rollback().await;
    envoy.map(view).ok_or_else(ApiProblem::not_found)
}

/// Adds an Envoy. Its agent enrols with the token that is shown this once.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    new: NewEnvoyBody,
) -> Result<EnrolmentView, ApiProblem> {
    caller.must(rights::CHANGE_ENVOYS)?;
    check_id(&new.id).map_err(|reason| ApiProblem::invalid("id", reason))?;
    let name = new.name.unwrap_or_else(|| new.id.clone());
    if !fields::is_name(&name) {
        return Err(ApiProblem::invalid("name", fields::NAME));
    }
    let (now, actor) = (state.now(), caller.actor());
    let token = NewSecret::enrolment().map_err(ApiProblem::internal)?;
    in_transaction!(state.store, transaction => {
        if !envoys::add(transaction, &new.id, &name, &actor, now).await? {
            return Err(ApiProblem::conflict(text!("this id is another Envoy's or a person's")));
        }
        envoys::let_enrol(transaction, &new.id, &token, &actor, now).await?;
        Ok::<_, ApiProblem>(())
    })?;
    Ok(enrolment(&new.id, &token, now))
}

/// Another token with which the agent of an Envoy enrols, shown this once. The credential that it has stays good until then.
pub async fn let_enrol(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<EnrolmentView, ApiProblem> {
    caller.must(rights::CHANGE_ENVOYS)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let (now, actor) = (state.now(), caller.actor());
    let token = NewSecret::enrolment().map_err(ApiProblem::internal)?;
    let known = in_transaction!(state.store, transaction => {
        envoys::let_enrol(transaction, id, &token, &actor, now).await
    })?;
    if !known {
        return Err(ApiProblem::not_found());
    }
    Ok(enrolment(id, &token, now))
}

fn enrolment(id: &str, token: &NewSecret, now: i64) -> EnrolmentView {
    EnrolmentView {
        envoy: id.to_owned(),
        token: token.reveal().to_owned(),
        expires_at: moment(now.saturating_add(envoys::ENROL_WITHIN)),
    }
}

/// Revokes the credential of an Envoy's agent. Its Envoy goes on with what it has; what it has sent stays.
pub async fn revoke(state: &ConsoleState, caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_ENVOYS)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let (now, actor) = (state.now(), caller.actor());
    let revoked = in_transaction!(state.store, transaction => {
        envoys::revoke(transaction, id, &actor, now).await
    })?;
    revoked.map(|_| ()).ok_or_else(ApiProblem::not_found)
}

fn enrolled_as(envoy: String, credential: &NewSecret) -> EnrolledView {
    let token = credential.reveal().to_owned();
    EnrolledView { envoy, token }
}

/// Whether an Envoy may have this id: it stands in the ledger's positions.
fn check_id(id: &str) -> Result<(), &'static str> {
    let batch = LedgerBatch::new(id, "file", 0, &[], false);
    batch
        .map(drop)
        .map_err(|_| text!("must be 1 to 128 letters, digits or any of - _ . :"))
}

/// Exchanges an enrolment token, which is good once, or an enrolment secret for the credential of an agent. It needs no other token.
pub async fn enrol(
    state: &ConsoleState,
    address: &str,
    asked: EnrolBody,
) -> Result<EnrolledView, ApiProblem> {
    let credential = NewSecret::token().map_err(ApiProblem::internal)?;
    let token_id = format!("token_{}", secret::new_id().map_err(ApiProblem::internal)?);
    let now = state.now();
    let token = asked.token.trim();
    if secret::is_enrolment_secret(token) {
        let id = asked.envoy.unwrap_or_default();
        check_id(&id).map_err(|reason| ApiProblem::invalid("envoy", reason))?;
        let enrolled = in_transaction!(state.store, transaction => {
            let of = (token, id.as_str());
            envoys::enrol_by_secret(transaction, of, &credential, &token_id, address, now).await
        })?;
        return match enrolled {
            EnrolledBySecret::Enrolled => Ok(enrolled_as(id, &credential)),
            EnrolledBySecret::Taken => Err(ApiProblem::conflict(
                "this id is a person's, or that of an Envoy that was added here and enrols with a token of its own",
            )),
            EnrolledBySecret::Refused => Err(ApiProblem::new(
                StatusCode::UNAUTHORIZED,
                "/problems/enrolment-refused",
                "this enrolment secret has expired, was removed, or never was one, or this Envoy was revoked",
            )),
        };
    }
    let enrolled = in_transaction!(state.store, transaction => {
        envoys::enrol(transaction, token, &credential, &token_id, address, now).await
    })?;
    let refused = || {
        let detail =
            "this enrolment token was used, has expired, or never was one; an admin makes another";
        ApiProblem::new(
            StatusCode::UNAUTHORIZED,
            "/problems/enrolment-refused",
            detail,
        )
    };
    let envoy = enrolled.ok_or_else(refused)?;
    Ok(enrolled_as(envoy, &credential))
}

/// Says what is in force on an Envoy.
pub async fn report(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    report: EnvoyReport,
) -> Result<(), ApiProblem> {
    caller.must(rights::RUN_ENVOY)?;
    // Before anything is waited for.
    let now = state.now();
    if caller.role == Role::Agent && caller.id != id {
        return Err(ApiProblem::forbidden("an agent reports of its own Envoy"));
    }
    let text = serde_json::to_string(&report).unwrap_or_default();
    if text.len() > MOST || text.contains("\\u0000") || id.contains('\0') {
        return Err(ApiProblem::invalid(
            "",
            "must be at most 8 KiB without zero bytes",
        ));
    }
    if !report.is_within_bounds() {
        let reason = "version, document, in_force, clock and certificate_ends_at have at most 64 characters, numbers 63 bits, and troubles are at most 10";
        return Err(ApiProblem::invalid("", reason));
    }
    let clock = report.clock.as_deref().and_then(timestamp::parse);
    let offset = clock.map(|clock| envoy_clock::offset(clock, now));
    let known = in_transaction!(state.store, transaction => {
        stored::note_report(transaction, id, &text, offset, now).await
    })?;
    if !known {
        return Err(ApiProblem::not_found());
    }
    Ok(())
}

/// The longest report, in bytes.
const MOST: usize = 8 << 10;
