//! Delta template: recognises the next text delta from the previous one.
//!
//! The events of a stream differ only in the text, a running number and padding. So once an event
//! was parsed as JSON, the next is compared with it byte for byte around these gaps, which costs a
//! fraction of parsing. Any event that does not match is parsed as JSON.

use memchr::{memchr2, memmem};

/// Event with gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaTemplate {
    head: Vec<u8>,
    /// Each gap with the bytes that follow it.
    gaps: Vec<(TemplateGap, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplateGap {
    /// Content of the text to read.
    Text,
    /// Content of a text that is ignored.
    Padding,
    /// Digits of a number that is ignored.
    Number,
}

impl DeltaTemplate {
    /// Learns from an event whose field `key` was read as `text`; `None` when the position of that
    /// field is ambiguous.
    pub fn from_event(data: &[u8], key: &str, text: &str) -> Option<Self> {
        let wanted = field(data, key, "\"")?;
        let mut gaps = vec![(wanted, TemplateGap::Text)];
        gaps.extend(field(data, "obfuscation", "\"").map(|at| (at, TemplateGap::Padding)));
        gaps.extend(field(data, "sequence_number", "").map(|at| (at, TemplateGap::Number)));
        gaps.sort_unstable_by_key(|(at, _)| *at);
        let mut template = Self {
            head: data.get(..gaps.first()?.0)?.to_vec(),
            gaps: Vec::with_capacity(gaps.len()),
        };
        let mut next = gaps.iter().skip(1).map(|(at, _)| *at).chain([data.len()]);
        for (at, gap) in &gaps {
            let end = at + gap.len(data.get(*at..)?)?;
            template.gaps.push((*gap, data.get(end..next.next()?)?.to_vec()));
        }
        // Checked against the event that it was learned from.
        (template.read(data).as_deref() == Some(text)).then_some(template)
    }

    /// Returns the text of an event that matches the template.
    pub fn read(&self, data: &[u8]) -> Option<String> {
        let mut at = self.head.len();
        if !data.starts_with(&self.head) {
            return None;
        }
        let mut text = None;
        for (gap, literal) in &self.gaps {
            let rest = data.get(at..)?;
            let len = gap.len(rest)?;
            if !rest.get(len..)?.starts_with(literal) {
                return None;
            }
            if *gap == TemplateGap::Text {
                text = Some(at..at + len);
            }
            at += len + literal.len();
        }
        if at != data.len() {
            return None;
        }
        let text = text?;
        let quoted = data.get(text.start.checked_sub(1)?..=text.end)?;
        serde_json::from_slice(quoted).ok()
    }
}

impl TemplateGap {
    /// Returns the number of bytes that the gap takes.
    fn len(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Text => inside(bytes),
            Self::Padding => {
                let len = inside(bytes)?;
                let plain = |b: &u8| (0x20..0x7f).contains(b) && *b != b'\\';
                bytes.get(..len)?.iter().all(plain).then_some(len)
            }
            Self::Number => {
                let len = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
                let canonical = len == 1 || bytes.first() != Some(&b'0');
                ((1..=15).contains(&len) && canonical).then_some(len)
            }
        }
    }
}

/// Returns the length of the content of a JSON text, up to its closing quote.
fn inside(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(found) == Some(&b'"') {
            return Some(found);
        }
        at = found + 2;
    }
}

/// Returns the offset of a field's value, behind `open`, if there is exactly one such field.
fn field(data: &[u8], key: &str, open: &str) -> Option<usize> {
    let name = format!("\"{key}\":");
    let mut found = memmem::find_iter(data, name.as_bytes());
    let at = found.next()?;
    if found.next().is_some() || !matches!(data.get(at.checked_sub(1)?), Some(b'{' | b',')) {
        return None;
    }
    let value = at + name.len();
    data.get(value..)?.starts_with(open.as_bytes()).then_some(value + open.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EVENT: &str = r#"{"n":"d","sequence_number":7,"delta":"a","obfuscation":"xY","at":[0]}"#;

    fn with(number: &str, text: &str, padding: &str) -> String {
        let event = EVENT.replace(":7,", &format!(":{number},"));
        let event = event.replace(r#""delta":"a""#, &format!(r#""delta":{text}"#));
        event.replace("xY", padding)
    }

    #[test]
    fn reads_what_differs_only_in_its_gaps() {
        let template = DeltaTemplate::from_event(EVENT.as_bytes(), "delta", "a").unwrap();
        let read = |event: &str| template.read(event.as_bytes());
        assert_eq!(read(&with("81", r#""b\n\"c\"""#, "")).as_deref(), Some("b\n\"c\""));
        assert_eq!(read(&with("8", "\"\"", "zz")).as_deref(), Some(""));
        for other in [
            with("-8", "\"b\"", ""),
            with("08", "\"b\"", ""),
            with("", "\"b\"", ""),
            with("8", "null", ""),
            with("8", "\"b\u{1}\"", ""),
            with("8", r#""\x""#, ""),
            with("8", "\"b\"", "\\u0041"),
            with("8", r#""b","delta":"c""#, ""),
            with("8", "\"b\"", "").replace("\"d\"", "\"e\""),
            with("8", "\"b\"", "") + " ",
            String::new(),
        ] {
            assert_eq!(read(&other), None, "{other}");
        }
    }

    #[test]
    fn does_not_learn_what_it_cannot_tell() {
        for (event, text) in [
            (r#"{"delta":"a","x":{"delta":"a"}}"#, "a"),
            (r#"{"delta":"a"}"#, "b"),
            (r#"{"delta": "a"}"#, "a"),
            (r#"{"x\"delta":"a"}"#, "a"),
            (r#"{"delta":"a"#, "a"),
        ] {
            assert!(
                DeltaTemplate::from_event(event.as_bytes(), "delta", text).is_none(),
                "{event}"
            );
        }
    }

    proptest! {
        #[test]
        fn says_what_json_says(first in "\\PC{0,8}", second in "(\\PC|[\"\\\\\n\t\u{1}]){0,8}") {
            let event = |text: &str| serde_json::json!({"a": {"delta": text}, "b": 1}).to_string();
            let template = DeltaTemplate::from_event(event(&first).as_bytes(), "delta", &first);
            prop_assume!(template.is_some());
            let read = template.and_then(|template| template.read(event(&second).as_bytes()));
            prop_assert_eq!(read, Some(second));
        }

        #[test]
        fn says_nothing_of_what_json_refuses(raw in "[ -~\u{1}\u{e9}]{0,10}") {
            let template = DeltaTemplate::from_event(EVENT.as_bytes(), "delta", "a");
            let event = with("8", &format!("\"{raw}\""), "");
            let value = serde_json::from_str::<serde_json::Value>(&event).ok();
            let read = template.and_then(|template| template.read(event.as_bytes()));
            if let Some(read) = read {
                prop_assert_eq!(value.map(|value| value["delta"].clone()), Some(read.into()));
            }
        }
    }
}
