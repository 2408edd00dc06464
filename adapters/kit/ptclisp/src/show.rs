//! Printing: the readable form (`pr-str`) and the form of `str` and `println`.

use std::fmt::Write;

use crate::callable::ComposedKind;
use crate::value::Value;

/// The readable form: texts in quotation marks. Parts that are shared are written each time; a run's
/// results are bounded by [`crate::Limits::retained_parts`], so that theirs is no longer than that allows.
pub fn readable(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

/// The beginning of the readable form: so many characters, and more if the value has more; a function by its
/// parameters.
pub fn readable_head(value: &Value, chars: usize) -> String {
    let mut out = String::new();
    match value {
        Value::Fn(closure) => out = format!("(fn [{}])", closure.params()),
        _ => begin(&mut out, value, chars),
    }
    out
}

/// The number of parts of a value that has some, with their name.
pub fn part_count(value: &Value) -> Option<(usize, &'static str)> {
    match value {
        Value::Str(text) => Some((text.len(), "bytes")),
        Value::Vec(items) => Some((items.items.len(), "items")),
        Value::Set(members) => Some((members.members.len(), "members")),
        Value::Map(entries) => Some((entries.entries.len(), "keys")),
        _ => None,
    }
}

/// Writes the readable form until it is longer than so many characters.
fn begin(out: &mut String, value: &Value, chars: usize) {
    match value {
        Value::Str(text) => {
            let begun: String = text.chars().take(chars).collect();
            quoted(out, &begun);
        }
        Value::Vec(items) => begin_parts(out, ["[", "]"], items.items.iter(), chars),
        Value::Set(members) => begin_parts(out, ["#{", "}"], members.members.iter(), chars),
        Value::Map(entries) => {
            let parts = entries.entries.iter().flat_map(|(key, value)| [key, value]);
            begin_parts(out, ["{", "}"], parts, chars);
        }
        _ => write(out, value),
    }
}

fn begin_parts<'a>(
    out: &mut String,
    [open, close]: [&str; 2],
    parts: impl Iterator<Item = &'a Value>,
    chars: usize,
) {
    out.push_str(open);
    for (index, part) in parts.enumerate() {
        // A character has up to four bytes.
        if out.len() > 4 * chars {
            break;
        }
        if index > 0 {
            out.push(' ');
        }
        begin(out, part, chars);
    }
    out.push_str(close);
}

/// A value in a message: what is large is only named.
pub(crate) fn brief(value: &Value) -> String {
    if value.shape().weight > 100 {
        return format!("a large {}", value.kind());
    }
    readable(value)
}

/// The form of `println`: a text as it is; texts within collections in quotation marks.
pub(crate) fn display(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        _ => readable(value),
    }
}

/// The form of `str`: as [`display`], with nothing for nil and words for the special numbers.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Nil => String::new(),
        Value::Float(float) if !float.is_finite() => special(*float).to_owned(),
        _ => display(value),
    }
}

/// The name of an infinity or of not-a-number.
pub(crate) fn special(float: f64) -> &'static str {
    if float.is_nan() {
        "NaN"
    } else if float > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// A float in its shortest form that reads back the same, always with a point.
pub(crate) fn float(float: f64) -> String {
    if float.is_nan() {
        return "##NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "##Inf" } else { "##-Inf" }.to_owned();
    }
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-5..1e16).contains(&magnitude) {
        let text = format!("{float:e}");
        return match text.split_once('e') {
            Some((digits, exponent)) if digits.contains('.') => format!("{digits}e{exponent}"),
            Some((digits, exponent)) => format!("{digits}.0e{exponent}"),
            None => text,
        };
    }
    let text = format!("{float}");
    if text.contains('.') { text } else { format!("{text}.0") }
}

/// A text between quotation marks, with escapes.
pub(crate) fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ => out.push(c),
        }
    }
    out.push('"');
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Nil => out.push_str("nil"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(n) => {
            let _ = write!(out, "{n}");
        }
        Value::Big(n) => {
            let _ = write!(out, "{n}");
        }
        Value::Float(n) => out.push_str(&float(*n)),
        Value::Str(text) => quoted(out, text),
        Value::Kw(name) => {
            out.push(':');
            out.push_str(name);
        }
        Value::Sym(name) => {
            out.push('\'');
            out.push_str(name);
        }
        Value::Vec(items) => {
            out.push('[');
            parts(out, items.items.iter());
            out.push(']');
        }
        Value::Set(members) => {
            out.push_str("#{");
            parts(out, members.members.iter());
            out.push('}');
        }
        Value::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.entries.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write(out, key);
                out.push(' ');
                write(out, value);
            }
            out.push('}');
        }
        Value::Regex(pattern) => {
            out.push_str("#\"");
            out.push_str(&pattern.source);
            out.push('"');
        }
        Value::Var(name) => {
            out.push_str("#'");
            out.push_str(name);
        }
        Value::Fn(closure) => {
            out.push_str("#fn[");
            out.push_str(&closure.params());
            out.push(']');
        }
        Value::Native(native) if native.variadic() => out.push_str("#fn[...]"),
        Value::Native(_) => out.push_str("#<builtin>"),
        Value::Composed(made) if made.kind == ComposedKind::Endless => out.push_str("#seq[...]"),
        Value::Tool(_) | Value::Composed(_) => out.push_str("#fn[...]"),
    }
}

fn parts<'a>(out: &mut String, values: impl Iterator<Item = &'a Value>) {
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(' ');
        }
        write(out, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_point() {
        assert_eq!(float(5.0), "5.0");
        assert_eq!(float(-0.0), "-0.0");
        assert_eq!(float(1e20), "1.0e20");
        assert_eq!(float(1.5e-7), "1.5e-7");
        assert_eq!(float(0.1), "0.1");
    }
}
