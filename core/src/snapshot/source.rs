//! The source of a program, from the arguments of its call.

use alloc::string::String;

/// Returns the source in the arguments of a call of [`PROGRAM_TOOL`](crate::PROGRAM_TOOL): a JSON
/// object with that one member. Returns other arguments unchanged.
pub(super) fn source(arguments: &str) -> String {
    read(arguments).unwrap_or_else(|| String::from(arguments))
}

fn read(arguments: &str) -> Option<String> {
    let rest = after(arguments, '{')?.trim_start();
    let rest = after(rest.strip_prefix("\"source\"")?, ':')?;
    let (source, rest) = text(after(rest, '"')?)?;
    after(rest, '}')?.trim().is_empty().then_some(source)
}

fn after(text: &str, mark: char) -> Option<&str> {
    text.trim_start().strip_prefix(mark)
}

/// Parses a JSON string after its opening quote. Returns it with the text after its closing quote
/// (RFC 8259, 7).
fn text(json: &str) -> Option<(String, &str)> {
    let mut said = String::new();
    let mut rest = json.chars();
    loop {
        match rest.next()? {
            '"' => return Some((said, rest.as_str())),
            '\\' => said.push(match rest.next()? {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let first = unit(&mut rest)?;
                    match u32::from(first) {
                        high @ 0xd800..=0xdbff => {
                            let mut low = rest.as_str().strip_prefix("\\u")?.chars();
                            let low_unit = u32::from(unit(&mut low)?);
                            rest = low;
                            let low_bits =
                                low_unit.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                            char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low_bits)?
                        }
                        other => char::from_u32(other)?,
                    }
                }
                other @ ('"' | '\\' | '/') => other,
                _ => return None,
            }),
            other => said.push(other),
        }
    }
}

fn unit(rest: &mut core::str::Chars<'_>) -> Option<u16> {
    let digits = rest.as_str().get(..4)?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    *rest = rest.as_str().get(4..)?.chars();
    Some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_as_json_writes_it_and_anything_else_stays_as_it_is() {
        for (arguments, wanted) in [
            (r#"{"source":"(+ 1 2)"}"#, "(+ 1 2)"),
            (r#" { "source" : "" } "#, ""),
            (
                r#"{"source":"a\n\t\"b\" \\ \/ \u00e4 \ud83d\ude00 \u{1}"}"#,
                r#"{"source":"a\n\t\"b\" \\ \/ \u00e4 \ud83d\ude00 \u{1}"}"#,
            ),
            (r#"{"source":"a\n\t\"b\" \\ \/ \u00e4 \ud83d\ude00"}"#, "a\n\t\"b\" \\ / ä \u{1f600}"),
            ("(+ 1 2)", "(+ 1 2)"),
            (r#"{"source":"a","more":1}"#, r#"{"source":"a","more":1}"#),
            (r#"{"source":"\ud83d"}"#, r#"{"source":"\ud83d"}"#),
            (r#"{"source":"\ud83dx"#, r#"{"source":"\ud83dx"#),
            (r#"{"source":"cut"#, r#"{"source":"cut"#),
            ("", ""),
        ] {
            assert_eq!(source(arguments), wanted, "{arguments}");
        }
    }
}
