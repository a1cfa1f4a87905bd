"""Signing in and out, and what must not be possible."""

from __future__ import annotations

import re

import httpx
import pytest
from e2e.browser.chromium import Browsers
from e2e.browser.seeded import SeededConsole

PASSWORD = "correct horse battery staple"


def new_person(site: SeededConsole, name: str, role: str = "member") -> str:
    site.api.post("/people", {"id": name, "name": name.title(), "role": role})
    return site.link(name)


def test_from_the_invitation_to_a_password(site: SeededConsole, chromium: Browsers) -> None:
    link = new_person(site, "nina")
    with chromium.visitor(site.url) as visitor:
        visitor.expected = {410, 422}
        page = visitor.sign_in(link)
        page.get_by_role("heading", name="Set a password").wait_for()
        page.get_by_label("New password").fill("too short")
        page.get_by_label("Once more").fill("too short")
        page.get_by_role("button", name="Set password").click()
        assert "at least 15 characters" in page.locator("#p-password").inner_text()
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_label("Once more").fill(PASSWORD)
        page.get_by_role("button", name="Set password").click()
        page.get_by_role("status").get_by_text("Your password is set").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(re.compile("/sign-in$"))

        # A page that was wanted comes after signing in.
        page = visitor.open("/keys?state=active")
        page.wait_for_url(re.compile(r"/sign-in\?to="))
        page.get_by_label("Person").fill("nina")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        assert "do not match" in page.get_by_role("alert").inner_text()
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile(r"/keys\?state=active$"))

        # The link was good once.
        page.get_by_role("button", name="Sign out").click()
        page = visitor.open(link)
        page.get_by_role("button", name="Sign in").click()
        assert "not good any more" in page.get_by_role("alert").inner_text()


def test_a_session_ends(site: SeededConsole, chromium: Browsers) -> None:
    """When it is ended elsewhere: the form that was open leads to signing in, and changes nothing."""
    link = new_person(site, "otto", "admin")
    with chromium.visitor(site.url) as visitor:
        visitor.sign_in(link)
        page = visitor.open("/keys/data/edit")
        page.get_by_label("Label").fill("Not this")
        answer = site.api.call("PATCH", "/people/otto", {"role": "viewer"})
        assert answer.status_code == 200, answer.text
        page.get_by_role("button", name="Save").click()
        page.get_by_role("heading", name="Sign in").wait_for()
        assert site.api.get("/keys/data")["label"] == "Data notebooks"


def test_the_look_is_kept(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, theme="light", state=site.session("ann")) as visitor:
        page = visitor.open("/keys")
        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(ground)
        page.get_by_role("button", name="Dark").click()
        page.wait_for_load_state()
        assert page.evaluate(ground) != light
        assert page.locator("html").get_attribute("data-appearance") == "dark"


def test_the_language_is_kept(site: SeededConsole, chromium: Browsers) -> None:
    link = site.link("ann")
    with chromium.visitor(site.url) as visitor:
        page = visitor.open(link)
        page.get_by_role("button", name="简体中文").click()
        page.get_by_role("heading", name="欢迎").wait_for()
        assert page.locator("html").get_attribute("lang") == "zh-CN"
        page.get_by_role("button", name="登录").click()
        page.wait_for_url(lambda url: "/sign-in" not in url)
        page = visitor.open("/me?from=a-bookmark")
        page.get_by_role("heading", name="我的").first.wait_for()
        # The browser's own locale is another one.
        assert re.match(r"\d{4}年\d{1,2}月\d{1,2}日", page.locator("main time").first.inner_text())
        page.get_by_role("button", name="English").click()
        page.get_by_role("heading", name="Me", exact=True).wait_for()
        assert page.url.endswith("/me?from=a-bookmark")


def client(site: SeededConsole, person: str) -> httpx.Client:
    cookies = {cookie["name"]: cookie["value"] for cookie in site.session(person)}
    return httpx.Client(base_url=site.url, cookies=cookies, trust_env=False)


