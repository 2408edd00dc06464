//! Functions of regular expressions, and `replace` and `split`, which take one or a text.

use std::sync::Arc;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, misfit, runtime};
use crate::library::access::{entry, integer, seq};
use crate::library::pure;
use crate::matcher::Match;
use crate::pattern::Pattern;
use crate::value::Value;

fn pattern(ctx: &mut Context, name: &str, args: &[Value]) -> Result<Arc<Pattern>, Halt> {
    match &args[0] {
        Value::Regex(pattern) => Ok(pattern.clone()),
        Value::Str(source) => ctx.pattern(source),
        _ => misfit(name, args),
    }
}

/// A regular expression and the text it is put to.
fn both(ctx: &mut Context, name: &str, args: &[Value]) -> Result<(Arc<Pattern>, Arc<str>), Halt> {
    let Value::Str(text) = &args[1] else {
        return misfit(name, args);
    };
    let pattern = pattern(ctx, name, args)?;
    Ok((pattern, text.clone()))
}

/// The first match, with its groups.
fn first(ctx: &mut Context, pattern: &Pattern, text: &str) -> Result<Option<Match>, Halt> {
    let mut matcher = ctx.matcher(pattern)?;
    let groups = matcher.groups;
    let found = matcher.find(ctx, text, 0, groups)?;
    ctx.return_matcher(pattern, matcher);
    Ok(found)
}

/// The last group that took part in a match; 0 is all of it.
fn last_group(found: &Match) -> usize {
    let mut groups = (0..found.groups()).rev();
    let last = groups.find(|group| found.group(*group).is_some());
    last.unwrap_or(0)
}

/// The text of a group, empty where it did not take part.
fn part<'a>(text: &'a str, found: &Match, group: usize) -> &'a str {
    found.group(group).map_or("", |(from, to)| &text[from..to])
}

/// A match: the text of it, or with its groups where there are any. A group that did not take part is
/// empty before one that did, and left out after the last that did.
fn found(ctx: &mut Context, text: &str, found: &Match) -> Result<Value, Halt> {
    let last = last_group(found);
    if last == 0 {
        return ctx.text(part(text, found, 0));
    }
    let mut groups = Vec::new();
    for group in 0..=last {
        groups.push(ctx.text(part(text, found, group))?);
    }
    ctx.vec(groups)
}

fn re_find(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let (pattern, text) = both(ctx, "re-find", args)?;
    match first(ctx, &pattern, &text)? {
        Some(captures) => found(ctx, &text, &captures),
        None => Ok(Value::Nil),
    }
}

fn re_matches(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let (pattern, text) = both(ctx, "re-matches", args)?;
    // Tied to both ends, so that an alternative that matches less does not win.
    let whole = ctx.pattern(&format!("^(?:{})$", pattern.source))?;
    match first(ctx, &whole, &text)? {
        Some(captures) if captures.whole() == (0, text.len()) => found(ctx, &text, &captures),
        _ => Ok(Value::Nil),
    }
}

fn re_seq(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let (pattern, text) = both(ctx, "re-seq", args)?;
    let mut all = Vec::new();
    each(ctx, &pattern, &text, usize::MAX, |ctx, captures| {
        all.push(found(ctx, &text, captures)?);
        Ok(())
    })?;
    ctx.vec(all)
}

fn re_pattern(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if !matches!(args[0], Value::Str(_)) {
        return misfit("re-pattern", args);
    }
    pattern(ctx, "re-pattern", args).map(Value::Regex)
}

fn re_split(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let (pattern, text) = both(ctx, "re-split", args)?;
    split_by(ctx, &pattern, &text)
}

/// Goes over all matches with at most so many of their groups. After a match of something, one of nothing
/// at its end does not count.
fn each(
    ctx: &mut Context,
    pattern: &Pattern,
    text: &str,
    groups: usize,
    mut tell: impl FnMut(&mut Context, &Match) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let mut matcher = ctx.matcher(pattern)?;
    let groups = groups.min(matcher.groups);
    let (mut from, mut last_end) = (0, None);
    while from <= text.len() {
        let Some(found) = matcher.find(ctx, text, from, groups)? else {
            break;
        };
        let (start, end) = found.whole();
        if start == end && Some(end) == last_end {
            from += 1;
            // The next search may find something from here on.
            last_end = None;
            continue;
        }
        tell(ctx, &found)?;
        (from, last_end) = (end, Some(end));
    }
    ctx.return_matcher(pattern, matcher);
    Ok(())
}

/// Ranges of all matches.
fn matches(ctx: &mut Context, pattern: &Pattern, text: &str) -> Result<Vec<(usize, usize)>, Halt> {
    let mut all = Vec::new();
    each(ctx, pattern, text, 1, |ctx, found| {
        ctx.reserve(16)?;
        all.push(found.whole());
        Ok(())
    })?;
    Ok(all)
}

/// The parts between matches. A match of nothing at the start splits nothing off.
fn split_by(ctx: &mut Context, pattern: &Pattern, text: &str) -> Result<Value, Halt> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (from, to) in matches(ctx, pattern, text)? {
        if from == to && from == 0 {
            continue;
        }
        parts.push(ctx.text(&text[start..from])?);
        start = to;
    }
    parts.push(ctx.text(&text[start..])?);
    ctx.vec(parts)
}

