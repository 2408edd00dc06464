//! Parsing: what single words of the command mean.

use std::time::Duration;

use windlass_engine::core::{
    ArgumentPattern, CompactionStrategy, EDIT_TOOL, EditTools, Mode, PATCH_TOOL, Permissions,
    Price, ProgramTransport, Rule, RuleVerdict, SessionId, Temperature,
};

/// Effort or temperature that leaves the choice to the provider.
pub(crate) const DEFAULT: &str = "default";
/// Millionths of one unit.
const MICROS: u64 = 1_000_000;

/// The calls that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallPattern {
    tool: String,
    argument: Option<ArgumentPattern>,
}

impl CallPattern {
    /// The rule that says this of them.
    pub(crate) fn rule(&self, verdict: RuleVerdict) -> Rule {
        Rule { verdict, tool: self.tool.clone(), argument: self.argument.clone() }
    }
}

/// Parses `call` or `text`.
pub(crate) fn transport(text: &str) -> Result<ProgramTransport, String> {
    match text {
        "call" => Ok(ProgramTransport::Call),
        "text" => Ok(ProgramTransport::Text),
        _ => Err(format!("{text:?} is not a program transport: use call or text")),
    }
}

/// Parses `tool`, or `tool(argument=pattern)`.
pub(crate) fn pattern(text: &str) -> Result<CallPattern, String> {
    let wrong = || {
        format!(
            "{text:?} is not a rule: use tool or tool(argument=pattern), as in \
             shell(command=git status)"
        )
    };
    let (tool, argument) = match text.split_once('(') {
        None => (text, None),
        Some((tool, rest)) => {
            let inside = rest.strip_suffix(')').ok_or_else(wrong)?;
            let (name, pattern) = inside.split_once('=').ok_or_else(wrong)?;
            let name = name.trim();
            if name.is_empty() {
                return Err(wrong());
            }
            let argument = ArgumentPattern { name: name.to_owned(), pattern: pattern.to_owned() };
            (tool, Some(argument))
        }
    };
    let in_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
    if tool.is_empty() || !tool.chars().all(in_a_name) {
        return Err(wrong());
    }
    Ok(CallPattern { tool: tool.to_owned(), argument })
}

/// Money, in millionths: digits, and up to six of them after a point.
pub(crate) fn amount(text: &str) -> Result<u64, String> {
    let micros =
        decimal(text).ok_or_else(|| format!("{text:?} is not an amount such as 2 or 0.25"))?;
    if micros == 0 {
        return Err("a cost limit must be more than 0".to_owned());
    }
    Ok(micros)
}

/// A temperature, or `default`.
pub(crate) fn temperature(text: &str) -> Result<String, String> {
    if text != DEFAULT {
        text.parse::<Temperature>().map_err(|error| error.to_string())?;
    }
    Ok(text.to_owned())
}

/// Three amounts: of requests, of cached requests, of answers.
pub(crate) fn price(text: &str) -> Result<Price, String> {
    let parts: Option<Vec<u64>> = text.split(',').map(|part| decimal(part.trim())).collect();
    match parts.as_deref() {
        Some(&[input_micros, cached_input_micros, output_micros]) => {
            Ok(Price { input_micros, cached_input_micros, cache_write_micros: None, output_micros })
        }
        Some(_) | None => Err(format!(
            "{text:?} is not a price: use IN,CACHED,OUT for a million tokens each, as in \
             1.25,0.125,10"
        )),
    }
}

fn decimal(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    whole.checked_mul(MICROS)?.checked_add(part)
}

