//! Pages in the reader's language.

use http::header::{ACCEPT_LANGUAGE, CONTENT_LANGUAGE, COOKIE, LOCATION, SET_COOKIE};
use http::{Request, StatusCode};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::TestDatabase;
use crate::page_security::{PASSWORD, get, post, session, with_password};

const CHINESE: &str = "trilane-language=zh-CN";
/// Words that a page in another language may have: names, and values of the test.
const NAMES: [&str; 9] = [
    "trilane", "API", "up", "console", "sign", "in", "link", "ann", "English",
];

/// The words of a page in Latin letters, without what stands in tags and in code.
fn latin(page: &str) -> Vec<String> {
    let (_, body) = page.split_once("<body").unwrap();
    let text: String = body
        .split('<')
        .filter(|piece| !piece.starts_with("code>"))
        .filter_map(|piece| piece.split_once('>').map(|(_, text)| format!("{text} ")))
        .collect();
    let words = text.split(|sign: char| !sign.is_ascii_alphabetic());
    let words = words.filter(|word| word.len() > 1 && !NAMES.contains(word));
    words.map(str::to_owned).collect()
}

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

#[tokio::test(flavor = "multi_thread")]
async fn first_pages_are_whole_in_chinese() {
    let database = TestDatabase::sqlite();
    let api = Api::new(&database).await;
    with_password(&api, "ann", Role::Member).await;
    let signed_in = post(
        &api,
        "/sign-in",
        "",
        &[("person", "ann"), ("password", PASSWORD)],
    )
    .await;
    let ann = format!("{}; {CHINESE}", session(&signed_in));
    for (path, cookie, want) in [
        ("/sign-in", CHINESE, "登录"),
        ("/sign-in/link?token=x", CHINESE, "欢迎"),
        ("/me/password", ann.as_str(), "设置密码"),
        ("/device", &ann, "允许客户端登录"),
        (
            "/device?user_code=ZZZZ-ZZZZ",
            &ann,
            "没有客户端在用这个代码等待",
        ),
        // It is turned off here.
        ("/status", CHINESE, "没有这个页面"),
    ] {
        let reply = get(&api, path, cookie).await;
        assert!(reply.text.contains(want), "{path}: {}", reply.text);
        let left: Vec<String> = latin(&reply.text);
        let left: Vec<&String> = left
            .iter()
            .filter(|word| !["ZZZZ", "Claude", "Code"].contains(&word.as_str()))
            .collect();
        assert!(left.is_empty(), "{path}: {left:?}");
    }
    let wrong = [("person", "ann"), ("password", "wrong")];
    let refused = post(&api, "/sign-in", CHINESE, &wrong).await;
    assert!(
        latin(&refused.text).is_empty(),
        "{:?}",
        latin(&refused.text)
    );
}
