//! Reading scripts.

use std::str::FromStr;

use windlass_core::{
    BudgetUsage, Delivery, Goal, ObservationStatus, Retry, StopReason, StopTiming, Widening,
};

use super::posture::{Posture, set_limit};
use super::programs;
use super::script::{Compacted, Cost, Durability, Kin, Opening, Script, Step, Word};
use super::words::{long, word};

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
            match split(line) {
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
            None if part == "child" => opening.kin = Kin::Child,
            Some(("seed", seed)) => opening.seed = number(seed)?,
            Some(("workspace", folder)) => opening.workspace = Some(folder.to_owned()),
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
        "send" => send(Delivery::Turn, rest)?,
        "steer" => send(Delivery::Steer, rest)?,
        "followup" => send(Delivery::FollowUp, rest)?,
        "goal" => goal(rest)?,
        "continue" => Step::Continue,
        "compact" => Step::Compact(rest.to_owned()),
        "command" => {
            let (tool, arguments) = split(rest);
            Step::Command { tool: tool.to_owned(), arguments: arguments.to_owned() }
        }
        "edit" => {
            let (nth, text) = split(rest);
            Step::Edit { nth: number(nth)?, text: long(text) }
        }
        "move" => {
            let (nth, rest) = split(rest);
            let (before, _) = option("before=", rest);
            let before = before.map(|before| number(&before)).transpose()?;
            Step::Move { nth: number(nth)?, before }
        }
        "withdraw" => Step::Withdraw(number(rest)?),
        "rename" => Step::Rename(rest.to_owned()),
        "rewind" => Step::Rewind(number(rest)?),
        "restored" => {
            let (of, path) = split(rest);
            Step::Restored { of: number(of)?, path: path.to_owned() }
        }
        "ceiling" => {
            let mut posture = Posture::default();
            for part in rest.split_whitespace() {
                let (name, value) =
                    part.split_once('=').ok_or_else(|| format!("{part} is not NAME=VALUE"))?;
                posture.set(name, value)?;
            }
            Step::Ceiling(Box::new(posture))
        }
        "interrupt" => {
            let (by, rest) = split(rest);
            let (when, rest) = match split(rest) {
                ("after", rest) => (StopTiming::AfterStep, rest),
                (_, _) => (StopTiming::Now, rest),
            };
            let (turn, _) = option("turn=", rest);
            let turn = turn.map(|turn| number(&turn)).transpose()?;
            Step::Interrupt { by: word(by)?, when, turn }
        }
        "configure" => configure(rest)?,
        "keyed" => {
            let (key, said) = split(rest);
            let (verb, rest) = split(said);
            let step = step(verb, rest)?;
            if !step.is_said() {
                return Err(format!("nobody says {said}, so it has no key"));
            }
            Step::Keyed { key: key.to_owned(), step: Box::new(step) }
        }
        "close" => Step::Close,
        "wait" => Step::Wait(number(rest)?),
        "back" => Step::Back(number(rest)?),
        "text" => Step::Text(long(rest)),
        "refusal" => Step::Refusal(long(rest)),
        "reasoning" => Step::Reasoning(long(rest)),
        "call" => call(rest),
        "end" => end(rest)?,
        "fail" => fail(rest)?,
        "yielded" => Step::Yielded(long(rest)),
        "spoken" => Step::Spoken(rest.to_owned()),
        "program" => {
            let (nth, rest) = split(rest);
            Step::Program { nth: number(nth)?, word: programs::read(rest)? }
        }
        "hook" => hook(rest)?,
        "answer" => {
            let (nth, rest) = split(rest);
            let (about, rest) = option("about=", rest);
            Step::Answer { nth: number(nth)?, about, word: said(rest)? }
        }
        "asked" => {
            let (nth, rest) = split(rest);
            Step::Asked {
                nth: number(nth)?,
                word: match rest {
                    "nobody" => None,
                    rest => Some(said(rest)?),
                },
            }
        }
        "reconciled" => {
            let (nth, rest) = split(rest);
            let (status, output) = split(rest);
            Step::Reconciled {
                nth: number(nth)?,
                status: match status {
                    "none" => None,
                    status => Some(word(status)?),
                },
                output: long(output),
            }
        }
        "submit" => {
            let (nth, rest) = split(rest);
            let (status, output) = split(rest);
            Step::Submit { nth: number(nth)?, status: word(status)?, output: long(output) }
        }
        "compacted" => Step::Compacted(match rest {
            "idle" => Compacted::Idle,
            "fail" => Compacted::Fails,
            summary => match summary.strip_prefix("after ").map(split) {
                Some((requests, summary)) => {
                    Compacted::After(number(requests)?, summary.to_owned())
                }
                None => Compacted::Sketched(summary.to_owned()),
            },
        }),
        "suspend" => {
            let (nth, words) = split(rest);
            let mut words = words.split_whitespace().peekable();
            let asks = words.next_if_eq(&"asks").is_some();
            let repeatable = words.next_if_eq(&"repeatable").is_some();
            match words.next() {
                None => Step::Suspend { nth: number(nth)?, asks, repeatable },
                Some(word) => return Err(format!("{word} is nothing that a suspension has")),
            }
        }
        "detach" => {
            let (nth, output) = split(rest);
            Step::Detach { nth: number(nth)?, output: long(output) }
        }
        "ended" => {
            let (nth, text) = split(rest);
            Step::ChildEnded { nth: number(nth)?, text: long(text) }
        }
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
            let (nth, rest) = split(rest);
            let (took, output) = option("took=", rest);
            Step::Finish {
                status,
                nth: number(nth)?,
                took: took.map(|took| read_took(&took)).transpose()?,
                output: long(output),
            }
        }
    })
}

