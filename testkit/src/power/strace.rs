//! Reads what `strace -f -xx` writes. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) args: Vec<Arg>,
    /// What it answered; negative when it failed, and when it never ended.
    pub(super) result: i64,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Arg {
    Bytes(Arc<[u8]>),
    /// A number or names of flags, as it stands there.
    Word(String),
}

/// What happened next: a call, by its number, began or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Begin(usize),
    End(usize),
}

const UNFINISHED: &str = " <unfinished ...>";

/// The calls of a trace, and the order in which they began and ended.
pub(super) fn parse(trace: &str) -> Result<(Vec<Call>, Vec<Step>), String> {
    let mut calls = Vec::new();
    let mut steps = Vec::new();
    // What each thread is in the middle of.
    let mut open: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for line in trace.lines() {
        let begin: String = line.chars().take(100).collect();
        let bad = |what: &str| format!("a line of the trace {what}: {begin}");
        let (thread, rest) = line.split_once(' ').ok_or_else(|| bad("has no number"))?;
        let rest = rest.trim_start();
        if rest.starts_with("+++") || rest.starts_with("---") {
            continue;
        }
        if let Some(rest) = rest.strip_prefix("<... ") {
            let (_, rest) = rest.split_once(" resumed>").ok_or_else(|| bad("ends"))?;
            let (number, args) = open.remove(thread).ok_or_else(|| bad("has no begin"))?;
            let (more, result) = result_of(rest).ok_or_else(|| bad("has no result"))?;
            let call: &mut Call = calls.get_mut(number).ok_or_else(|| bad("has no call"))?;
            call.args = args_of(&format!("{args}{more}")).ok_or_else(|| bad("is cut"))?;
            call.result = result;
            steps.push(Step::End(number));
            continue;
        }
        let (name, rest) = rest.split_once('(').ok_or_else(|| bad("is no call"))?;
        let number = calls.len();
        let mut call = Call { name: name.to_owned(), args: Vec::new(), result: -1 };
        steps.push(Step::Begin(number));
        if let Some(args) = rest.strip_suffix(UNFINISHED) {
            call.args = args_of(args).ok_or_else(|| bad("is cut"))?;
            open.insert(thread, (number, args));
        } else {
            let (args, result) = result_of(rest).ok_or_else(|| bad("has no result"))?;
            call.args = args_of(args).ok_or_else(|| bad("is cut"))?;
            call.result = result;
            steps.push(Step::End(number));
        }
        calls.push(call);
    }
    Ok((calls, steps))
}

/// The text before the last `) = `, and the number after it; `?` is a call that never ended.
fn result_of(text: &str) -> Option<(&str, i64)> {
    let at = text.rfind(") ")?;
    let result = text.get(at + 1..)?.trim_start().strip_prefix("= ")?;
    let word = result.split(' ').next()?;
    let number = match word.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None => word.parse().unwrap_or(-1),
    };
    Some((text.get(..at)?, number))
}

fn args_of(text: &str) -> Option<Vec<Arg>> {
    let mut args = Vec::new();
    for part in split(text) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        match part.strip_prefix('"') {
            // One that is longer than strace was told to show ends otherwise.
            Some(quoted) => args.push(Arg::Bytes(bytes_of(quoted.strip_suffix('"')?)?)),
            None => args.push(Arg::Word(part.to_owned())),
        }
    }
    Some(args)
}

/// Splits at the commas that are in no brackets and in no text, in which there are no quotes.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut at, mut depth) = (0, 0, 0_u32);
    while let Some(found) = text[at..].find([',', '"', '[', ']', '{', '}']) {
        at += found;
        match text.as_bytes().get(at) {
            Some(b',') if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            Some(b'"') => at += text[at + 1..].find('"').map_or(0, |end| end + 1),
            Some(b'[' | b'{') => depth += 1,
            Some(b']' | b'}') => depth = depth.saturating_sub(1),
            Some(_) | None => {}
        }
        at += 1;
    }
    parts.push(&text[from..]);
    parts
}

fn bytes_of(text: &str) -> Option<Arc<[u8]>> {
    let digits = text.as_bytes().chunks_exact(4);
    if !digits.remainder().is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4);
    for part in digits {
        let [b'\\', b'x', high, low] = part else {
            return None;
        };
        bytes.push(digit(*high)? << 4 | digit(*low)?);
    }
    Some(bytes.into())
}

fn digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
