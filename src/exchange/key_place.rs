//! In which places the keys of a group may come.

use crate::auth::CredentialForm;
use crate::config::policy::{Clients, Group, GroupKind};
use crate::protocol::{Endpoint, Protocol};

/// Whether keys of this group, were it for these clients, may come in this form, which is one that the endpoint looks at.
/// Whether the group serves the endpoint's protocol at all is another question, answered with 403.
pub(super) fn accepts(
    group: &Group,
    clients: Clients,
    endpoint: &Endpoint,
    form: CredentialForm,
) -> bool {
    let current = clients == Clients::Current;
    if let Some(protocol) = endpoint.protocol() {
        return match form {
            CredentialForm::Bearer => protocol == Protocol::A || current,
            CredentialForm::XApiKey | CredentialForm::VcApiKey | CredentialForm::Query => true,
        };
    }
    // Tools that show what a key has left send it as a Bearer credential, whatever protocol it speaks.
    if *endpoint == Endpoint::Usage {
        return form != CredentialForm::Query;
    }
    let own = match &group.kind {
        GroupKind::Mixed(_) => None,
        GroupKind::Source(source) => Some(source.protocol),
    };
    match form {
        CredentialForm::Bearer => match own {
            None | Some(Protocol::A) => true,
            Some(Protocol::B) => current,
            Some(Protocol::C) => false,
        },
        CredentialForm::XApiKey => matches!(own, None | Some(Protocol::B)),
        CredentialForm::VcApiKey => current && matches!(own, None | Some(Protocol::C)),
        CredentialForm::Query => false,
    }
}

/// The protocol in which a request is answered and forwarded: the endpoint's own, or on
/// `/v1/models` the one whose header carried the key.
pub(super) fn protocol_of(endpoint: &Endpoint, form: CredentialForm) -> Protocol {
    endpoint.protocol().unwrap_or(match form {
        CredentialForm::Bearer => Protocol::A,
        CredentialForm::XApiKey => Protocol::B,
        CredentialForm::VcApiKey | CredentialForm::Query => Protocol::C,
    })
}