fn read_took(text: &str) -> Result<BudgetUsage, String> {
    let mut parts = text.splitn(3, '/');
    let mut next = || parts.next().map_or(Ok(0), number::<u64>);
    let (samples, tokens, cost_micros) = (next()?, next()?, next()?);
    Ok(BudgetUsage {
        samples: u32::try_from(samples).map_err(|error| format!("{text}: {error}"))?,
        tokens,
        cost_micros,
    })
}

fn send(delivery: Delivery, rest: &str) -> Result<Step, String> {
    let (turn, rest) = option("turn=", rest);
    let (key, rest) = option("key=", rest);
    let (dry_run, mut rest) = match split(rest) {
        ("dry", text) => (true, text),
        (_, _) => (false, rest),
    };
    let mut context = Vec::new();
    while let (Some(part), more) = option("ctx=", rest) {
        let parts = part.split_once(':');
        let (from, text) = parts.ok_or_else(|| format!("{part} is not NAME:WORD"))?;
        context.push((from.to_owned(), text.to_owned()));
        rest = more;
    }
    let (images, rest) = option("images=", rest);
    Ok(Step::Send {
        delivery,
        turn: turn.map(|turn| number(&turn)).transpose()?,
        key,
        dry_run,
        context,
        images: images.map_or(Ok(0), |images| number(&images))?,
        text: long(rest),
    })
}

fn goal(rest: &str) -> Result<Step, String> {
    if rest == "none" {
        return Ok(Step::Goal(None));
    }
    let (turns, text) = option("turns=", rest);
    let turns = turns.ok_or_else(|| String::from("a goal has turns=N"))?;
    Ok(Step::Goal(Some(Goal { text: text.into(), turns: number(&turns)? })))
}

fn configure(rest: &str) -> Result<Step, String> {
    let (widening, rest) = match split(rest) {
        ("meant", rest) => (Widening::Allowed, rest),
        (_, _) => (Widening::Forbidden, rest),
    };
    let mut posture = Posture::default();
    for part in rest.split_whitespace() {
        let pair = part.split_once('=');
        let (name, value) = pair.ok_or_else(|| format!("{part} is not NAME=VALUE"))?;
        posture.set(name, value)?;
    }
    Ok(Step::Configure { posture, widening })
}

fn call(rest: &str) -> Step {
    let (tool, rest) = split(rest);
    let (id, rest) = option("id=", rest);
    let (fault, arguments) = option("fault=", rest);
    Step::Call {
        tool: tool.to_owned(),
        id: id.unwrap_or_default(),
        fault,
        arguments: match arguments {
            "" => String::from("{}"),
            arguments => arguments.to_owned(),
        },
    }
}

fn end(rest: &str) -> Result<Step, String> {
    let (reason, rest) = split(rest);
    let stop = match reason.strip_prefix("other=") {
        Some(words) => StopReason::Other(words.to_owned()),
        None => word(reason)?,
    };
    let (cost, rest) = cost(rest)?;
    let (fault, _) = option("fault=", rest);
    Ok(Step::End { stop, cost, fault })
}

fn fail(rest: &str) -> Result<Step, String> {
    let (kind, rest) = split(rest);
    let (retry, rest) = split(rest);
    let retry = match retry {
        "never" => Retry::Never,
        "now" => Retry::Now,
        "" | "soon" => Retry::Soon,
        after => match after.strip_prefix("after=") {
            Some(ms) => Retry::AfterMs(number(ms)?),
            None => return Err(format!("{after} is not never, soon or after=MS")),
        },
    };
    let (cost, partial) = cost(rest)?;
    Ok(Step::Fail { kind: word(kind)?, retry, cost, partial: long(partial) })
}

fn cost(rest: &str) -> Result<(Cost, &str), String> {
    let (tokens, rest) = option("tokens=", rest);
    let (out, rest) = option("out=", rest);
    let read = |count: Option<String>| count.map(|count| number(&count)).transpose();
    let cost = Cost { tokens: read(tokens)?, out: read(out)? };
    Ok((cost, rest))
}

fn hook(rest: &str) -> Result<Step, String> {
    let (nth, rest) = split(rest);
    let (verdict, rest) = split(rest);
    let (edit, rest) = option("edit=", rest);
    let (context, reason) = option("context=", rest);
    Ok(Step::Hook {
        nth: number(nth)?,
        verdict: word(verdict)?,
        edit,
        context,
        reason: reason.to_owned(),
    })
}

fn said(rest: &str) -> Result<Word, String> {
    match split(rest) {
        ("allow", rest) => {
            let (edit, _) = option("edit=", rest);
            Ok(Word::Allow { edit })
        }
        ("deny", reason) => Ok(Word::Deny { reason: reason.to_owned() }),
        (other, _) => Err(format!("{other} is not allow or deny")),
    }
}

/// The first word, and the rest.
fn split(rest: &str) -> (&str, &str) {
    rest.split_once(' ').unwrap_or((rest, ""))
}

/// Takes an option off the front, if it is there.
fn option<'a>(name: &str, rest: &'a str) -> (Option<String>, &'a str) {
    let Some(found) = rest.strip_prefix(name) else {
        return (None, rest);
    };
    let (value, rest) = split(found);
    (Some(value.to_owned()), rest)
}

fn number<T: FromStr>(text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}
