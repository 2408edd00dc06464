//! Functions of texts. A text's characters are its graphemes.

use unicode_segmentation::UnicodeSegmentation;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Halt, misfit, runtime};
use crate::library::access::seq;
use crate::library::pure;
use crate::show;
use crate::value::Value;

/// The blanks of `trim` and `blank?`: white space but for the three that do not break.
fn is_blank(c: char) -> bool {
    let separates = matches!(c, '\u{1c}'..='\u{1f}');
    let holds = matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}');
    separates || (c.is_whitespace() && !holds)
}

fn change(
    ctx: &mut Context,
    name: &str,
    args: &[Value],
    change: impl FnOnce(&str) -> String,
) -> Result<Value, Halt> {
    match args[0].as_str() {
        Some(text) => {
            ctx.walk(text.len() as u64)?;
            let changed = change(text);
            ctx.text(changed)
        }
        None => misfit(name, args),
    }
}

fn blank(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Nil => Ok(Value::Bool(true)),
        Value::Str(text) => {
            ctx.walk(text.len() as u64)?;
            Ok(Value::Bool(text.chars().all(is_blank)))
        }
        _ => misfit("blank?", args),
    }
}

/// Two texts and what is asked of them.
fn two_texts(
    ctx: &mut Context,
    name: &str,
    args: &[Value],
    ask: fn(&str, &str) -> bool,
) -> Result<Value, Halt> {
    match (args[0].as_str(), args[1].as_str()) {
        (Some(text), Some(part)) => {
            ctx.walk(text.len() as u64)?;
            Ok(Value::Bool(ask(text, part)))
        }
        _ => misfit(name, args),
    }
}

fn join(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let (between, collection) = match args {
        [collection] => (String::new(), &collection.clone()),
        [Value::Str(between), collection] => (between.to_string(), &collection.clone()),
        _ => return misfit("join", args),
    };
    if !matches!(collection, Value::Vec(_) | Value::Set(_)) {
        return misfit("join", args);
    }
    let items = seq(ctx, "join", args.len(), collection)?;
    let mut out = String::new();
    for (index, item) in items.iter().enumerate() {
        ctx.writes(item)?;
        if index > 0 {
            out.push_str(&between);
        }
        out.push_str(&show::plain(item));
        ctx.room(out.len() / size_of::<Value>())?;
    }
    ctx.text(out)
}

fn subs(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let text = args[0].as_str();
    let bounds: Option<Vec<i64>> = args[1..].iter().map(Value::as_int).collect();
    let (Some(text), Some(bounds)) = (text, bounds) else {
        return misfit("subs", args);
    };
    ctx.walk(2 * text.len() as u64)?;
    let start = bounds.first().copied().unwrap_or(0);
    // A part that would begin before the text is no part.
    let Ok(start) = usize::try_from(start) else {
        return ctx.text("");
    };
    let size = match bounds.get(1) {
        Some(end) => usize::try_from(*end).unwrap_or(0).saturating_sub(start),
        None => usize::MAX,
    };
    let part: String = text.graphemes(true).skip(start).take(size).collect();
    ctx.text(part)
}

/// The place of a part, counted in characters.
fn index_of(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let from = args.get(2).map_or(Some(0), Value::as_int);
    let (Some(text), Some(part), Some(from)) = (args[0].as_str(), args[1].as_str(), from) else {
        return misfit("index_of", args);
    };
    ctx.walk(2 * text.len() as u64)?;
    let skipped = usize::try_from(from).unwrap_or(0);
    let bytes: usize = text.graphemes(true).take(skipped).map(str::len).sum();
    let found = text[bytes..].find(part).map(|at| &text[..bytes + at]);
    Ok(found.map_or(Value::Nil, |before| Value::from(before.graphemes(true).count())))
}

fn last_index_of(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let from = args.get(2).map_or(Some(i64::MAX), Value::as_int);
    let (Some(text), Some(part), Some(from)) = (args[0].as_str(), args[1].as_str(), from) else {
        return misfit("last_index_of", args);
    };
    ctx.walk(2 * text.len() as u64)?;
    let reach = usize::try_from(from).unwrap_or(0);
    let bytes: usize = text.graphemes(true).take(reach).map(str::len).sum();
    let end = bytes.saturating_add(part.len()).min(text.len());
    let end = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
    let found = text[..end].rfind(part).map(|at| &text[..at]);
    Ok(found.map_or(Value::Nil, |before| Value::from(before.graphemes(true).count())))
}