fn split(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Value::Str(text) = &args[0] else {
        return misfit("split", args);
    };
    ctx.walk(4 * text.len() as u64)?;
    match &args[1] {
        Value::Regex(pattern) => split_by(ctx, pattern, text),
        Value::Str(separator) if separator.chars().count() > 1 => {
            let message = format!("split: {separator:?} is no single character");
            let hint = "Split at a regular expression: (split s #\", \").";
            Err(Fault::new(FaultClass::Type, message).hint(hint).into())
        }
        Value::Str(separator) if separator.is_empty() => {
            let items = seq(ctx, "split", 1, &args[0])?;
            ctx.vec(items)
        }
        Value::Str(separator) => {
            let mut parts = Vec::new();
            for part in text.split(&**separator) {
                parts.push(ctx.text(part)?);
            }
            ctx.vec(parts)
        }
        _ => misfit("split", args),
    }
}

fn replace(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match args {
        [Value::Str(text), Value::Str(old), Value::Str(new)] => {
            ctx.walk(text.len() as u64)?;
            let places = text.matches(&**old).count();
            ctx.room(places.saturating_mul(new.len()) / size_of::<Value>())?;
            let replaced = text.replace(&**old, new);
            ctx.text(replaced)
        }
        [Value::Str(text), Value::Regex(pattern), Value::Str(new)] => {
            replace_matches(ctx, pattern, text, new)
        }
        [Value::Map(changes), collection] => {
            let mut items = seq(ctx, "replace", 2, collection)?;
            for item in &mut items {
                ctx.walk_deep(item)?;
                if let Some((_, new)) = changes.addressed(item) {
                    *item = new.clone();
                }
            }
            ctx.vec(items)
        }
        [changes @ Value::Vec(_), collection] => {
            let mut items = seq(ctx, "replace", 2, collection)?;
            for item in &mut items {
                if let Some(new) = entry(changes, item) {
                    *item = new;
                }
            }
            ctx.vec(items)
        }
        _ => misfit("replace", args),
    }
}

/// A part of a replacement.
enum ReplacementPart {
    Text(String),
    Group(usize),
}

/// Reads a replacement: `$1` is a group, a backslash takes the next character as it is, and any other `$` is
/// itself. As in Clojure, further digits belong to the number as long as there is such a group.
fn replacement(text: &str, groups: usize) -> Result<Vec<ReplacementPart>, Halt> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(chars.next()),
            '$' if chars.peek().is_some_and(char::is_ascii_digit) => {
                let (mut group, mut digits) = (0, 0);
                while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                    let next = group * 10 + digit as usize;
                    if digits > 0 && next >= groups {
                        break;
                    }
                    (group, digits) = (next, digits + 1);
                    chars.next();
                }
                if group >= groups {
                    return runtime(format!("replace: the expression has no group {group}"));
                }
                parts.push(ReplacementPart::Text(std::mem::take(&mut plain)));
                parts.push(ReplacementPart::Group(group));
            }
            c => plain.push(c),
        }
    }
    parts.push(ReplacementPart::Text(plain));
    Ok(parts)
}

fn replace_matches(
    ctx: &mut Context,
    pattern: &Pattern,
    text: &str,
    new: &str,
) -> Result<Value, Halt> {
    let mut parts: Option<Vec<ReplacementPart>> = None;
    let (mut replaced, mut start) = (String::new(), 0);
    // Without a group in it, only the places of the matches are needed.
    let groups = if new.contains(['$', '\\']) { usize::MAX } else { 1 };
    each(ctx, pattern, text, groups, |ctx, found| {
        let parts = match &mut parts {
            Some(parts) => parts,
            none => none.insert(replacement(new, found.groups())?),
        };
        let (from, to) = found.whole();
        replaced.push_str(&text[start..from]);
        for one in parts {
            replaced.push_str(match one {
                ReplacementPart::Text(plain) => plain,
                ReplacementPart::Group(group) => part(text, found, *group),
            });
        }
        start = to;
        ctx.room(replaced.len() / size_of::<Value>())
    })?;
    replaced.push_str(&text[start..]);
    ctx.text(replaced)
}

/// The text of a group of the first match: of the first group where none is named, of all of it for 0.
/// An expression that has no such group finds nothing, and so does a group that did not take part, unless
/// one after it did: then it is empty, as in `re-find`.
fn extracted(ctx: &mut Context, name: &str, args: &[Value]) -> Result<Option<String>, Halt> {
    let (pattern, text) = both(ctx, name, args)?;
    let group = args.get(2).map_or(Ok(1), |group| integer(name, 3, group))?;
    let (Some(captures), Ok(group)) = (first(ctx, &pattern, &text)?, usize::try_from(group)) else {
        return Ok(None);
    };
    if group > last_group(&captures) {
        return Ok(None);
    }
    Ok(Some(part(&text, &captures, group).to_owned()))
}

fn extract(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match extracted(ctx, "extract", args)? {
        Some(text) => ctx.text(text),
        None => Ok(Value::Nil),
    }
}

fn extract_int(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let text = extracted(ctx, "extract-int", args)?;
    let parsed = text.and_then(|text| text.parse::<i64>().ok());
    let default = || args.get(3).cloned().unwrap_or_default();
    Ok(parsed.map_or_else(default, Value::Int))
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("re-find", 2, 2, re_find),
    pure("re-matches", 2, 2, re_matches),
    pure("re-seq", 2, 2, re_seq),
    pure("re-pattern", 1, 1, re_pattern),
    pure("re-split", 2, 2, re_split),
    pure("split", 2, 2, split),
    pure("replace", 2, 3, replace),
    pure("extract", 2, 3, extract),
    pure("extract-int", 2, 4, extract_int),
];
