//! The messages of rejections, in the words that the clients of each protocol know.

use super::rejection::{GroupProtocol, Rejection};
use crate::body::SteeringMember;
use crate::limits::Limit;
use crate::limits::{Rate, SubjectKind, Window};
use crate::protocol::{Entry, Protocol};

/// The longest part of a client's model name that a message repeats, in characters.
const MAX_ECHO: usize = 128;

impl Rejection {
    /// Returns the text of the header `x-trilane-detail`, for the operator of the client. Only sent to clients with a valid key.
    pub(super) fn detail(&self, protocol: Protocol) -> Option<&str> {
        match (self, protocol) {
            (Self::KeyMisplaced { detail }, _) => Some(detail),
            (Self::PathOfCurrentClients, Protocol::C) => Some(
                "Keys of this key's group reach models under /v1beta/models/{model} only; \
                 \"clients\": \"current\" on the group also allows /v1/models/{model}.",
            ),
            (Self::PathOfCurrentClients, _) => Some(
                "Keys of this key's group reach this endpoint under /v1 only; \
                 \"clients\": \"current\" on the group also allows the path without it.",
            ),
            _ => None,
        }
    }

    /// The sentence for people, in the words that clients of `protocol` know.
    pub(super) fn message(&self, protocol: Protocol) -> String {
        match self {
            Self::UnknownPath { advice: None } => {
                "There is no such path. Check the base address: protocol A ends in /v1, protocol B \
                 has no version, protocol C ends in /v1beta unless the client appends it."
                    .to_owned()
            }
            Self::UnknownPath {
                advice: Some(advice),
            } => (*advice).to_owned(),
            Self::EndpointNotServed => not_served(protocol).to_owned(),
            Self::WrongMethod { allow } => format!("This path takes {allow} only."),
            Self::BadTarget => {
                "The path and its query may hold visible ASCII characters only.".to_owned()
            }
            Self::UpgradeRequired => {
                "WebSocket is not offered here: send the request with POST.".to_owned()
            }
            Self::Unauthenticated | Self::KeyMisplaced { .. } => match protocol {
                Protocol::B => "invalid x-api-key".to_owned(),
                Protocol::A | Protocol::C => {
                    "Incorrect API key provided: it is missing, wrong, expired, or sent in a header \
                     that this endpoint does not read."
                        .to_owned()
                }
            },
            Self::AddressNotAllowed {
                address: Some(address),
            } => format!("This key may not be used from your address, {address}."),
            Self::AddressNotAllowed { address: None } => {
                "This key may not be used from your address.".to_owned()
            }
            Self::NotReady => {
                "The gateway has no configuration in force yet. Try again in a moment.".to_owned()
            }
            Self::ProtocolNotAllowed { wanted, group } => match group {
                GroupProtocol::Only(own) => format!(
                    "This key's group speaks protocol {own}; this endpoint belongs to protocol {wanted}."
                ),
                GroupProtocol::Lacks(entry) => format!(
                    "This key's group has no entry {entry}, so it does not serve protocol {wanted}."
                ),
            },
            Self::Version { any_date: false } => {
                "The header anthropic-version (or vb-version) must be present, with the value \
                 2023-06-01."
                    .to_owned()
            }
            Self::Version { any_date: true } => {
                "The header anthropic-version (or vb-version) must be one date, YYYY-MM-DD."
                    .to_owned()
            }
            Self::ImagesNotSupported => "Images API is not supported for this platform".to_owned(),
            Self::CountTokensNotSupported => {
                "Token counting is not supported by this channel; /v1/messages is unaffected."
                    .to_owned()
            }
            Self::PathOfCurrentClients => match protocol {
                Protocol::C => {
                    "This path is not served for this key. Models are under /v1beta/models/{model}: set the \
                     client's API version to v1beta, or \"clients\": \"current\" on the key's group."
                }
                Protocol::A | Protocol::B => {
                    "This path is not served for this key. This client needs a base address that ends in /v1, \
                     or \"clients\": \"current\" on the key's group."
                }
            }
            .to_owned(),
            Self::ResourcesNotServed => {
                "Files, caches and other resources of the source's account are not served here for this key."
                    .to_owned()
            }
            Self::CachesNotSupported => {
                "Caches are not made for a key that has a budget, or a limit of input tokens: of itself, its owner, alone \
                 or in its team, its team or its group. Send the content with each request."
                    .to_owned()
            }
            Self::MethodNotServed { served } => format!(
                "This method is not served for this key. Served are: {}.",
                served.join(", ")
            ),
            Self::FormNotSupported => {
                "The content-type of the request body is not supported here: send application/json."
                    .to_owned()
            }
            Self::EncodingNotSupported => {
                "The content-encoding of the request body is not supported: send gzip, br, zstd or \
                 no encoding."
                    .to_owned()
            }
            Self::TooLarge { limit } => {
                format!("The request body is larger than {limit} bytes.")
            }
            Self::ModelTooLate { held } => format!(
                "The request body does not name its model in its first {held} bytes, and the model decides where it goes. Write \
                 the field model before the others."
            ),
            Self::Body(error) => error.to_string(),
            Self::ModelMissing => {
                "The request body must have a top-level field model that is a string.".to_owned()
            }
            Self::ModelMismatch => {
                "The model in the request body is not the model in the path.".to_owned()
            }
            Self::OtherModelRenamed { name } => format!(
                "The source knows the model {} by another name, and only the request's own model is written \
                 anew: name it as the source does.",
                echo(name)
            ),
            Self::ModelOfOtherSource { name } => format!(
                "The model {} is served by another source than the request's own model, so one request cannot use both.",
                echo(name)
            ),
            Self::ClassNotPriced(member) => format!(
                "The value of {member} is not offered for this model. Leave {member} out."
            ),
            Self::MemberNotAllowed(member) => member_not_allowed(member),
            Self::NoImageModel => {
                "The tool image_generation names no model, and no model in this key's list makes images."
                    .to_owned()
            }
            Self::BackgroundNotSupported => {
                "'background' is not supported: leave it out, and take the answer as it is made."
                    .to_owned()
            }
            Self::ModelNotFound { name, served_by } => {
                not_found(protocol, &echo(name), *served_by)
            }
            Self::ModelNotEntitled { name } => format!(
                "model_not_entitled: the source account has no right to the model {}.",
                echo(name)
            ),
            Self::ModelAboveMultiplier { name } => format!(
                "The model {} costs more than this key may pay: the multiplier of its source is above the key's greatest one. Use another model.",
                echo(name)
            ),
            Self::ModelNotPriced {
                name,
                scope,
                contact,
            } => {
                let ask = contact.as_deref();
                format!(
                    "The model {} has no price, so the budget of {} cannot count it. Use another model of this key's list, or ask \
                     for a price: {}",
                    echo(name),
                    whose(*scope),
                    ask.unwrap_or("the operator of this gateway.")
                )
            }
            Self::BadParameter(name) => {
                format!("The query parameter {name} has a value that cannot be honoured.")
            }
            Self::UnknownParameter { name: Some(name) } => {
                format!("The query parameter {name} is not served here.")
            }
            Self::UnknownParameter { name: None } => {
                "The query has a parameter that is not served here.".to_owned()
            }
            Self::LimitReached {
                scope,
                limit,
                retry_after_s,
                contact,
            } => used_up(*scope, *limit, *retry_after_s, contact.as_deref()),
            Self::ServiceLimit { retry_after_s } => format!(
                "Rate limit reached: a limit of this key, its group or the model is used up. Try again \
                 in {retry_after_s} s."
            ),
            Self::NotCounted => {
                "The gateway could not count this request. Try again in a moment.".to_owned()
            }
            Self::LedgerUnwritable => {
                "The gateway cannot write its ledger, so it takes no requests that it would have to charge. Try again in a moment; \
                 if it stays so, tell the operator of this gateway."
                    .to_owned()
            }
            Self::UpstreamFailed => {
                "The upstream source could not be reached or did not answer properly.".to_owned()
            }
            Self::AccountsRefused => {
                "The gateway's own account was refused by the model vendor. Your key is good, and asking \
                 again does not help: tell the operator of this gateway."
                    .to_owned()
            }
            Self::AccountsLimited { retry_after_s } => format!(
                "The model vendor has reached a limit of the gateway's own accounts. Your key is good: try \
                 again in {retry_after_s} s."
            ),
            Self::UsageOptionRefused => {
                "The upstream source refused stream_options.include_usage, which the gateway had added. It leaves that out from \
                 now on: send the same request again."
                    .to_owned()
            }
            Self::UpstreamForbade => {
                "model_not_entitled: the source account has no right to this model.".to_owned()
            }
            Self::Internal => "The gateway failed on this request.".to_owned(),
        }
    }
}

