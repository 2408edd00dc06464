//! Classification: derives a `FailureKind` and retry advice from status, codes, class and message.
//!
//! A code with a single meaning decides first. The message is next, since many servers use one code
//! for every fault of a request. Codes that only name a kind of failure follow, and then the
//! status.

use windlass_core::{FailureKind, Retry};

use crate::failure_words::{CONVERSATION, DECISIVE, GENERAL, MISSING, NOT_OFFERED, WAITING, WORDS};
use crate::reported_error::ReportedError;

/// Length limit on names and descriptions. A limit above this one concerns the conversation.
const LONG_TEXT: u64 = 64 * 1024;

/// Classifies a failure. Without a status (an error inside a stream) a numeric code counts as one.
#[must_use]
pub fn classify(status: Option<u16>, reported: &ReportedError) -> FailureKind {
    let codes = || {
        let others = reported.other_codes.iter();
        [&reported.code, &reported.class].into_iter().chain(others)
    };
    let message = reported.message.to_ascii_lowercase();
    let mut numeric = codes().filter_map(|code| code.parse().ok());
    let status = status.or_else(|| numeric.find(|code| (400..600).contains(code)));
    codes()
        .find_map(|code| listed(DECISIVE, code))
        .or_else(|| by_length(reported, &message))
        .or_else(|| by_words(status, &message, reported.retry_ms.is_some()))
        .or_else(|| codes().find_map(|code| general(status, code)))
        .or_else(|| status.map(by_status))
        .unwrap_or_else(|| {
            let invalid = |code: &String| {
                let code = squeezed(code);
                code.contains("invalid")
                    || code.contains("validation")
                    || code.starts_with("badrequest")
            };
            match codes().any(invalid) {
                true => FailureKind::InvalidRequest,
                false => FailureKind::Server,
            }
        })
}

/// Returns the retry advice for a failure if the provider gives none.
#[must_use]
pub fn retry(kind: FailureKind, status: Option<u16>) -> Retry {
    match kind {
        FailureKind::Server if matches!(status, Some(501 | 505)) => Retry::Never,
        FailureKind::RateLimit
        | FailureKind::Overloaded
        | FailureKind::Server
        | FailureKind::Unavailable
        | FailureKind::Truncated
        | FailureKind::Timeout => Retry::Soon,
        FailureKind::Authentication
        | FailureKind::NotFound
        | FailureKind::InvalidRequest
        | FailureKind::ContextOverflow
        | FailureKind::Quota
        | FailureKind::ContentFilter
        | FailureKind::Protocol
        | FailureKind::TooLarge
        | FailureKind::Cancelled
        | FailureKind::Restart
        | FailureKind::Steered
        | FailureKind::Hook
        | FailureKind::Unsupported
        | FailureKind::Program
        | FailureKind::Compaction => Retry::Never,
    }
}

/// Returns the retry advice for a failure, from everything that the provider reports. `asked_ms` is
/// the wait from its headers, which takes precedence over the one in its message.
#[must_use]
pub fn again(
    kind: FailureKind,
    status: Option<u16>,
    reported: &ReportedError,
    asked_ms: Option<u64>,
) -> Retry {
    // A request that exceeds the limit by itself will always exceed it.
    let message = reported.message.to_ascii_lowercase();
    if kind == FailureKind::RateLimit && message.contains("request too large") {
        return Retry::Never;
    }
    match (retry(kind, status), asked_ms.or(reported.retry_ms)) {
        (Retry::Never, _) => Retry::Never,
        (_, Some(ms)) => Retry::AfterMs(ms),
        (soon, None) => soon,
    }
}

/// Returns the letters and digits of a code, in lower case.
fn squeezed(code: &str) -> String {
    let kept = code.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

fn listed(list: &[(FailureKind, &[&str])], code: &str) -> Option<FailureKind> {
    let code = squeezed(code);
    let named = |name: &&str| squeezed(name) == code;
    let found = list.iter().find(|(_, names)| names.iter().any(named));
    found.filter(|_| !code.is_empty()).map(|(kind, _)| *kind)
}

fn general(status: Option<u16>, code: &str) -> Option<FailureKind> {
    let kind = listed(GENERAL, code)?;
    // For a server failure the status is more specific, unless it is a general one.
    let vague = matches!(status, None | Some(400 | 409 | 422));
    (vague || kind != FailureKind::Server).then_some(kind)
}

/// Classifies a text beyond its limit: a conversation or a name that is too long.
fn by_length(reported: &ReportedError, message: &str) -> Option<FailureKind> {
    if squeezed(&reported.code) != "stringabovemaxlength" {
        return None;
    }
    let (_, rest) = message.split_once("maximum length ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let long = digits.parse().is_ok_and(|most: u64| most >= LONG_TEXT);
    Some(match long {
        true => FailureKind::ContextOverflow,
        false => FailureKind::InvalidRequest,
    })
}

/// Classifies by the message. `waits` is true if the provider names a wait, so that a quota is one
/// that refills.
fn by_words(status: Option<u16>, message: &str, waits: bool) -> Option<FailureKind> {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let under = |statuses: &[u16]| status.is_none_or(|status| statuses.contains(&status));
    for (kind, statuses, words) in WORDS {
        if under(statuses) && says(words) {
            let fills_up = *kind == FailureKind::Quota && waits;
            return Some(if fills_up { FailureKind::RateLimit } else { *kind });
        }
    }
    if under(&[400, 413, 422, 500]) && is_too_long(message) {
        return Some(FailureKind::ContextOverflow);
    }
    let missing = message.contains("model") && says(MISSING) || is_not_offered(message);
    (under(&[400, 422]) && missing).then_some(FailureKind::NotFound)
}

/// Returns true if a message says that the conversation is too long, not one of its names or a wait
/// for it.
fn is_too_long(message: &str) -> bool {
    let Some((before, after)) = message.split_once("too long") else {
        return false;
    };
    let sentence = before.rsplit(['.', ';', '\n']).next().unwrap_or_default();
    let words = || sentence.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    // A request may be too long in other ways.
    let of_request = words().any(|word| word == "request") && words().any(|word| word == "tokens");
    (of_request || words().any(|word| CONVERSATION.contains(&word)))
        && !words().any(|word| WAITING.contains(&word) || word == "name" || word == "description")
        && !sentence.trim_end().ends_with(" for")
        && !after.starts_with(" to ")
}

/// Returns true if a message says that a model is not offered.
fn is_not_offered(message: &str) -> bool {
    let mut rest = message;
    while let Some((_, after)) = rest.split_once("model") {
        rest = after.trim_start_matches([' ', ':', '`', '\'', '"']);
        let named = rest.split_once(' ').map_or("", |(_, tail)| tail);
        let said = |phrase: &&str| rest.starts_with(phrase) || named.starts_with(phrase);
        if NOT_OFFERED.iter().any(said) {
            return true;
        }
    }
    false
}

fn by_status(status: u16) -> FailureKind {
    match status {
        401 | 403 | 407 => FailureKind::Authentication,
        402 => FailureKind::Quota,
        404 | 410 => FailureKind::NotFound,
        408 | 504 | 524 => FailureKind::Timeout,
        409 | 425 => FailureKind::Server,
        413 => FailureKind::ContextOverflow,
        429 => FailureKind::RateLimit,
        498 | 503 | 529 => FailureKind::Overloaded,
        // A proxy in front of the provider cannot reach it.
        521..=523 | 530 => FailureKind::Unavailable,
        400..=499 => FailureKind::InvalidRequest,
        500..=599 => FailureKind::Server,
        _ => FailureKind::Protocol,
    }
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
