//! The reason that a vendor gave no list, and the remedy.

use core::fmt;
use std::io;

use std::borrow::Cow;

use rustls::CertificateError;
use rustls::Error::InvalidCertificate;

use super::vendor::{Vendor, protocol_style};
use crate::language::translated;
use crate::outgoing::NoAddress;

/// The reason that there is no list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListFailure {
    /// The vendor does not take the credential; with its status.
    Refused(u16),
    /// The name of the host, or of the proxy on the way, has no address that may be called.
    NoAddress(NoAddress),
    /// Nothing, or not all of it, came in time; with the time in seconds.
    Timeout(u64),
    /// No answer came; why.
    NotReached(String),
    /// The certificate is not trusted, or there is no TLS; why.
    Tls(String),
    /// It answered with another status.
    Status(u16),
    /// It answered with something else than a list.
    NotAList,
    /// The answer is longer than any list; with the most bytes that are read.
    TooLong(u64),
    /// The list is empty.
    NoModels,
    /// The file of certificate authorities cannot be used; why.
    Authorities(String),
}

impl ListFailure {
    /// Classifies an error of the client. None of its texts has the credential: they are about connections.
    pub(super) fn of(error: &ureq::Error, seconds: u64) -> Self {
        if let Some(none) = NoAddress::of(error) {
            return Self::NoAddress(none.clone());
        }
        match error {
            ureq::Error::Tls(why) => Self::Tls((*why).to_owned()),
            ureq::Error::Rustls(why) => Self::Tls(tls_reason(why)),
            ureq::Error::Io(error) => Self::of_connection(error, seconds),
            ureq::Error::Timeout(_) => Self::Timeout(seconds),
            ureq::Error::BodyExceedsLimit(most) => Self::TooLong(*most),
            ureq::Error::Protocol(_) => Self::NotAList,
            other => Self::NotReached(other.to_string()),
        }
    }

    fn of_connection(error: &io::Error, seconds: u64) -> Self {
        let inner = error.get_ref();
        let tls = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let tls = tls.or_else(|| inner?.source()?.downcast_ref());
        match (
            tls,
            inner.and_then(|inner| inner.downcast_ref::<ureq::Error>()),
        ) {
            (Some(why), _) => Self::Tls(tls_reason(why)),
            (None, Some(inner)) => Self::of(inner, seconds),
            (None, None) if error.kind() == io::ErrorKind::TimedOut => Self::Timeout(seconds),
            (None, None) => Self::NotReached(error.to_string()),
        }
    }

    /// Returns the name of the failure, for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Refused(_) => "credential_refused",
            Self::NoAddress(NoAddress::NotFound { .. }) => "not_resolved",
            Self::NoAddress(NoAddress::NotAllowed { .. }) => "address_refused",
            Self::Timeout(_) => "timeout",
            Self::NotReached(_) => "not_reached",
            Self::Tls(_) | Self::Authorities(_) => "tls",
            Self::Status(402 | 429) => "quota",
            Self::Status(_) => "status",
            Self::NotAList | Self::TooLong(_) => "no_list",
            Self::NoModels => "no_models",
        }
    }

    /// The status that the vendor answered with, where that is the failure.
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(status) | Self::Status(status) => Some(*status),
            _ => None,
        }
    }

    /// Whether the address may well serve models, but lists none: then somebody may name them.
    pub const fn lists_nothing(&self) -> bool {
        matches!(
            self,
            Self::Status(404 | 405) | Self::NotAList | Self::NoModels
        )
    }
}

/// The reason that TLS failed, with what the certificate lacks.
fn tls_reason(error: &rustls::Error) -> String {
    let InvalidCertificate(fault) = error else {
        return error.to_string();
    };
    match fault {
        CertificateError::UnknownIssuer => {
            "its certificate comes from no authority that is trusted here".to_owned()
        }
        // As `openssl req -x509` makes it.
        CertificateError::Other(why) if format!("{why:?}").contains("CaUsedAsEndEntity") => {
            "its certificate is one of an authority, CA:TRUE; a server's has CA:FALSE: make another with openssl's option \
             -addext basicConstraints=critical,CA:FALSE"
                .to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("{error}; make another that has the name as a subjectAltName")
        }
        _ => error.to_string(),
    }
}

/// The remedies, in the words of the place where the failure is shown.
#[derive(Debug)]
pub struct ListHints {
    /// The hint for a vendor that is not reachable.
    pub not_reached: Cow<'static, str>,
    /// The hint for a certificate that is not trusted.
    pub tls: Cow<'static, str>,
    /// The hint for an address that is not allowed.
    pub refused: Cow<'static, str>,
}

/// A failure at a vendor, in sentences that say what to do.
#[derive(Debug)]
pub struct ListSentence<'a>(pub &'a Vendor, pub &'a ListFailure, pub &'a ListHints);

impl fmt::Display for ListSentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(vendor, failure, hints) = self;
        let (host, url) = (vendor.origin.authority(), vendor.list_url());
        let (protocol, style) = (vendor.protocol, translated(protocol_style(vendor.protocol)));
        let text = match failure {
            ListFailure::Refused(status) => t!(
                "{host} refused the credential ({status}). Is it whole, of this vendor, and not revoked?",
                host = host,
                status = status
            ),
            ListFailure::NoAddress(NoAddress::NotFound { host }) => t!(
                "the name {host} does not resolve. Check the address, or this machine's name service",
                host = host
            ),
            ListFailure::NoAddress(none @ NoAddress::NotAllowed { .. }) => t!(
                "{reason}, so nothing was sent there. {hint}",
                reason = none,
                hint = hints.refused
            ),
            ListFailure::Timeout(seconds) => t!(
                "{host} gave no list within {seconds} seconds. {hint}",
                host = host,
                seconds = seconds,
                hint = hints.not_reached
            ),
            ListFailure::NotReached(why) => t!(
                "{host} is not reachable ({reason}). {hint}",
                host = host,
                reason = why,
                hint = hints.not_reached
            ),
            ListFailure::Tls(why) => t!(
                "TLS with {host} fails ({reason}). {hint}",
                host = host,
                reason = why,
                hint = hints.tls
            ),
            ListFailure::Status(status @ (402 | 429)) => t!(
                "{host} answered {status}: too many requests, or its quota is spent. So the credential is not tested. Look at the account's billing, or try again later",
                host = host,
                status = status
            ),
            ListFailure::Status(status @ 500..) => t!(
                "{host} answered {status}, so the credential is not tested. Try again later",
                host = host,
                status = status
            ),
            ListFailure::Status(status) => t!(
                "{url} answered {status}. Is this the base address of {style} models (protocol {protocol})?",
                url = url,
                status = status,
                style = style,
                protocol = protocol
            ),
            ListFailure::NotAList => t!(
                "{url} answered with something else than a list of models. Is this the base address of {style} models (protocol {protocol})?",
                url = url,
                style = style,
                protocol = protocol
            ),
            ListFailure::TooLong(most) => t!(
                "{url} answered with more than {most} bytes, which is no list of models",
                url = url,
                most = most
            ),
            ListFailure::NoModels => t!(
                "{host} took the credential and lists no models. May this account use any?",
                host = host
            ),
            ListFailure::Authorities(why) => {
                t!("no certificate can be checked: {reason}", reason = why)
            }
        };
        f.write_str(&text)
    }
}
