//! The API of identity providers and of what signing in needs.

use axum::Json;

use super::answers::Done;
use super::parts::{Body, InPath, handlers};
use crate::cases::paging::ItemPage;
use crate::cases::providers::settings::{
    self, DiscoveryView, IdentityProviderBody, IdentityProviderView,
};
use crate::cases::providers::switch::{self, SignInSettings};
use crate::cases::providers::unlink::{self, IdentityView};

handlers! {
    /// Identity providers in the order of their ids.
    #[utoipa::path(get, operation_id = "list_identity_providers", path = "/api/v1/identity-providers", tag = "identity providers",
        responses((status = 200, body = ItemPage<IdentityProviderView>)))]
    list() -> Json<ItemPage<IdentityProviderView>> = settings::list();

    /// One identity provider.
    #[utoipa::path(get, operation_id = "get_identity_provider", path = "/api/v1/identity-providers/{id}", tag = "identity providers",
        params(("id" = String, Path)), responses((status = 200, body = IdentityProviderView)))]
    get(id: InPath<String>) -> Json<IdentityProviderView> = settings::get(&id);

    /// Adds an identity provider, or changes it. Identities at another issuer end, and so do sessions by a provider that is disabled.
    #[utoipa::path(put, operation_id = "put_identity_provider", path = "/api/v1/identity-providers/{id}", tag = "identity providers",
        params(("id" = String, Path)), request_body = IdentityProviderBody, responses((status = 200, body = IdentityProviderView)))]
    put(id: InPath<String>, body: Body<IdentityProviderBody>) -> Json<IdentityProviderView> = settings::put(&id, body);

    /// Removes an identity provider, with its identities and the sessions by it. People stay, and the memberships that its rules gave.
    #[utoipa::path(delete, operation_id = "remove_identity_provider", path = "/api/v1/identity-providers/{id}", tag = "identity providers",
        params(("id" = String, Path)), responses((status = 204)))]
    remove(id: InPath<String>) -> Done = settings::remove(&id);

    /// Reads a provider's discovery and keys now.
    #[utoipa::path(post, operation_id = "test_identity_provider", path = "/api/v1/identity-providers/{id}/test", tag = "identity providers",
        params(("id" = String, Path)), responses((status = 200, body = DiscoveryView)))]
    test(id: InPath<String>) -> Json<DiscoveryView> = settings::test(&id);

    /// Whether people sign in with passwords.
    #[utoipa::path(get, operation_id = "get_sign_in_settings", path = "/api/v1/sign-in", tag = "identity providers",
        responses((status = 200, body = SignInSettings)))]
    sign_in() -> Json<SignInSettings> = switch::get();

    /// Turns passwords on or off. Off only by an admin who has signed in by a provider: nobody is locked out by it. Links go on working.
    #[utoipa::path(put, operation_id = "put_sign_in_settings", path = "/api/v1/sign-in", tag = "identity providers",
        request_body = SignInSettings, responses((status = 200, body = SignInSettings)))]
    set_sign_in(body: Body<SignInSettings>) -> Json<SignInSettings> = switch::set(body);

    /// The identities of a person, in the order of the providers.
    #[utoipa::path(get, operation_id = "list_identities", path = "/api/v1/people/{id}/identities", tag = "identity providers",
        params(("id" = String, Path)), responses((status = 200, body = ItemPage<IdentityView>)))]
    identities(id: InPath<String>) -> Json<ItemPage<IdentityView>> = unlink::list(&id);

    /// Unlinks a person from an account of an identity provider. Sessions by it end. The next account of the provider with the person's
    /// verified address is linked.
    #[utoipa::path(delete, operation_id = "remove_identity", path = "/api/v1/people/{id}/identities/{provider}", tag = "identity providers",
        params(("id" = String, Path), ("provider" = String, Path)), responses((status = 204)))]
    unlink(of: InPath<(String, String)>) -> Done = unlink::remove(&of.0, &of.1);
}
