use super::*;
use crate::body::json::JsonScanner;

/// Returns the size of the input, and asserts that it does not depend on how the text is cut.
fn size(name: &str, text: &str) -> InputSize {
    let read = |chunks: &mut dyn Iterator<Item = &[u8]>| {
        let mut scanner = JsonScanner::new();
        for chunk in chunks {
            scanner.feed(chunk).unwrap();
        }
        assert_eq!(scanner.finish(), Ok(()), "{name}");
        scanner.input_size()
    };
    let bytes = text.as_bytes();
    let want = read(&mut [bytes].into_iter());
    for cut in (0..bytes.len()).filter(|cut| bytes.len() < 6000 || cut % 13 == 0) {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(
            read(&mut [head, tail].into_iter()),
            want,
            "{name}, cut at {cut}"
        );
    }
    for size in [1, 2, 3, 7, 64, 1000] {
        assert_eq!(read(&mut bytes.chunks(size)), want, "{name}, by {size}");
    }
    want
}

/// Base64 of so many characters that begins so.
fn base64(start: &str, len: usize) -> String {
    let tail = "Zm9vYmFy+/-_09AZ".repeat(len / 16 + 1);
    format!("{start}{}", &tail[..len - start.len()])
}

const NONE: [u64; 3] = [0; 3];
const IMAGE: [u64; 3] = [1, 0, 0];
const AUDIO: [u64; 3] = [0, 1, 0];
const FILE: [u64; 3] = [0, 0, 1];

/// Checks the parts of a body with `VALUE` in it, and that the value is counted as text or not.
fn check(name: &str, text: &str, value: &str, want: [u64; 3], is_data: bool) {
    let text = text.replace("VALUE", value);
    let got = size(name, &text);
    assert_eq!([got.images, got.audios, got.files], want, "{name}");
    let data = if is_data { value.len() } else { 0 };
    assert_eq!(got.text_bytes, (text.len() - data) as u64, "{name}");
    let bytes = |kind: [u64; 3]| {
        if is_data && want == kind {
            data as u64
        } else {
            0
        }
    };
    assert_eq!(got.audio_bytes, bytes(AUDIO), "{name}");
    assert_eq!(got.file_bytes, bytes(FILE), "{name}");
}