/// Returns the message for an endpoint that a vendor has and this gateway does not.
fn not_served(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::A => {
            "This endpoint is not served here. Served are /v1/responses, /v1/responses/compact, \
             /v1/responses/input_tokens, /v1/chat/completions, /v1/embeddings, /v1/images/generations, \
             /v1/images/edits and /v1/models."
        }
        Protocol::B => {
            "This endpoint is not served here. Served are /v1/messages, /v1/messages/count_tokens and \
             /v1/models."
        }
        Protocol::C => {
            "This endpoint is not served here. Served are /v1beta/models and the methods of \
             /v1beta/models/{model}."
        }
    }
}

/// The message on a member that chooses elsewhere: its name, and who may allow it.
fn member_not_allowed(member: &SteeringMember) -> String {
    let SteeringMember { name, page, .. } = member;
    if member.may_pass() {
        format!(
            "'{name}' is not allowed here: it chooses a model, a provider or a price beside 'model' ({page}). Leave it \
             out, or let the operator of this gateway add it to \"passes\" of the source group."
        )
    } else {
        format!("'{name}' is not supported in a form: send the request as JSON.")
    }
}

/// A subject, as its key's holder knows it.
fn whose(scope: SubjectKind) -> &'static str {
    match scope {
        SubjectKind::Key => "this key",
        SubjectKind::Member => "this key's owner in its team",
        SubjectKind::Owner => "this key's owner",
        SubjectKind::Team => "this key's team",
        SubjectKind::Group => "this key's group",
    }
}

