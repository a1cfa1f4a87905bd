//! Pages in the reader's language.

use http::header::{ACCEPT_LANGUAGE, CONTENT_LANGUAGE, COOKIE, LOCATION, SET_COOKIE};
use http::{Request, StatusCode};

use crate::api::{Api, ApiReply};
use crate::database::TestDatabase;
use crate::page_security::{get, post};

const CHINESE: &str = "trilane-language=zh-CN";

async fn asked_in(api: &Api, path: &str, languages: &str, cookie: &str) -> ApiReply {
    let request = Request::get(path)
        .header(ACCEPT_LANGUAGE, languages)
        .header(COOKIE, cookie);
    api.send(request.body(String::new().into()).unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_choice_comes_before_the_browser() {
    let database = TestDatabase::sqlite();
    let api = Api::new(&database).await;
    for (asked, cookie, want) in [
        ("de,en;q=0.5", "", "en"),
        ("zh-TW,zh;q=0.9,en;q=0.5", "", "zh-CN"),
        ("zh-CN", "trilane-language=en", "en"),
        ("en-GB", CHINESE, "zh-CN"),
        ("zh-CN", "trilane-language=../x", "zh-CN"),
    ] {
        let reply = asked_in(&api, "/sign-in", asked, cookie).await;
        let case = format!("{asked} {cookie}");
        assert!(
            reply.text.contains(&format!("<html lang=\"{want}\"")),
            "{case}"
        );
        assert_eq!(reply.headers[CONTENT_LANGUAGE], want, "{case}");
        assert_eq!(
            reply.text.contains("<h1>登录</h1>"),
            want == "zh-CN",
            "{case}"
        );
    }
    let reply = post(
        &api,
        "/language",
        "",
        &[("language", "zh-CN"), ("back", "//evil.example")],
    )
    .await;
    assert_eq!(
        (reply.status, &reply.headers[LOCATION]),
        (StatusCode::SEE_OTHER, &"/".parse().unwrap())
    );
    let kept = reply.headers[SET_COOKIE].to_str().unwrap();
    assert!(kept.starts_with(CHINESE), "{kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_a_form_leads_to_its_place() {
    let database = TestDatabase::sqlite();
    let api = Api::new(&database).await;
    for (path, want) in [
        ("/people/ann/link", "/people"),
        ("/envoys/edge/enrol", "/envoys"),
        ("/envoys", "/"),
        ("/sign-out", "/"),
    ] {
        let reply = get(&api, path, "").await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{path}");
        assert_eq!(reply.headers[LOCATION], want, "{path}");
    }
    let put = Request::put("/sign-out").body(String::new().into());
    assert_eq!(
        api.send(put.unwrap()).await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
}
