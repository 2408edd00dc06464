//! Reading scripts.

use std::str::FromStr;

use windlass_core::{ObservationStatus, Retry, StopReason};

use super::posture::{Posture, set_limit};
use super::script::{Durability, Opening, Script, Step};
use super::words::word;

impl FromStr for Script {
    type Err = String;

    /// Reads a script: an optional line `open ..`, then one step a line. Empty lines and lines
    /// that start with `#` say nothing.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut script = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = |error: String| format!("line {}, {line:?}: {error}", at + 1);
            match line.split_once(' ').unwrap_or((line, "")) {
                ("open", rest) if script.steps.is_empty() => {
                    script.opening = opening(rest).map_err(place)?;
                }
                (verb, rest) => script.steps.push(step(verb, rest).map_err(place)?),
            }
        }
        Ok(script)
    }
}

fn opening(rest: &str) -> Result<Opening, String> {
    let mut opening = Opening::default();
    for part in rest.split_whitespace() {
        match part.split_once('=') {
            None if part == "lazy" => opening.durability = Durability::Lazy,
            Some(("seed", seed)) => opening.seed = number(seed)?,
            Some((name, value)) => match name.strip_prefix("ceiling.") {
                Some(limit) => set_limit(&mut opening.ceiling, limit, value)?,
                None => opening.posture.set(name, value)?,
            },
            None => return Err(format!("{part} is not NAME=VALUE")),
        }
    }
    Ok(opening)
}

fn step(verb: &str, rest: &str) -> Result<Step, String> {
    Ok(match verb {
        "send" => {
            let (key, rest) = option("key=", rest);
            let (dry_run, text) = match rest.split_once(' ').unwrap_or((rest, "")) {
                ("dry", text) => (true, text),
                (_, _) => (false, rest),
            };
            Step::Send {
                key,
                dry_run,
                text: text.to_owned(),
            }
        }
        "continue" => Step::Continue,
        "interrupt" => Step::Interrupt(word(rest)?),
        "configure" => Step::Configure(posture(rest)?),
        "wait" => Step::Wait(number(rest)?),
        "back" => Step::Back(number(rest)?),
        "text" => Step::Text(rest.to_owned()),
        "refusal" => Step::Refusal(rest.to_owned()),
        "reasoning" => Step::Reasoning(rest.to_owned()),
        "call" => {
            let (tool, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let (id, rest) = option("id=", rest);
            let (fault, arguments) = option("fault=", rest);
            Step::Call {
                tool: tool.to_owned(),
                id: id.unwrap_or_default(),
                fault,
                arguments: if arguments.is_empty() {
                    "{}"
                } else {
                    arguments
                }
                .to_owned(),
            }
        }
        "end" => end(rest)?,
        "fail" => fail(rest)?,
        "late" => Step::Late(number(rest)?),
        "never" => Step::Never(number(rest)?),
        "sync" => Step::Sync,
        "crash" => {
            let (lose, rest) = option("lose=", rest);
            let (away, _) = option("away=", rest);
            Step::Crash {
                lose: lose.map_or(Ok(0), |lose| number(&lose))?,
                away_ms: away.map_or(Ok(0), |away| number(&away))?,
            }
        }
        status => {
            let status: ObservationStatus = word(status)?;
            let (nth, output) = rest.split_once(' ').unwrap_or((rest, ""));
            Step::Finish {
                status,
                nth: number(nth)?,
                output: output.to_owned(),
            }
        }
    })
}

fn posture(rest: &str) -> Result<Posture, String> {
    let mut posture = Posture::default();
    for part in rest.split_whitespace() {
        let pair = part.split_once('=');
        let (name, value) = pair.ok_or_else(|| format!("{part} is not NAME=VALUE"))?;
        posture.set(name, value)?;
    }
    Ok(posture)
}

fn end(rest: &str) -> Result<Step, String> {
    let (reason, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let stop = match reason.strip_prefix("other=") {
        Some(words) => StopReason::Other(words.to_owned()),
        None => word(reason)?,
    };
    let (tokens, _) = option("tokens=", rest);
    let tokens = tokens.map(|tokens| number(&tokens)).transpose()?;
    Ok(Step::End { stop, tokens })
}

fn fail(rest: &str) -> Result<Step, String> {
    let mut parts = rest.splitn(3, ' ');
    let kind = word(parts.next().unwrap_or_default())?;
    let retry = match parts.next().unwrap_or("soon") {
        "never" => Retry::Never,
        "soon" => Retry::Soon,
        after => match after.strip_prefix("after=") {
            Some(ms) => Retry::AfterMs(number(ms)?),
            None => return Err(format!("{after} is not never, soon or after=MS")),
        },
    };
    let partial = parts.next().unwrap_or_default().to_owned();
    Ok(Step::Fail {
        kind,
        retry,
        partial,
    })
}

/// Takes an option off the front, if it is there.
fn option<'a>(name: &str, rest: &'a str) -> (Option<String>, &'a str) {
    let Some(found) = rest.strip_prefix(name) else {
        return (None, rest);
    };
    let (value, rest) = found.split_once(' ').unwrap_or((found, ""));
    (Some(value.to_owned()), rest)
}

fn number<T: FromStr>(text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}