#[test]
fn parts_of_each_protocol() {
    let png = base64("iVBORw0KGgo", 1500);
    let wav = base64("UklGRiQAAABXQVZF", 1100);
    let pdf = base64("JVBERi0xLjcK", 1024);
    let url = |media_type: &str, data: &str| format!("data:{media_type};base64,{data}");
    let png_url = url("image/png", &png);
    let pdf_url = url("application/pdf", &pdf);
    let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let docx_url = url(docx, &pdf);
    #[rustfmt::skip]
    let cases: &[(&str, &str, &str, [u64; 3])] = &[
        ("Chat, image", r#"{"messages":[{"content":[{"type":"image_url","image_url":{"url":"VALUE"}}]}]}"#, &png_url, IMAGE),
        ("Chat, image with detail", r#"{"messages":[{"content":[{"image_url":{"detail":"low","url" : "VALUE"}}]}]}"#, &png_url, IMAGE),
        ("Chat, audio", r#"{"messages":[{"content":[{"input_audio":{"data":"VALUE","format":"wav"}}]}]}"#, &wav, AUDIO),
        ("Chat, file", r#"{"messages":[{"content":[{"type":"file","file":{"filename":"a","file_data":"VALUE"}}]}]}"#, &pdf_url, FILE),
        ("Responses, image", r#"{"input":[{"content":[{"type":"input_image","image_url":"VALUE"}]}]}"#, &png_url, IMAGE),
        ("Responses, file", r#"{"input":[{"content":[{"type":"input_file","file_data":"VALUE"}]}]}"#, &docx_url, FILE),
        ("Responses, in a result", r#"{"input":[{"type":"function_call_output","output":[{"image_url":"VALUE"}]}]}"#, &png_url, IMAGE),
        ("Responses, a screenshot", r#"{"input":[{"type":"computer_call_output","output":{"type":"x","image_url":"VALUE"}}]}"#, &png_url, IMAGE),
        ("Responses, an image made", r#"{"input":[{"type":"image_generation_call","result":"VALUE"}]}"#, &png, IMAGE),
        ("Messages, image", r#"{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"VALUE"}}]}]}"#, &png, IMAGE),
        ("Messages, document", r#"{"messages":[{"content":[{"source":{"data":"VALUE","media_type":"application/pdf"}}]}]}"#, &pdf, FILE),
        ("Messages, in a tool's result",
            r#"{"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"data":"VALUE"}}]}]}]}"#, &png, IMAGE),
        ("Messages, behind a tool's input",
            r#"{"messages":[{"content":[{"type":"tool_use","input":{"a":[1]}},{"source":{"data":"VALUE"}}]}]}"#, &png, IMAGE),
        ("generateContent", r#"{"contents":[{"parts":[{"text":"x"},{"inlineData":{"mimeType":"image/png","data":"VALUE"}}]}]}"#, &png, IMAGE),
        ("generateContent, the other spelling", r#"{"contents":[{"parts":[{"inline_data":{"data":"VALUE"}}]}]}"#, &wav, AUDIO),
        ("generateContent, in a function's answer",
            r#"{"contents":[{"parts":[{"functionResponse":{"response":{"x":1},"parts":[{"inlineData":{"data":"VALUE"}}]}}]}]}"#, &png, IMAGE),
        ("embedContent", r#"{"content":{"parts":[{"inlineData":{"data":"VALUE"}}]}}"#, &png, IMAGE),
        ("images", r#"{"images":[{"image_url":"VALUE"}],"prompt":"x"}"#, &png_url, IMAGE),
    ];
    for (name, text, value, want) in cases {
        check(name, text, value, *want, true);
        // What the value begins like alone makes no part.
        check(name, text, &value[..500], NONE, false);
        check(name, text, &format!("{value} "), NONE, false);
        check(name, text, &format!("{value}\u{e9}"), NONE, false);
    }
}

#[test]
fn parts_given_by_their_address() {
    let long = format!("https://h/{}", "p?".repeat(200));
    #[rustfmt::skip]
    let cases: &[(&str, &str, &str, [u64; 3])] = &[
        ("Chat, image", r#"{"messages":[{"content":[{"image_url":{"url":"VALUE"}}]}]}"#, "https://h/p", IMAGE),
        ("a long one", r#"{"messages":[{"content":[{"image_url":{"url":"VALUE"}}]}]}"#, &long, IMAGE),
        ("Responses, image", r#"{"input":[{"content":[{"image_url":"VALUE"}]}]}"#, "HTTP://h/p", IMAGE),
        ("Responses, file", r#"{"input":[{"content":[{"file_url":"VALUE"}]}]}"#, "https://h/p.pdf", FILE),
        ("Responses, an id", r#"{"input":[{"content":[{"file_id":"VALUE"}]}]}"#, "file-1", FILE),
        ("Messages", r#"{"messages":[{"content":[{"source":{"type":"url","url":"VALUE"}}]}]}"#, "https://h/p", IMAGE),
        ("Messages, an id", r#"{"messages":[{"content":[{"source":{"type":"file","file_id":"VALUE"}}]}]}"#, "file_1", FILE),
        ("generateContent", r#"{"contents":[{"parts":[{"fileData":{"fileUri":"VALUE"}}]}]}"#, "gs://b/o", FILE),
        ("generateContent, the other spelling", r#"{"contents":[{"parts":[{"file_data":{"file_uri":"VALUE"}}]}]}"#, "https://h/f", FILE),
        ("no address", r#"{"input":[{"content":[{"image_url":"VALUE"}]}]}"#, "see https://h", NONE),
        ("empty", r#"{"input":[{"content":[{"file_id":"VALUE"}]}]}"#, "", NONE),
        ("what a search found", r#"{"messages":[{"content":[{"content":[{"type":"web_search_result","url":"VALUE"}]}]}]}"#, "https://h", NONE),
        ("behind a source", r#"{"messages":[{"content":[{"source":{"a":1},"x":{"url":"VALUE"}}]}]}"#, "https://h", NONE),
        ("within a source's own objects", r#"{"messages":[{"content":[{"source":{"x":{"url":"VALUE"}}}]}]}"#, "https://h", NONE),
        ("escaped slashes", r#"{"input":[{"content":[{"image_url":"VALUE"}]}]}"#, r"https:\/\/h\/p", IMAGE),
        ("another escape behind", r#"{"input":[{"content":[{"image_url":"VALUE"}]}]}"#, r"https://h/\n", IMAGE),
    ];
    for (name, text, value, want) in cases {
        check(name, text, value, *want, false);
    }
}

#[test]
fn text_that_looks_like_a_part() {
    let data = base64("iVBORw0KGgo", 2000);
    let url = format!("data:image/png;base64,{data}");
    #[rustfmt::skip]
    let cases: &[(&str, &str, &str)] = &[
        ("text", r#"{"messages":[{"content":[{"type":"text","text":"VALUE"}]}]}"#, &data),
        ("content", r#"{"messages":[{"role":"user","content":"VALUE"}]}"#, &url),
        ("input", r#"{"input":"VALUE"}"#, &url),
        ("data in nothing that holds it", r#"{"messages":[{"content":[{"data":"VALUE"}]}]}"#, &data),
        ("data within a source's own objects", r#"{"messages":[{"content":[{"source":{"content":{"data":"VALUE"}}}]}]}"#, &data),
        ("data in a tool's input", r#"{"messages":[{"content":[{"type":"tool_use","input":{"source":{"data":"VALUE"}}}]}]}"#, &data),
        ("in a function's arguments", r#"{"contents":[{"parts":[{"functionCall":{"args":{"inlineData":{"data":"VALUE"}}}}]}]}"#, &data),
        ("in a function's answer", r#"{"contents":[{"parts":[{"functionResponse":{"response":{"image_url":"VALUE"}}}]}]}"#, &url),
        ("in arguments", r#"{"input":[{"type":"function_call","arguments":[{"image_url":"VALUE"}]}]}"#, &url),
        ("in a tool", r#"{"tools":[{"image_url":"VALUE"}]}"#, &url),
        ("in a schema", r#"{"tools":[{"parameters":{"image_url":"VALUE"}}]}"#, &url),
        ("in a tool of the input", r#"{"input":[{"tools":[{"image_url":"VALUE"}]}]}"#, &url),
        ("in a tool of a message", r#"{"messages":[{"content":[{"tool":{"definition":{"x":{"image_url":"VALUE"}}}}]}]}"#, &url),
        ("in a format", r#"{"response_format":{"image_url":"VALUE"},"text":{"source":{"data":"VALUE"}}}"#, ""),
        ("in metadata", r#"{"metadata":{"image_url":"VALUE"}}"#, &url),
        ("behind the content", r#"{"messages":[],"metadata":{"image_url":"VALUE"}}"#, &url),
        ("at the top", r#"{"image_url":"VALUE"}"#, &url),
        ("in a list", r#"{"input":[{"content":[{"image_url":["VALUE"]}]}]}"#, &url),
        ("as a key", r#"{"input":[{"content":[{"image_url":{"VALUE":1}}]}]}"#, &url),
        ("an escaped key", r#"{"input":[{"content":[{"im\u0061ge_url":"VALUE"}]}]}"#, ""),
        ("another key", r#"{"input":[{"content":[{"image_url_":"VALUE"},{"\u00e9file_data":"VALUE"}]}]}"#, ""),
        ("escaped arguments", r#"{"contents":[{"parts":[{"functionCall":{"\u0061rgs":{"inlineData":{"data":"VALUE"}}}}]}]}"#, ""),
        ("arguments in a long key", r#"{"contents":[{"parts":[{"\u0061rgs_0123456789_0123456789_0123456789":{"inlineData":{"data":"VALUE"}}}]}]}"#, ""),
        ("an escaped tool's input", r#"{"messages":[{"content":[{"\u0069nput":{"source":{"data":"VALUE"}}}]}]}"#, ""),
        ("a result that is none", r#"{"input":[{"type":"x","result":"VALUE"}]}"#, &base64("", 3000)),
        ("a file that is text", r#"{"input":[{"content":[{"file_data":"VALUE"}]}]}"#, &format!("data:text/plain;base64,{data}")),
        ("a URL of another kind", r#"{"input":[{"content":[{"image_url":"VALUE"}]}]}"#, &format!("data:image/svg+xml,{data}")),
        ("a letter that is no base64", r#"{"input":[{"content":[{"image_url":"VALUE"}]}]}"#, &format!("{url}!{data}")),
        ("early", r#"{"input":[{"content":[{"image_url":"VALUE"}]}]}"#, &format!("a b{url}")),
        ("a character too few", r#"{"input":[{"content":[{"image_url":"VALUE"}]}]}"#, &base64("iVBORw0KGgo", 1023)),
    ];
    for (name, text, value) in cases {
        let long = if value.is_empty() { &url } else { *value };
        let text = text.replace("VALUE", long);
        let got = size(name, &text);
        let want = InputSize {
            // Each `\uXXXX` is three bytes less.
            text_bytes: (text.len() - 3 * text.matches(r"\u").count()) as u64,
            ..InputSize::default()
        };
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn kinds() {
    #[rustfmt::skip]
    let cases = [
        ("PNG", base64("iVBORw0KGgo", 1024), IMAGE),
        ("JPEG", base64("/9j/4AAQ", 1024), IMAGE),
        ("GIF", base64("R0lGODlh", 1024), IMAGE),
        ("WEBP", base64("UklGRiIAAABXRUJQ", 1024), IMAGE),
        ("WAVE", base64("UklGRiIAAABXQVZF", 1024), AUDIO),
        ("another RIFF", base64("UklGRiIAAABBVkkg", 1024), FILE),
        ("MP3", base64("SUQzBAA", 1024), AUDIO),
        ("MP3 without tags", base64("//sQ", 1024), AUDIO),
        ("OGG", base64("T2dnUwAC", 1024), AUDIO),
        ("FLAC", base64("ZkxhQwAA", 1024), AUDIO),
        ("PDF", base64("JVBERi0x", 1024), FILE),
        ("anything", base64("", 1024), FILE),
    ];
    let text = r#"{"messages":[{"content":[{"source":{"data":"VALUE"}}]}]}"#;
    for (name, value, want) in &cases {
        check(name, text, value, *want, true);
    }
    for (media_type, want) in [
        ("image/png", IMAGE),
        ("IMAGE/webp", IMAGE),
        ("audio/mpeg", AUDIO),
        ("video/mp4", FILE),
        ("application/pdf", FILE),
        ("", FILE),
        ("image/png;charset=x", IMAGE),
    ] {
        let value = format!("data:{media_type};base64,{}", cases[10].1);
        check(media_type, text, &value, want, true);
    }
}

#[test]
fn slashes_may_be_escaped() {
    let data = base64("/9j/4AAQ/", 1500).replace('/', r"\/");
    let text = r#"{"messages":[{"content":[{"source":{"data":"VALUE"}}]}]}"#;
    check("base64", text, &data, IMAGE, true);
    let url = format!(r"data:image\/jpeg;base64,{data}");
    check("URL", text, &url, IMAGE, true);
    let other = size(
        "another escape",
        &text.replace("VALUE", &format!(r"{data}\n{data}")),
    );
    assert_eq!(other.images, 0);
    let other = size(
        "a slash in full",
        &text.replace("VALUE", &format!(r"{data}\u002f{data}")),
    );
    assert_eq!(other.images, 0);
}

#[test]
fn escapes_of_six_bytes_count_as_three() {
    let cases = [
        (r#"{"a":"\u00e9"}"#, 1),
        (
            r#"{"\u00e9":{"\u00e9\u00e9":["\n\u4e2d\u6587\"\\u4e2d\\\u4e2d"]}}"#,
            6,
        ),
        (
            r#"{"model":"\u0061","stre\u0061m":true,"service_tier":"\u0061"}"#,
            3,
        ),
        (r#"{"a":"\ud83d\ude00"}"#, 2),
        (
            r#"{"messages":[{"content":[{"image_url":{"url":"\u0061"}}]}]}"#,
            1,
        ),
    ];
    for (text, escapes) in cases {
        let want = InputSize {
            text_bytes: text.len() as u64 - 3 * escapes,
            ..InputSize::default()
        };
        assert_eq!(size(text, text), want, "{text}");
    }
    let long = format!(
        r#"{{"a":"{}","b":"{}x"}}"#,
        r"\u4e2d".repeat(100),
        r"\u4e2d\n ".repeat(33)
    );
    assert_eq!(size("long", &long).text_bytes, long.len() as u64 - 3 * 133);
}

#[test]
fn a_part_counts_while_it_comes() {
    let start = r#"{"messages":[{"content":[{"source":{"data":""#;
    let data = base64("iVBORw0KGgo", 4000);
    let mut scanner = JsonScanner::new();
    scanner.feed(start.as_bytes()).unwrap();
    scanner.feed(&data.as_bytes()[..1000]).unwrap();
    assert_eq!(scanner.input_size().images, 0);
    scanner.feed(&data.as_bytes()[1000..]).unwrap();
    let size = scanner.input_size();
    assert_eq!((size.images, size.text_bytes), (1, start.len() as u64));
    scanner.feed(b"\" ,").unwrap();
    assert_eq!(scanner.input_size().images, 1);
    assert_eq!(scanner.input_size().text_bytes, start.len() as u64 + 3);
}

#[test]
fn what_a_vendor_keeps_for_an_account_is_found() {
    #[rustfmt::skip]
    let cases = [
        ("nothing", r#"{"model":"m","input":"hi"}"#, false),
        ("an earlier response", r#"{"model":"m","previous_response_id":"resp_1"}"#, true),
        ("none", r#"{"previous_response_id":null,"conversation":null,"container":null}"#, false),
        ("a conversation", r#"{"conversation":{"id":"conv_1"}}"#, true),
        ("a container", r#"{"container":"container_1"}"#, true),
        ("a container of a tool", r#"{"tools":[{"type":"code_interpreter","container":"cntr_1"}]}"#, true),
        ("vectors", r#"{"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}"#, true),
        ("a cache", r#"{"cachedContent":"cachedContents/1"}"#, true),
        ("reasoning", r#"{"input":[{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}]}"#, true),
        ("reasoning, escaped", r#"{"input":[{"summary":"\"","encrypted_content":"gA\u0041"}]}"#, true),
        ("no reasoning", r#"{"input":[{"type":"reasoning","encrypted_content":null}]}"#, false),
        ("a file", r#"{"messages":[{"content":[{"type":"file","file":{"file_id":"file-1"}}]}]}"#, true),
        ("a file of protocol B", r#"{"messages":[{"content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}"#, true),
        ("a file of protocol C", r#"{"contents":[{"parts":[{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/a"}}]}]}"#, true),
        ("an address", r#"{"contents":[{"parts":[{"fileData":{"fileUri":"https://www.youtube.com/watch?v=a"}}]}]}"#, false),
        ("a client's text", r#"{"messages":[{"content":"\"previous_response_id\":\"x\",\"encrypted_content\":\"y\""}]}"#, false),
        ("arguments of a tool", r#"{"messages":[{"content":[{"type":"tool_use","input":{"file_id":"f"}}]}]}"#, false),
        ("a schema", r#"{"tools":[{"name":"f","input_schema":{"properties":{"container":{"type":"string"}}}}]}"#, false),
    ];
    for (case, text, want) in cases {
        for cut in 0..=text.len() {
            let mut scanner = JsonScanner::new();
            let (head, tail) = text.as_bytes().split_at(cut);
            for chunk in [head, tail] {
                assert_eq!(scanner.feed(chunk), Ok(()), "{case}, cut at {cut}");
            }
            assert_eq!(scanner.finish(), Ok(()), "{case}");
            assert_eq!(scanner.holds_state(), want, "{case}, cut at {cut}");
        }
    }
}