fn used_up(scope: SubjectKind, limit: Limit, retry_after_s: u64, contact: Option<&str>) -> String {
    let whose = whose(scope);
    let per_minute = |what: &str| {
        format!(
            "Rate limit reached: the {what} per minute of {whose} are used up. Try again in \
             {retry_after_s} s."
        )
    };
    match limit {
        Limit::Rate(Rate::Requests) => per_minute("requests"),
        Limit::Rate(Rate::InputTokens) => per_minute("input tokens"),
        Limit::Rate(Rate::OutputTokens) => per_minute("output tokens"),
        Limit::Concurrency => format!(
            "Rate limit reached: {whose} has as many requests under way as it may. Try again when \
             one has ended."
        ),
        Limit::Budget(window) => {
            let begins = match window {
                Window::Day => "at 00:00 UTC",
                Window::Month => "on the first of next month, 00:00 UTC",
            };
            let ask = contact.map(|contact| format!(" For more before then, ask: {contact}"));
            format!(
                "Quota exceeded: the budget of {whose} for this {} (UTC) is spent. It begins anew {begins}, in {}.{}",
                window.name(),
                duration(retry_after_s),
                ask.unwrap_or_default()
            )
        }
        Limit::Reserved(window) => format!(
            "Rate limit reached: what is left of the budget of {whose} for this {} (UTC) is reserved by \
             requests under way. Try again when one has ended.",
            window.name()
        ),
    }
}

/// A time that people read: its two largest units, rounded up to the smaller one.
fn duration(seconds: u64) -> String {
    let minutes = seconds.div_ceil(60);
    let (days, hours, rest) = (minutes / 1440, minutes % 1440 / 60, minutes % 60);
    match (days, hours) {
        (0, 0) => format!("{rest} min"),
        (0, hours) => format!("{hours} h {rest} min"),
        (days, hours) => format!("{days} d {hours} h"),
    }
}

fn not_found(protocol: Protocol, name: &str, served_by: Option<Entry>) -> String {
    let plain = match protocol {
        Protocol::A => format!("The model `{name}` does not exist or is not in this key's list."),
        Protocol::B => format!("model: {name}"),
        Protocol::C => format!(
            "models/{name} is not found for API version v1beta, or is not in this key's list."
        ),
    };
    match served_by {
        None => plain,
        Some(entry) => format!(
            "{plain} (this key reaches it through the entry {entry}: {})",
            entry.paths()
        ),
    }
}

/// A client's own text, cut for a message.
fn echo(name: &str) -> String {
    match name.char_indices().nth(MAX_ECHO) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}
