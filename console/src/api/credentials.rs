//! The API of credentials.

use axum::Json;

use super::answers::Done;
use super::parts::{Body, InPath, handlers};
use crate::cases::account_refusals::{self, AccountRefusalView};
use crate::cases::account_test::{self, AccountTestBody, VendorTestView};
use crate::cases::account_tests::{self, LatestTestView};
use crate::cases::credentials::{self, CredentialView, NewCredentialBody};
use crate::cases::paging::ItemPage;

handlers! {
    /// All credentials in the order of their names, without themselves.
    #[utoipa::path(get, operation_id = "list_credentials", path = "/api/v1/credentials", tag = "credentials",
        responses((status = 200, body = ItemPage<CredentialView>)))]
    list() -> Json<ItemPage<CredentialView>> = credentials::list();

    /// Keeps a credential, in the place of what had its name. It is never shown again.
    #[utoipa::path(put, operation_id = "put_credential", path = "/api/v1/credentials/{name}", tag = "credentials", params(("name" = String, Path)),
        request_body = NewCredentialBody, responses((status = 200, body = ItemPage<CredentialView>)))]
    put(name: InPath<String>, body: Body<NewCredentialBody>) -> Json<ItemPage<CredentialView>> = credentials::put(&name, body);

    /// Removes a credential. Its accounts serve nothing from then on, as soon as the agents know.
    #[utoipa::path(delete, operation_id = "remove_credential", path = "/api/v1/credentials/{name}", tag = "credentials", params(("name" = String, Path)),
        responses((status = 204)))]
    remove(name: InPath<String>) -> Done = credentials::remove(&name);

    /// Tests an account of the document in force with one request that costs nothing, for its vendor's list of models.
    #[utoipa::path(post, operation_id = "test_account", path = "/api/v1/accounts/{group}/{account}/test", tag = "credentials",
        params(("group" = String, Path), ("account" = String, Path)),
        request_body = AccountTestBody, responses((status = 200, body = VendorTestView)))]
    test_account(of: InPath<(String, String)>, body: Body<AccountTestBody>) -> Json<VendorTestView> = account_test::test(&of.0, &of.1, body);

    /// The latest test of each account with the credential that is kept here. Tests of others are not kept.
    #[utoipa::path(get, operation_id = "list_account_tests", path = "/api/v1/account-tests", tag = "credentials",
        responses((status = 200, body = ItemPage<LatestTestView>)))]
    account_tests() -> Json<ItemPage<LatestTestView>> = account_tests::list();

    /// The accounts whose latest answers are refusals: since when, and what their vendors say. Also those that no document has any more.
    #[utoipa::path(get, operation_id = "list_account_refusals", path = "/api/v1/account-refusals", tag = "credentials",
        responses((status = 200, body = ItemPage<AccountRefusalView>)))]
    account_refusals() -> Json<ItemPage<AccountRefusalView>> = account_refusals::list();
}
