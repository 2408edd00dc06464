//! Tests of the cache of request bodies. The adapters test that caching never changes a body.

use futures_util::FutureExt as _;
use windlass_core::{Prompt, Seq, ToolSpec, TurnId};

use super::*;
use crate::request::{separate, write};

/// Encodes user messages as a list of texts.
struct Words;

impl Encoder for Words {
    fn head(&self, _: &Settings, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        out.push(b'[');
        Ok(())
    }

    fn items(
        &self,
        prompt: &Prompt,
        from: usize,
        _: &EncodedImages,
        out: &mut Vec<u8>,
    ) -> Result<EncodedItems, ProviderError> {
        let mut closed = 0;
        for item in prompt.items.iter_from(from) {
            if let PromptItem::User { text } = item {
                separate(out);
                write(out, &**text)?;
            }
            closed += 1;
        }
        let end = out.len();
        Ok(EncodedItems { closed, end, ..EncodedItems::default() })
    }

    fn tail(&self, _: &SampleRequest, out: &mut Vec<u8>) -> Result<(), ProviderError> {
        out.push(b']');
        Ok(())
    }
}

pub(crate) fn request(session: &str, words: &[String]) -> SampleRequest {
    let settings = windlass_testkit::settings().with(|it| it.provider = "p".into());
    let item = |text: &String| PromptItem::User { text: text.as_str().into() };
    let prompt = Prompt { settings: Arc::new(settings), items: words.iter().map(item).collect() };
    SampleRequest::new(SessionId::new(session).unwrap(), TurnId(1), Seq(2), prompt)
}

/// Returns an arbitrary tool.
pub(crate) fn tool() -> ToolSpec {
    windlass_testkit::tool_spec("echo", "Says it again.", r#"{"type":"object"}"#)
}

fn body(bodies: &Bodies<Words>, session: &str, words: &[String]) -> RequestBody {
    let request = request(session, words);
    bodies.body(&request).now_or_never().unwrap().unwrap()
}

#[test]
fn a_body_grows_by_what_is_new_and_no_byte_of_it_is_copied_often() {
    let bodies = Bodies::new(Words);
    let mut words = Vec::new();
    let mut last = 0;
    for n in 0..500 {
        words.push(format!("word {n}"));
        let written = body(&bodies, "s", &words);
        let read: Vec<String> = serde_json::from_slice(&written.body.to_bytes()).unwrap();
        assert_eq!(read, words);
        assert!(written.body.iter().count() <= 16, "{:?}", written.body);
        assert_eq!(written.reused_bytes, last);
        last = written.body.len() as u64 - 1;
    }
}

#[test]
fn a_prompt_that_was_rewritten_is_written_anew() {
    let bodies = Bodies::new(Words);
    let words = |list: &[&str]| list.iter().map(|word| (*word).into()).collect::<Vec<String>>();
    body(&bodies, "s", &words(&["a", "b", "c"]));
    for rewritten in [&["a", "x", "c", "d"][..], &["a"], &["a", "b"]] {
        let written = body(&bodies, "s", &words(rewritten));
        let read: Vec<String> = serde_json::from_slice(&written.body.to_bytes()).unwrap();
        assert_eq!(read, rewritten);
        assert!(written.reused_bytes == 0 || rewritten.len() == 2);
    }
}

#[test]
fn the_rest_holds_only_what_is_new_and_changes_nothing_that_is_remembered() {
    let bodies = Bodies::new(Words);
    let mut words: Vec<String> = vec!["a".into(), "b".into()];
    body(&bodies, "s", &words);
    words.push("c".into());
    let request = request("s", &words);
    let head = bodies.head(&request.prompt.settings).unwrap();
    for (from, told) in [(0, "[\"a\",\"b\",\"c\"]"), (2, "[\"c\"]"), (3, "[]")] {
        let rest = bodies.rest(&request, head.clone(), from, &[]);
        let rest = rest.now_or_never().unwrap().unwrap();
        assert_eq!(rest.body.to_bytes(), told.as_bytes());
        assert_eq!(rest.reused_bytes, 0);
    }
    assert_eq!(body(&bodies, "s", &words).reused_bytes, 8);
}

#[test]
fn what_is_remembered_is_bounded() {
    let bodies = Bodies::new(Words);
    for n in 0..MOST_SESSIONS + 10 {
        body(&bodies, &format!("s{n}"), &["hi".into()]);
    }
    let cached = |name: &str| {
        let kept = bodies.prefixes.lock();
        assert_eq!((kept.prefixes.len(), kept.order.len()), (MOST_SESSIONS, MOST_SESSIONS));
        kept.prefixes.contains_key(&SessionId::new(name).unwrap())
    };
    assert!(!cached("s9") && cached("s10") && cached("s11"));
    // The session used last stays the longest.
    body(&bodies, "s10", &["hi".into(), "again".into()]);
    body(&bodies, "another", &["hi".into()]);
    assert!(cached("s10") && !cached("s11"));
    for name in ["a", "b", "c"] {
        body(&bodies, name, &["x".repeat(MOST_BYTES / 2)]);
    }
    let kept = bodies.prefixes.lock();
    let bytes = kept.prefixes.values().map(|(_, prefix)| prefix.body.len());
    assert!(kept.bytes <= MOST_BYTES && kept.bytes == bytes.sum::<usize>());
}