fn split_lines(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(text) = args[0].as_str() else {
        return misfit("split_lines", args);
    };
    ctx.walk(text.len() as u64)?;
    let mut lines = Vec::new();
    for line in text.trim_end_matches('\n').split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        lines.push(ctx.text(line)?);
    }
    ctx.vec(lines)
}

/// A text as an integer of 64 bits; nil where it is none.
fn parse_long(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(text) = args[0].as_str() else {
        return Ok(Value::Nil);
    };
    ctx.walk(text.len() as u64)?;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let parsed = if plain { text.parse::<i64>().ok() } else { None };
    Ok(parsed.map_or(Value::Nil, Value::Int))
}

fn parse_double(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(text) = args[0].as_str() else {
        return Ok(Value::Nil);
    };
    ctx.walk(text.len() as u64)?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let negative = text.starts_with('-');
    Ok(match unsigned {
        "Infinity" => Value::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
        "NaN" => Value::Float(f64::NAN),
        _ if is_decimal(unsigned) => text.parse().map_or(Value::Nil, Value::Float),
        _ => Value::Nil,
    })
}

/// Digits, perhaps with a point between digits and an exponent.
fn is_decimal(text: &str) -> bool {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = match number.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(number),
    };
    number && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

fn parse_boolean(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    Ok(match args[0].as_str() {
        Some("true") => Value::Bool(true),
        Some("false") => Value::Bool(false),
        _ => Value::Nil,
    })
}

fn name(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Kw(name) => Ok(Value::Str(name.clone())),
        Value::Str(_) => Ok(args[0].clone()),
        other => runtime(format!("name not supported on: {}", other.kind())),
    }
}

fn keyword(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Kw(_) => Ok(args[0].clone()),
        Value::Str(name) => {
            let valid = |c: char| c.is_ascii_alphanumeric() || "-_?!".contains(c);
            let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
            if !starts || name.len() > 255 || !name.chars().all(valid) {
                return runtime(format!("invalid keyword name: {name:?}"));
            }
            Ok(Value::Kw(name.clone()))
        }
        other => runtime(format!("cannot coerce to keyword: {}", show::brief(other))),
    }
}

fn trimmed(
    ctx: &mut Context,
    name: &str,
    args: &[Value],
    trim: fn(&str) -> &str,
) -> Result<Value, Halt> {
    change(ctx, name, args, |text| trim(text).to_owned())
}

fn upper(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    change(ctx, "upcase", args, str::to_uppercase)
}

fn lower(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    change(ctx, "downcase", args, str::to_lowercase)
}

fn capitalize(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    change(ctx, "capitalize", args, |text| {
        let mut chars = text.chars();
        let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        first + &chars.as_str().to_lowercase()
    })
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("upcase", 1, 1, upper),
    pure("upper-case", 1, 1, upper),
    pure("downcase", 1, 1, lower),
    pure("lower-case", 1, 1, lower),
    pure("capitalize", 1, 1, capitalize),
    pure("trim", 1, 1, |ctx, args| trimmed(ctx, "trim", args, |t| t.trim_matches(is_blank))),
    pure("triml", 1, 1, |ctx, args| {
        trimmed(ctx, "triml", args, |t| t.trim_start_matches(is_blank))
    }),
    pure("trimr", 1, 1, |ctx, args| trimmed(ctx, "trimr", args, |t| t.trim_end_matches(is_blank))),
    pure("trim-newline", 1, 1, |ctx, args| {
        trimmed(ctx, "trim-newline", args, |t| t.trim_end_matches(['\n', '\r']))
    }),
    pure("blank?", 1, 1, blank),
    pure("starts-with?", 2, 2, |ctx, args| {
        two_texts(ctx, "starts-with?", args, |t, p| t.starts_with(p))
    }),
    pure("ends-with?", 2, 2, |ctx, args| two_texts(ctx, "ends-with?", args, |t, p| t.ends_with(p))),
    pure("includes?", 2, 2, |ctx, args| two_texts(ctx, "includes?", args, |t, p| t.contains(p))),
    pure("join", 1, 2, join),
    pure("subs", 2, 3, subs),
    pure("index-of", 2, 3, index_of),
    pure("last-index-of", 2, 3, last_index_of),
    pure("split-lines", 1, 1, split_lines),
    pure("parse-long", 1, 1, parse_long),
    pure("parse-int", 1, 1, parse_long),
    pure("parse-double", 1, 1, parse_double),
    pure("parse-boolean", 1, 1, parse_boolean),
    pure("name", 1, 1, name),
    pure("keyword", 1, 1, keyword),
];
