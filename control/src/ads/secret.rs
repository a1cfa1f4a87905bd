//! Secrets as Envoy's messages (`envoy.extensions.transport_sockets.tls.v3.Secret`).

use prost::Oneof;

/// The value of a secret. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretValue {
    /// A credential; an empty one stops its account.
    Credential(Vec<u8>),
    /// Certificate authorities in PEM form.
    Authorities(Vec<u8>),
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Credential(_) => "Credential(..)",
            Self::Authorities(_) => "Authorities(..)",
        })
    }
}

impl SecretValue {
    /// No credential.
    pub const NONE: Self = Self::Credential(Vec::new());

    /// Whether it is no credential.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// The message for it.
    pub fn message(self, name: &str) -> Secret {
        let inline = |bytes| DataSource {
            inline_bytes: Some(bytes),
        };
        Secret {
            name: name.to_owned(),
            kind: Some(match self {
                Self::Credential(value) => SecretKind::GenericSecret(GenericSecret {
                    secret: Some(inline(value)),
                }),
                Self::Authorities(pem) => SecretKind::ValidationContext(ValidationContext {
                    trusted_ca: Some(inline(pem)),
                }),
            }),
        }
    }
}

/// A secret with its name.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct Secret {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(oneof = "SecretKind", tags = "4, 5")]
    pub kind: Option<SecretKind>,
}

/// The kind of a secret.
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
#[prost(skip_debug)]
pub enum SecretKind {
    #[prost(message, tag = "4")]
    ValidationContext(ValidationContext),
    #[prost(message, tag = "5")]
    GenericSecret(GenericSecret),
}

/// Authorities (`CertificateValidationContext`).
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct ValidationContext {
    #[prost(message, optional, tag = "1")]
    pub trusted_ca: Option<DataSource>,
}

/// A credential (`GenericSecret`).
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct GenericSecret {
    #[prost(message, optional, tag = "1")]
    pub secret: Option<DataSource>,
}

/// Bytes in the message itself (`DataSource`).
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[prost(skip_debug)]
pub struct DataSource {
    #[prost(bytes = "vec", optional, tag = "2")]
    pub inline_bytes: Option<Vec<u8>>,
}