def test_headers_of_pages(site: SeededConsole) -> None:
    with client(site, "admin") as http:
        for path in ("/keys", "/keys/data", "/sign-in", "/nothing-here"):
            headers = http.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy, path
            assert headers["cache-control"] == "no-store", path
            assert headers["x-content-type-options"] == "nosniff", path
            assert headers["referrer-policy"] == "no-referrer", path
        page = http.get("/keys").text
        for name in set(re.findall(r"/assets/[^\"]+", page)):
            asset = http.get(name)
            assert asset.status_code == 200 and "immutable" in asset.headers["cache-control"], name
        assert http.get("/assets/console.000000000000.css").status_code == 404


@pytest.mark.parametrize(
    ("case", "headers", "csrf"),
    [
        ("no token", {}, ""),
        ("another session's token", {}, "0" * 64),
        ("another site", {"sec-fetch-site": "cross-site"}, "own"),
        ("a sister site", {"sec-fetch-site": "same-site"}, "own"),
        ("another origin", {"origin": "http://evil.example"}, "own"),
    ],
)
def test_forms_of_others(site: SeededConsole, case: str, headers: dict[str, str], csrf: str) -> None:
    with client(site, "admin") as http:
        own = re.search(r'name="csrf" value="([0-9a-f]{64})"', http.get("/keys/data").text)
        assert own
        form = {"disabled": "yes", "csrf": own[1] if csrf == "own" else csrf}
        answer = http.post("/keys/data/disable", data=form, headers=headers)
        assert answer.status_code == 403, case
        assert site.api.get("/keys/data")["disabled"] is False, case
        # And the same form is taken from where it belongs.
        for disabled in ("yes", "no"):
            form = {"disabled": disabled, "csrf": own[1]}
            good = http.post("/keys/data/disable", data=form, headers={"sec-fetch-site": "same-origin"})
            assert good.status_code == 303, case


def test_roles_hold_for_pages(site: SeededConsole) -> None:
    with client(site, "victor") as http:
        page = http.get("/keys/data").text
        csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)
        assert csrf and "/keys/data/edit" not in page
        for path in ("/keys/data/edit", "/keys/data/remove", "/keys/data/rotate", "/new-key"):
            assert http.get(path).status_code == 403, path
        for path in ("/keys", "/keys/data/edit", "/keys/data/remove", "/keys/data/rotate", "/keys/data/disable"):
            assert http.post(path, data={"csrf": csrf[1], "group": "mixed"}).status_code == 403, path
    with client(site, "ann") as http:
        assert http.get("/keys/evals").status_code == 200
        assert http.get("/keys/data").status_code == 404, "another owner's"
        assert "Data notebooks" not in http.get("/keys").text


def test_where_one_is_sent(site: SeededConsole) -> None:
    """Only to paths of this console; and a session that was set before is not taken over."""
    link = new_person(site, "fred")
    with httpx.Client(base_url=site.url, trust_env=False) as http:
        answer = http.post("/appearance", data={"appearance": "dark", "back": "//evil.example/"})
        assert answer.headers["location"] == "/"
        http.cookies.set("trilane-session", "tls-fixed")
        answer = http.post("/sign-in/link", data={"token": link.partition("token=")[2]})
        given = answer.headers["set-cookie"]
        assert "tls-fixed" not in given and "HttpOnly" in given and "SameSite=Lax" in given


def test_who_is_slowed(site: SeededConsole) -> None:
    """One text for who is unknown and whose password is wrong, and a pause after some failures."""
    known = new_person(site, "gina")
    with httpx.Client(base_url=site.url, trust_env=False) as http:
        for person in ("gina", "nobody-at-all"):
            texts = []
            for _ in range(6):
                answer = http.post("/sign-in", data={"person": person, "password": "wrong", "to": "/"})
                texts.append((answer.status_code, answer.text.replace(person, "")))
            assert [status for status, _ in texts][:5] == [422] * 5, person
            assert texts[5][0] == 429, person
            if person == "gina":
                first = texts[0]
            else:
                assert texts[0] == first, "nothing tells who is there"
        # A link still signs in.
        token = known.partition("token=")[2]
        assert http.post("/sign-in/link", data={"token": token}).status_code == 303
