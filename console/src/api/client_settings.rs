//! The API of the settings that clients ask gateways for.

use axum::Json;

use super::answers::Done;
use super::parts::{Body, handlers};
use crate::cases::client_settings::{self, ClientSettingsBody, ClientSettingsView};

handlers! {
    /// The settings that clients ask gateways for.
    #[utoipa::path(get, operation_id = "get_client_settings", path = "/api/v1/client-settings", tag = "clients",
        responses((status = 200, body = ClientSettingsView)))]
    get() -> Json<ClientSettingsView> = client_settings::get();

    /// Gives clients these settings. Those that are not inert are refused unless each is approved by its name.
    #[utoipa::path(put, operation_id = "put_client_settings", path = "/api/v1/client-settings", tag = "clients",
        request_body = ClientSettingsBody, responses((status = 200, body = ClientSettingsView)))]
    put(new: Body<ClientSettingsBody>) -> Json<ClientSettingsView> = client_settings::put(new);

    /// Gives clients no settings any more.
    #[utoipa::path(delete, operation_id = "remove_client_settings", path = "/api/v1/client-settings", tag = "clients",
        responses((status = 204)))]
    remove() -> Done = client_settings::remove();
}
