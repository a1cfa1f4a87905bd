//! The API of people.

use axum::Json;

use super::answers::{Accepted, Created, Done};
use super::parts::{Body, InPath, OnceKey, Params, handlers};
use crate::cases::client_sign_ins::list::{self, ClientSignInList};
use crate::cases::erasures::{self, ErasureView};
use crate::cases::notice_choices::{self, NoticeChoicesBody, NoticeChoicesView};
use crate::cases::once::IdempotentResponse;
use crate::cases::ordered_keys::{self, KeyOrderBody, KeyOrderView};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::people::{self, NewPersonBody, PersonChangeBody, PersonView};
use crate::cases::people_bulk::{self, InvitedPeople, NewPeopleBody};
use crate::cases::person_sessions::{self, SessionView};
use crate::cases::sign_in_links::{self, SignInLink};

handlers! {
    /// People in the order of their ids.
    #[utoipa::path(get, operation_id = "list_people", path = "/api/v1/people", tag = "people", params(PageParams),
        responses((status = 200, body = ItemPage<PersonView>)))]
    list(page: Params<PageParams>) -> Json<ItemPage<PersonView>> = people::list(page);

    /// Adds a person.
    #[utoipa::path(post, operation_id = "create_person", path = "/api/v1/people", tag = "people", request_body = NewPersonBody,
        params(("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = PersonView)))]
    create(once: OnceKey, new: Body<NewPersonBody>) -> IdempotentResponse<PersonView> = people::create(once.as_deref(), new);

    /// Adds people, all of them or none, and makes a link for each, which is shown this once.
    #[utoipa::path(post, operation_id = "create_people", path = "/api/v1/people/bulk", tag = "people", request_body = NewPeopleBody,
        params(("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = InvitedPeople)))]
    create_many(once: OnceKey, new: Body<NewPeopleBody>) -> IdempotentResponse<InvitedPeople> = people_bulk::create(once.as_deref(), new);

    /// One person, with the numbers of what ends when that person is disabled.
    #[utoipa::path(get, operation_id = "get_person", path = "/api/v1/people/{id}", tag = "people", params(("id" = String, Path)),
        responses((status = 200, body = PersonView)))]
    get(id: InPath<String>) -> Json<PersonView> = people::get(&id);

    /// Open sessions of a person, the latest first.
    #[utoipa::path(get, operation_id = "list_sessions", path = "/api/v1/people/{id}/sessions", tag = "people",
        params(("id" = String, Path), PageParams), responses((status = 200, body = ItemPage<SessionView>)))]
    list_sessions(id: InPath<String>, page: Params<PageParams>) -> Json<ItemPage<SessionView>> = person_sessions::list(&id, page);

    /// Changes a person. Another role ends sessions and tokens, for good. Disabling ends sessions, links and tokens, for good, and
    /// disables the person's keys, old values among them; enabling enables the keys that this has disabled.
    #[utoipa::path(patch, operation_id = "change_person", path = "/api/v1/people/{id}", tag = "people", params(("id" = String, Path)),
        request_body = PersonChangeBody, responses((status = 200, body = PersonView)))]
    change(id: InPath<String>, change: Body<PersonChangeBody>) -> Json<PersonView> = people::change(&id, change);

    /// Erases a person's data: the person, sessions, tokens and keys are gone with the response, the id in all tables soon after.
    /// Usage and spend stay under a pseudonym, exact to the last digit.
    #[utoipa::path(delete, operation_id = "erase_person_data", path = "/api/v1/people/{id}/data", tag = "people",
        params(("id" = String, Path)), responses((status = 202, body = ErasureView)))]
    erase(id: InPath<String>) -> Accepted<ErasureView> = erasures::begin(&id);

    /// Erasures, the latest first.
    #[utoipa::path(get, operation_id = "list_erasures", path = "/api/v1/erasures", tag = "people", params(PageParams),
        responses((status = 200, body = ItemPage<ErasureView>)))]
    erasures(page: Params<PageParams>) -> Json<ItemPage<ErasureView>> = erasures::list(page);

    /// Makes a link that signs a person in, once, within a day. One that was made before is void.
    #[utoipa::path(post, operation_id = "create_sign_in_link", path = "/api/v1/people/{id}/sign-in-link", tag = "people",
        params(("id" = String, Path)), responses((status = 201, body = SignInLink)))]
    create_link(id: InPath<String>) -> Created<SignInLink> = sign_in_links::create(&id);

    /// Voids the link that signs a person in, if one is good. Whoever is signed in by it already stays so.
    #[utoipa::path(delete, operation_id = "revoke_sign_in_link", path = "/api/v1/people/{id}/sign-in-link", tag = "people",
        params(("id" = String, Path)), responses((status = 204)))]
    revoke_link(id: InPath<String>) -> Done = sign_in_links::revoke(&id);

    /// The keys that are ordered for a person and not taken yet, in the order of the orders' ids.
    #[utoipa::path(get, operation_id = "list_ordered_keys", path = "/api/v1/people/{id}/ordered-keys", tag = "people",
        params(("id" = String, Path), PageParams), responses((status = 200, body = ItemPage<KeyOrderView>)))]
    list_ordered_keys(id: InPath<String>, page: Params<PageParams>) -> Json<ItemPage<KeyOrderView>> = ordered_keys::list(&id, page);

    /// Orders a key for a person. It is made when the person takes it: nobody else sees its value.
    #[utoipa::path(post, operation_id = "order_key", path = "/api/v1/people/{id}/ordered-keys", tag = "people", request_body = KeyOrderBody,
        params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = KeyOrderView)))]
    order_key(once: OnceKey, id: InPath<String>, terms: Body<KeyOrderBody>) -> IdempotentResponse<KeyOrderView> = ordered_keys::create(once.as_deref(), &id, terms);

    /// Cancels the order of a key that was not taken yet.
    #[utoipa::path(delete, operation_id = "cancel_ordered_key", path = "/api/v1/people/{id}/ordered-keys/{order}", tag = "people",
        params(("id" = String, Path), ("order" = String, Path)), responses((status = 204)))]
    cancel_ordered_key(ids: InPath<(String, String)>) -> Done = ordered_keys::remove(&ids.0, &ids.1);

    /// The notices that a person is mailed, and to which address.
    #[utoipa::path(get, operation_id = "get_person_notices", path = "/api/v1/people/{id}/notices", tag = "people",
        params(("id" = String, Path)), responses((status = 200, body = NoticeChoicesView)))]
    notices(id: InPath<String>) -> Json<NoticeChoicesView> = notice_choices::of(&id);

    /// Changes the notices that a person is mailed, and to which address.
    #[utoipa::path(patch, operation_id = "change_person_notices", path = "/api/v1/people/{id}/notices", tag = "people",
        params(("id" = String, Path)), request_body = NoticeChoicesBody, responses((status = 200, body = NoticeChoicesView)))]
    change_notices(id: InPath<String>, asked: Body<NoticeChoicesBody>) -> Json<NoticeChoicesView> = notice_choices::change(&id, asked);

    /// The clients of a person that are signed in, such as coding agents, the latest used first.
    #[utoipa::path(get, operation_id = "list_sign_ins", path = "/api/v1/people/{id}/sign-ins", tag = "people",
        params(("id" = String, Path)), responses((status = 200, body = ClientSignInList)))]
    list_sign_ins(id: InPath<String>) -> Json<ClientSignInList> = list::of(&id);

    /// Signs a client of a person out: gateways refuse its key within a second.
    #[utoipa::path(delete, operation_id = "end_sign_in", path = "/api/v1/people/{id}/sign-ins/{sign_in}", tag = "people",
        params(("id" = String, Path), ("sign_in" = String, Path)), responses((status = 204)))]
    end_sign_in(ids: InPath<(String, String)>) -> Done = list::end_of(&ids.0, &ids.1);
}