/// A text that says something.
pub(super) fn words(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it must not be empty".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

pub(crate) fn strategy(text: &str) -> Result<CompactionStrategy, String> {
    match text {
        "clear" => Ok(CompactionStrategy::Clear),
        "slide" => Ok(CompactionStrategy::Slide),
        "summary" => Ok(CompactionStrategy::Summary),
        other => Err(format!("{other:?} is not a way to compact: use clear, slide or summary")),
    }
}

pub(crate) fn edit_tools(text: &str) -> Result<EditTools, String> {
    match text {
        PATCH_TOOL => Ok(EditTools::Patch),
        EDIT_TOOL => Ok(EditTools::Text),
        "both" => Ok(EditTools::Both),
        other => {
            Err(format!("{other:?} is no tool that edits: use {PATCH_TOOL}, {EDIT_TOOL} or both"))
        }
    }
}

pub(super) fn session(text: &str) -> Result<SessionId, String> {
    SessionId::new(text).map_err(|error| error.to_string())
}

pub(crate) fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "build" => Ok(Mode::Build),
        "plan" => Ok(Mode::Plan),
        other => Err(format!("{other:?} is not a mode: use build or plan")),
    }
}

pub(crate) fn permissions(text: &str) -> Result<Permissions, String> {
    match text {
        "auto" => Ok(Permissions::Auto),
        "ask" => Ok(Permissions::Ask),
        "read-only" => Ok(Permissions::ReadOnly),
        other => Err(format!("{other:?} is not a permission: use auto, ask or read-only")),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("not a duration such as 90s or 5m: {error}"))?;
    if duration.as_millis() == 0 {
        return Err("it is at least 1ms".to_owned());
    }
    Ok(duration)
}

/// Parses a number of bytes, with or without a unit.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] = [("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30), ("", 1)];
    let lower = text.to_ascii_lowercase();
    let parsed = UNITS.iter().find_map(|(unit, bytes)| {
        let digits = lower.strip_suffix(unit)?;
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|_| plain)?.checked_mul(*bytes)
    });
    match parsed {
        Some(bytes) if bytes > 0 => Ok(bytes),
        Some(_) | None => Err(format!("{text:?} is not a size such as 65536, 64KiB or 128MiB")),
    }
}

/// Parses how old something is.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    let parsed = humantime::parse_duration(text);
    parsed.map_err(|error| format!("not a duration such as 12h or 90days: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_a_tool_and_perhaps_an_argument() {
        let rule = pattern("shell(command=git *)").unwrap().rule(RuleVerdict::Allow);
        let argument = rule.argument.unwrap();
        assert_eq!(
            (rule.tool.as_str(), argument.name.as_str(), argument.pattern.as_str()),
            ("shell", "command", "git *")
        );
        // The pattern is whatever stands before the last parenthesis.
        let rule = pattern("shell(command=f(x)=1)").unwrap().rule(RuleVerdict::Deny);
        assert_eq!(rule.argument.unwrap().pattern, "f(x)=1");
        assert_eq!(pattern("read_*").unwrap().rule(RuleVerdict::Ask).argument, None);
        for bad in ["", "(a=b)", "shell(", "shell()", "shell(=x)", "shell(x)", "a b", "shell(a=b) "]
        {
            assert!(pattern(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn sizes_have_units_of_1024() {
        let read = [("1", 1), ("64KiB", 65_536), ("128mib", 1 << 27), ("2GiB", 1 << 31)];
        for (text, bytes) in read {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in
            ["", "0", "0KiB", "KiB", "1.5MiB", "-1", "+1", "64KB", "64 KiB", "20000000000GiB"]
        {
            assert!(size(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn amounts_are_exact() {
        assert_eq!(amount("2").unwrap(), 2_000_000);
        assert_eq!(amount("0.25").unwrap(), 250_000);
        assert_eq!(amount("0.000001").unwrap(), 1);
        let bad = ["", "0", "-1", "1.", ".5", "1.0000001", "1e3", "99999999999999999999", "+1"];
        for bad in bad {
            assert!(amount(bad).is_err(), "{bad:?}");
        }
        let price = price("1.25, 0.125,10").unwrap();
        assert_eq!(price.cached_input_micros, 125_000);
        assert_eq!(price.output_micros, 10_000_000);
        assert!(super::price("1,2").is_err());
        assert!(super::price("1,2,3,4").is_err());
    }
}
