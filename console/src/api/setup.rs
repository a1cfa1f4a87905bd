//! The API of setup.

use axum::Json;

use super::answers::Done;
use super::parts::{Body, InPath, handlers};
use crate::cases::setup::{self, SetupVendorBody, SetupVendorView, SetupView};
use crate::cases::vendor_models::{self, VendorAskBody, VendorModelsView};

handlers! {
    /// The state of the first run: the document in force, and the draft with the vendors that are being added.
    #[utoipa::path(get, operation_id = "get_setup", path = "/api/v1/setup", tag = "setup",
        responses((status = 200, body = SetupView)))]
    get() -> Json<SetupView> = setup::get();

    /// Puts a vendor into the draft of the first run, which is begun where there is none, and keeps its credential. Other vendors stay as they are.
    #[utoipa::path(put, operation_id = "put_setup_vendor", path = "/api/v1/setup/vendors/{group}", tag = "setup",
        params(("group" = String, Path)), request_body = SetupVendorBody, responses((status = 200, body = SetupVendorView)))]
    put(group: InPath<String>, body: Body<SetupVendorBody>) -> Json<SetupVendorView> = setup::put(&group, body);

    /// Takes a vendor out of the draft, and forgets its credential unless one in force uses it.
    #[utoipa::path(delete, operation_id = "remove_setup_vendor", path = "/api/v1/setup/vendors/{group}", tag = "setup",
        params(("group" = String, Path)), responses((status = 204)))]
    remove(group: InPath<String>) -> Done = setup::remove(&group);

    /// Asks a vendor for its models with one request that costs nothing, and so tests the credential. Prices come from the
    /// catalogue or from the vendor's own list; none is invented.
    #[utoipa::path(post, operation_id = "list_vendor_models", path = "/api/v1/vendors/models", tag = "setup",
        request_body = VendorAskBody, responses((status = 200, body = VendorModelsView)))]
    vendor_models(body: Body<VendorAskBody>) -> Json<VendorModelsView> = vendor_models::list(body);
}
