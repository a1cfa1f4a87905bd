//! The rejection of a request, as a status and a code.

use core::net::IpAddr;
use std::rc::Rc;

use crate::body::{BodyError, SteeringMember};
use crate::limits::{AdmitError, Limit, LimitViolation, SubjectKind};
use crate::protocol::Quota;
use crate::protocol::parameters::ParameterError;
use crate::protocol::{Entry, Protocol};

/// The reason why the gateway does not forward a request, or does not relay its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// No endpoint has the path; perhaps the base address is wrong.
    UnknownPath {
        /// Advice on the base address, where the path shows that it is wrong.
        advice: Option<&'static str>,
    },
    /// A vendor has such an endpoint, this gateway does not.
    EndpointNotServed,
    /// The path takes other methods.
    WrongMethod {
        /// Those it takes.
        allow: &'static str,
    },
    /// The path or its query has bytes that are no visible ASCII.
    BadTarget,
    /// A WebSocket was asked for.
    UpgradeRequired,
    /// No key, a key in a wrong form, or a key that is unknown, disabled or expired.
    Unauthenticated,
    /// A valid key, in a place where its group does not read it: answered as [`Unauthenticated`](Self::Unauthenticated), but for
    /// one header.
    KeyMisplaced {
        /// The sentence that the header holds: what would be read.
        detail: String,
    },
    /// A valid key, from an address that it may not be used from.
    AddressNotAllowed {
        /// The address, where it is known.
        address: Option<IpAddr>,
    },
    /// No policy is in force yet, or not one that can judge this key.
    NotReady,
    /// The key's group does not serve the endpoint's protocol.
    ProtocolNotAllowed {
        /// The endpoint's protocol.
        wanted: Protocol,
        /// The protocols that the group speaks instead.
        group: GroupProtocol,
    },
    /// Protocol B without its version header, or with a version that the group does not take.
    Version {
        /// Whether the group takes any date, or the documented constant only.
        any_date: bool,
    },
    /// The group may not make images.
    ImagesNotSupported,
    /// The source does not count tokens.
    CountTokensNotSupported,
    /// A path of current clients, for a key whose group is strict.
    PathOfCurrentClients,
    /// A cache cannot be made under a budget or a limit of input tokens.
    CachesNotSupported,
    /// Account resources of protocol C, which the group does not open.
    ResourcesNotServed,
    /// Protocol C: a method of models that the group does not serve.
    MethodNotServed {
        /// Those that it serves.
        served: Vec<String>,
    },
    /// The body is of a form that the endpoint does not take.
    FormNotSupported,
    /// The body is encoded in a way that Envoy has not undone.
    EncodingNotSupported,
    /// The body is longer than allowed.
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The body is not what its form demands.
    Body(BodyError),
    /// The body names no model.
    ModelMissing,
    /// The body names another model than the path.
    ModelMismatch,
    /// The key's list does not have the model.
    ModelNotFound {
        /// The name as sent.
        name: String,
        /// For a Mixed key that sees the model elsewhere: the entry that serves it.
        served_by: Option<Entry>,
    },
    /// The body names its model too late: so many bytes of it were held, and its model decides where it goes.
    ModelTooLate {
        /// The number of bytes that are held at most.
        held: u64,
    },
    /// A tool or fallback names a model of another source than the request's own.
    ModelOfOtherSource {
        /// The name as sent.
        name: String,
    },
    /// A tool or fallback names a model that the source knows by another name.
    OtherModelRenamed {
        /// The name as sent.
        name: String,
    },
    /// The body has a member that chooses a model, provider, plugin or price elsewhere, and the source does not let it pass.
    MemberNotAllowed(&'static SteeringMember),
    /// A tool makes images and names no model, and the key's list has none that does.
    NoImageModel,
    /// The answer is to be made in the background, where nobody would see what it costs.
    BackgroundNotSupported,
    /// 400: this member asks for a class of service or a speed for which the model has no price.
    ClassNotPriced(&'static str),
    /// The source account may not use the model.
    ModelNotEntitled {
        /// The name as sent.
        name: String,
    },
    /// The multiplier of every source that may serve the model is above the greatest that the key pays.
    ModelAboveMultiplier {
        /// The name as sent.
        name: String,
    },
    /// The model has no price, and a budget could not count it.
    ModelNotPriced {
        /// The name of the model.
        name: String,
        /// The subject of the budget.
        scope: SubjectKind,
        /// The contact for a price.
        contact: Option<Rc<str>>,
    },
    /// A query parameter has a value that cannot be honoured.
    BadParameter(&'static str),
    /// A query parameter that the path does not take.
    UnknownParameter {
        /// The name of the parameter, where it may be repeated in a message.
        name: Option<String>,
    },
    /// A limit of the key, its owner, alone or in its team, its team or its group is used up.
    LimitReached {
        /// The kind of subject that has the limit.
        scope: SubjectKind,
        /// The limit that is used up.
        limit: Limit,
        /// In how many seconds it will suffice again.
        retry_after_s: u64,
        /// The contact for more.
        contact: Option<Rc<str>>,
    },
    /// A limit that many Envoys share is used up, says the service that counts there.
    ServiceLimit {
        /// In how many seconds it will suffice again.
        retry_after_s: u64,
    },
    /// The request could not be counted: too many others at the same time, or the limits service does
    /// not answer.
    NotCounted,
    /// The ledger cannot be written, and the document wants no request without a line.
    LedgerUnwritable,
    /// The upstream could not be reached, broke off, or refused one of our own accounts and not the others.
    UpstreamFailed,
    /// The upstream refused every account of the source for its credential.
    AccountsRefused,
    /// No account of the source could answer, and one of them at least is at its limit.
    AccountsLimited {
        /// In how many seconds the first of these may answer again.
        retry_after_s: u64,
    },
    /// The upstream refused the option that makes a stream report its usage, which the client had not sent: the next try goes
    /// without it.
    UsageOptionRefused,
    /// The upstream says that our account may not do this.
    UpstreamForbade,
    /// Something that should not be possible.
    Internal,
}

/// The protocols of a group, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupProtocol {
    /// One protocol.
    Only(Protocol),
    /// Several, but not through this entry, which is not configured.
    Lacks(Entry),
}

impl Rejection {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::BadTarget
            | Self::Version { .. }
            | Self::Body(_)
            | Self::ModelMissing
            | Self::ModelMismatch
            | Self::OtherModelRenamed { .. }
            | Self::ModelOfOtherSource { .. }
            | Self::MemberNotAllowed(_)
            | Self::BackgroundNotSupported
            | Self::ClassNotPriced(_)
            | Self::BadParameter(_)
            | Self::UnknownParameter { .. } => 400,
            Self::Unauthenticated | Self::KeyMisplaced { .. } => 401,
            Self::AddressNotAllowed { .. }
            | Self::ProtocolNotAllowed { .. }
            | Self::ModelNotEntitled { .. }
            | Self::ModelNotPriced { .. }
            | Self::ModelAboveMultiplier { .. }
            | Self::UpstreamForbade => 403,
            Self::UnknownPath { .. }
            | Self::EndpointNotServed
            | Self::ImagesNotSupported
            | Self::NoImageModel
            | Self::CountTokensNotSupported
            | Self::PathOfCurrentClients
            | Self::ResourcesNotServed
            | Self::CachesNotSupported
            | Self::MethodNotServed { .. }
            | Self::ModelNotFound { .. } => 404,
            Self::WrongMethod { .. } => 405,
            Self::TooLarge { .. } | Self::ModelTooLate { .. } => 413,
            Self::EncodingNotSupported | Self::FormNotSupported => 415,
            Self::UpgradeRequired => 426,
            Self::LimitReached { .. }
            | Self::ServiceLimit { .. }
            | Self::AccountsLimited { .. } => 429,
            Self::Internal => 500,
            Self::UpstreamFailed | Self::AccountsRefused => 502,
            Self::NotReady
            | Self::NotCounted
            | Self::LedgerUnwritable
            | Self::UsageOptionRefused => 503,
        }
    }

    /// The gateway's own code: in every body, and in the header `x-trilane-error`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownPath { .. }
            | Self::EndpointNotServed
            | Self::PathOfCurrentClients
            | Self::ResourcesNotServed
            | Self::MethodNotServed { .. } => "not_found",
            Self::WrongMethod { .. } => "method_not_allowed",
            Self::BadTarget => "bad_path",
            Self::UpgradeRequired => "upgrade_required",
            Self::Unauthenticated | Self::KeyMisplaced { .. } => "invalid_api_key",
            Self::AddressNotAllowed { .. } => "address_not_allowed",
            Self::NotReady | Self::NotCounted => "server_is_overloaded",
            Self::LedgerUnwritable => "ledger_unwritable",
            Self::LimitReached {
                limit: Limit::Budget(_),
                ..
            } => "insufficient_quota",
            Self::LimitReached { .. }
            | Self::ServiceLimit { .. }
            | Self::AccountsLimited { .. } => "rate_limit_exceeded",
            Self::ProtocolNotAllowed { .. } => "protocol_not_allowed",
            Self::Version { .. } => "invalid_version",
            Self::ImagesNotSupported => "images_not_supported",
            Self::CountTokensNotSupported => "count_tokens_not_supported",
            Self::CachesNotSupported => "caches_not_supported",
            Self::EncodingNotSupported => "request_body_encoding_unsupported",
            Self::FormNotSupported => "unsupported_media_type",
            Self::TooLarge { .. } | Self::ModelTooLate { .. } => "request_too_large",
            Self::Body(_) => "invalid_body",
            Self::ModelMissing => "model_missing",
            Self::ModelMismatch
            | Self::OtherModelRenamed { .. }
            | Self::ModelOfOtherSource { .. } => "model_mismatch",
            Self::MemberNotAllowed(_) => "member_not_allowed",
            Self::BackgroundNotSupported => "background_not_supported",
            Self::ClassNotPriced(_) => "service_tier_not_supported",
            Self::ModelNotFound { .. } | Self::NoImageModel => "model_not_found",
            Self::ModelNotEntitled { .. } | Self::UpstreamForbade => "model_not_entitled",
            Self::ModelNotPriced { .. } => "model_not_priced",
            Self::ModelAboveMultiplier { .. } => "model_above_multiplier",
            Self::BadParameter(_) | Self::UnknownParameter { .. } => "invalid_parameter",
            Self::UpstreamFailed | Self::AccountsRefused => "bad_gateway",
            Self::UsageOptionRefused => "usage_option_refused",
            Self::Internal => "internal_error",
        }
    }

    /// The request field at fault, where there is one.
    pub(super) fn param(&self) -> Option<&'static str> {
        match self {
            Self::ModelMissing
            | Self::ModelMismatch
            | Self::ModelTooLate { .. }
            | Self::OtherModelRenamed { .. }
            | Self::ModelOfOtherSource { .. }
            | Self::ModelNotFound { .. }
            | Self::ModelNotEntitled { .. }
            | Self::ModelNotPriced { .. }
            | Self::ModelAboveMultiplier { .. } => Some("model"),
            Self::BackgroundNotSupported => Some("background"),
            Self::MemberNotAllowed(member) => Some(member.name),
            Self::NoImageModel => Some("tools"),
            Self::ClassNotPriced(member) => Some(member),
            Self::Body(error) if error.concerns_model() => Some("model"),
            Self::Body(BodyError::WrongType(field) | BodyError::NotSupported(field)) => {
                Some(field.name())
            }
            Self::BadParameter(name) => Some(name),
            _ => None,
        }
    }

    /// Whether asking again, unchanged, could end otherwise. The SDKs of A and B obey.
    pub(super) fn is_final(&self) -> bool {
        match self.quota() {
            Some(quota) => quota.spent.is_some(),
            None => self.status() < 500 || matches!(self, Self::AccountsRefused),
        }
    }

    /// Of a request that its limits do not admit, whose sender asks `contact` for more. `model`: its model without a price,
    /// where it names one.
    pub fn of_limit(error: AdmitError, model: &str, contact: Option<&Rc<str>>) -> Self {
        match error {
            AdmitError::Conflict | AdmitError::SpendUnknown => Self::NotCounted,
            AdmitError::Unpriced(scope) => Self::ModelNotPriced {
                name: model.to_owned(),
                scope,
                contact: contact.map(Rc::clone),
            },
            AdmitError::Violation(LimitViolation {
                scope,
                limit,
                wait_us,
            }) => Self::LimitReached {
                scope,
                limit,
                retry_after_s: wait_us.div_ceil(1_000_000),
                contact: contact.map(Rc::clone),
            },
        }
    }

    /// Returns the quota that is used up, where that is the reason.
    pub(super) fn quota(&self) -> Option<Quota> {
        let (spent, retry_after_s) = match self {
            Self::LimitReached {
                limit: Limit::Budget(window),
                retry_after_s,
                ..
            } => (Some(*window), *retry_after_s),
            Self::LimitReached { retry_after_s, .. }
            | Self::ServiceLimit { retry_after_s }
            | Self::AccountsLimited { retry_after_s } => (None, *retry_after_s),
            _ => return None,
        };
        Some(Quota {
            retry_after_s,
            spent,
        })
    }
}

impl From<ParameterError> for Rejection {
    fn from(error: ParameterError) -> Self {
        match error {
            ParameterError::Name(name) => Self::UnknownParameter { name },
            ParameterError::Value(name) => Self::BadParameter(name),
        }
    }
}
