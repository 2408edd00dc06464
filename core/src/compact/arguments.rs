//! Arguments of calls: finds a text in them, for people and models to read. Parses no JSON.

use alloc::string::String;

/// Returns the first string member of a JSON object that has one of these names, in plain text. A
/// text that is no object has none; the value is meant for reading only.
pub(super) fn string_member(json: &str, names: &[&str]) -> Option<String> {
    let (mut depth, mut wanted, mut rest) = (0_u32, false, json);
    while let Some(at) = rest.find(['{', '}', '[', ']', '"', ',']) {
        let (mark, after) = rest.get(at..)?.split_at_checked(1)?;
        rest = after;
        match mark {
            "{" | "[" => depth = depth.saturating_add(1),
            "}" | "]" => depth = depth.saturating_sub(1),
            "," => wanted &= depth != 1,
            _ => {
                let text = after.get(..string_end(after)?)?;
                rest = after.get(text.len().saturating_add(1)..)?;
                let name = rest.trim_start().starts_with(':');
                if depth == 1 && name {
                    wanted = names.contains(&text);
                } else if depth == 1 && wanted {
                    return Some(plain(text));
                }
            }
        }
    }
    None
}

/// Returns the index of the quotation mark that ends a string.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Replaces the common escapes.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('n' | 'r' | 't' | 'b' | 'f') => plain.push(' '),
            Some('u') => plain.push_str("\\u"),
            Some(c) => plain.push(c),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_by_its_name_at_the_top() {
        let cases = [
            (r#"{"path":"a.rs"}"#, Some("a.rs")),
            (r#"{ "n" : 1, "path" : "a \"b\" \\ c" }"#, Some("a \"b\" \\ c")),
            (r#"{"text":"\"path\":\"no\"","path":"yes"}"#, Some("yes")),
            (r#"{"more":{"path":"no"},"file":"yes"}"#, Some("yes")),
            (r#"{"path":["no"],"x":"no"}"#, None),
            (r#"{"path":1,"x":"no"}"#, None),
            (r#"{"x":"path"}"#, None),
            (r#"{"path":"unfinished"#, None),
            ("[\"path\"]", None),
            ("", None),
            ("\"path", None),
            (r#"{"path":"a\nb"}"#, Some("a b")),
        ];
        for (json, found) in cases {
            assert_eq!(string_member(json, &["path", "file"]).as_deref(), found, "{json}");
        }
    }
}
