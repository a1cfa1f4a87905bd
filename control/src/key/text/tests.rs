use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Blanks and ends of lines, as JSON allows them everywhere.
const BLANKS: [&str; 6] = ["", " ", "\n", "\r\n\t", "    ", "\n  "];

/// A document: an object with things before and behind its keys, blanks drawn for each gap.
#[derive(Debug, Clone)]
struct Drawn {
    text: String,
    keys: usize,
}

impl Drawn {
    fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

/// A document's text of tokens, with one of the blanks in each gap.
fn woven(tokens: &[String], blanks: &[prop::sample::Index]) -> String {
    let mut blanks = blanks.iter().cycle();
    let mut text = String::new();
    for token in tokens {
        text.push_str(blanks.next().unwrap().get::<&str>(&BLANKS));
        text.push_str(token);
    }
    text.push_str(blanks.next().unwrap().get::<&str>(&BLANKS));
    text
}

/// The tokens of an object.
fn object(members: Vec<(&str, Vec<String>)>) -> Vec<String> {
    let mut tokens = vec!["{".to_owned()];
    for (position, (name, value)) in members.into_iter().enumerate() {
        if position > 0 {
            tokens.push(",".to_owned());
        }
        tokens.extend([name.to_owned(), ":".to_owned()]);
        tokens.extend(value);
    }
    tokens.push("}".to_owned());
    tokens
}

prop_compose! {
    fn key()(
        number in 0_u32..1000,
        odd in prop::sample::select(vec![r#""g""#, r#""\"]},{[""#, r#""\\""#, r#""é\u00e9,""#]),
        escaped in any::<bool>(),
        disabled in prop::option::of(any::<bool>()),
        limits in any::<bool>(),
    ) -> Vec<String> {
        let word = |text: &str| vec![text.to_owned()];
        let id = if escaped { r#""\u0069d""# } else { r#""id""# };
        let mut members = vec![(id, word(&format!("\"k{number}\""))), (r#""group""#, word(odd))];
        if let Some(disabled) = disabled {
            members.insert(1, (r#""disabled""#, word(&disabled.to_string())));
        }
        if limits {
            members.push((r#""limits""#, object(vec![(r#""a""#, word("-1e+5")), (r#""b""#, word("[[]]"))])));
        }
        object(members)
    }
}

prop_compose! {
    fn drawn()(
        keys in prop::collection::vec(key(), 0..4),
        blanks in prop::collection::vec(any::<prop::sample::Index>(), 60),
        last in any::<bool>(),
    ) -> Drawn {
        let mut list = vec!["[".to_owned()];
        let number = keys.len();
        for (position, key) in keys.into_iter().enumerate() {
            if position > 0 {
                list.push(",".to_owned());
            }
            list.extend(key);
        }
        list.push("]".to_owned());
        let mut members = vec![(r#""groups""#, vec![r#"[{"keys":[1,{}]}]"#.to_owned()]), (r#""keys""#, list)];
        if !last {
            members.push((r#""query_key""#, vec!["true".to_owned()]));
        }
        Drawn { text: woven(&object(members), &blanks), keys: number }
    }
}

/// Counts the bytes that two texts have in common at their beginning, and behind that at their end.
fn common(a: &[u8], b: &[u8]) -> usize {
    let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let start = a.iter().zip(b).take_while(same).count();
    let end = a[start..]
        .iter()
        .rev()
        .zip(b[start..].iter().rev())
        .take_while(same)
        .count();
    start + end
}

proptest! {
    #[test]
    fn a_new_key_leaves_every_byte_and_goes_again(drawn in drawn(), behind in any::<prop::sample::Index>()) {
        let old = drawn.text.as_bytes();
        let text = DocumentText::new(old).unwrap();
        let key = text.new_key(&[("id", "\"new\"".to_owned()), ("group", "\"g\"".to_owned())]);
        let behind = (drawn.keys > 0).then(|| behind.index(drawn.keys));
        let new = text.with(&[text.insert(&key, behind).unwrap()]);
        let position = behind.map_or(drawn.keys, |behind| behind + 1);
        let mut want = drawn.value();
        want["keys"].as_array_mut().unwrap().insert(position, serde_json::json!({"id": "new", "group": "g"}));
        prop_assert_eq!(&serde_json::from_slice::<Value>(&new).unwrap(), &want);
        if drawn.keys > 0 {
            prop_assert_eq!(common(old, &new), old.len(), "nothing but the key came");
            let again = DocumentText::new(&new).unwrap();
            let back = again.with(&[again.remove(position).unwrap()]);
            prop_assert_eq!(String::from_utf8(back).unwrap(), drawn.text);
        }
    }

    #[test]
    fn a_member_changes_nothing_around_its_key(
        drawn in drawn(),
        position in any::<prop::sample::Index>(),
        name in prop::sample::select(vec!["id", "disabled", "expires_at", "group"]),
    ) {
        prop_assume!(drawn.keys > 0);
        let position = position.index(drawn.keys);
        let old = drawn.text.as_bytes();
        let text = DocumentText::new(old).unwrap();
        let key = text.key(position).unwrap();
        let was = drawn.value()["keys"][position].get(name).cloned();
        let new = text.with(&[text.set(key, name, "\"x\"")]);
        let mut want = drawn.value();
        want["keys"][position][name] = "x".into();
        prop_assert_eq!(&serde_json::from_slice::<Value>(&new).unwrap(), &want);
        prop_assert!(new.starts_with(&old[..key.at.start]) && new.ends_with(&old[key.at.end..]));
        let length = was.as_ref().map_or(0, |_| key.member(name).unwrap().value.len());
        prop_assert!(common(old, &new) >= old.len() - length, "only the value is another");
        let again = DocumentText::new(&new).unwrap();
        let unset = again.with(&[again.unset(again.key(position).unwrap(), name).unwrap()]);
        want["keys"][position].as_object_mut().unwrap().remove(name);
        prop_assert_eq!(&serde_json::from_slice::<Value>(&unset).unwrap(), &want);
        if was.is_none() {
            prop_assert_eq!(String::from_utf8(unset).unwrap(), drawn.text);
        } else {
            prop_assert_eq!(common(&new, &unset), unset.len(), "nothing but the member went");
        }
    }

    #[test]
    fn a_key_goes_alone(drawn in drawn(), position in any::<prop::sample::Index>()) {
        prop_assume!(drawn.keys > 0);
        let position = position.index(drawn.keys);
        let old = drawn.text.as_bytes();
        let text = DocumentText::new(old).unwrap();
        let new = text.with(&[text.remove(position).unwrap()]);
        let mut want = drawn.value();
        want["keys"].as_array_mut().unwrap().remove(position);
        prop_assert_eq!(&serde_json::from_slice::<Value>(&new).unwrap(), &want);
        prop_assert_eq!(common(old, &new), new.len(), "nothing came");
    }
}

#[test]
fn what_is_added_is_written_as_its_neighbours() {
    for (case, old, want) in [
        (
            "a line each",
            "{\n  \"keys\": [\n    {\"id\": \"a\", \"group\": \"g\"}\n  ]\n}\n",
            "{\n  \"keys\": [\n    {\"id\": \"a\", \"group\": \"g\"},\n    \
             {\"id\": \"n\", \"group\": \"g\"}\n  ]\n}\n",
        ),
        (
            "a member a line",
            "{\n \"keys\": [\n  {\n   \"id\": \"a\",\n   \"group\": \"g\"\n  }\n ]\n}",
            "{\n \"keys\": [\n  {\n   \"id\": \"a\",\n   \"group\": \"g\"\n  },\n  \
             {\n   \"id\": \"n\",\n   \"group\": \"g\"\n  }\n ]\n}",
        ),
        (
            "compact",
            r#"{"keys":[{"id":"a"}]}"#,
            r#"{"keys":[{"id":"a"},{"id":"n","group":"g"}]}"#,
        ),
        (
            "in one line",
            r#"{"keys": [{"id": "a"}]}"#,
            r#"{"keys": [{"id": "a"}, {"id": "n", "group": "g"}]}"#,
        ),
        (
            "the first of an empty list",
            "{\r\n\t\"groups\": [],\r\n\t\"keys\": []\r\n}",
            "{\r\n\t\"groups\": [],\r\n\t\"keys\": [\r\n\t\t{\"id\": \"n\", \"group\": \"g\"}\r\n\t]\r\n}",
        ),
        (
            "the first, compact",
            r#"{"keys":[]}"#,
            r#"{"keys":[{"id":"n","group":"g"}]}"#,
        ),
        (
            "no list",
            r#"{"keys": null}"#,
            r#"{"keys": [{"id": "n", "group": "g"}]}"#,
        ),
        (
            "no member",
            "{\n  \"groups\": []\n}",
            "{\n  \"groups\": [],\n  \"keys\": [\n    {\"id\": \"n\", \"group\": \"g\"}\n  ]\n}",
        ),
    ] {
        let text = DocumentText::new(old.as_bytes()).unwrap();
        let key = text.new_key(&[("id", "\"n\"".to_owned()), ("group", "\"g\"".to_owned())]);
        let new = text.with(&[text.insert(&key, None).unwrap()]);
        assert_eq!(String::from_utf8(new).unwrap(), want, "{case}");
    }
}
