//! Scripts as text: what [`super::parse`] reads.

use std::fmt;

use windlass_core::{Delivery, Retry, StopReason, StopTiming, Widening};

use super::posture::spell_limits;
use super::script::{Compacted, Cost, Durability, Kin, Opening, Script, Step, Word};
use super::words::{short, spell};

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.opening != Opening::default() {
            writeln!(f, "{}", self.opening)?;
        }
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("open")?;
        match self.durability {
            Durability::Prompt => {}
            Durability::Lazy => f.write_str(" lazy")?,
        }
        match self.kin {
            Kin::Root => {}
            Kin::Child => f.write_str(" child")?,
        }
        option("workspace", self.workspace.as_ref(), f)?;
        if self.seed != 0 {
            write!(f, " seed={}", self.seed)?;
        }
        self.posture.fmt(f)?;
        spell_limits("ceiling.", &self.ceiling, f)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { delivery, turn, key, dry_run, context, images, text } => {
                f.write_str(match delivery {
                    Delivery::Turn => "send",
                    Delivery::Steer => "steer",
                    Delivery::FollowUp => "followup",
                })?;
                option("turn", turn.as_ref(), f)?;
                option("key", key.as_ref(), f)?;
                if *dry_run {
                    f.write_str(" dry")?;
                }
                for (from, text) in context {
                    write!(f, " ctx={from}:{text}")?;
                }
                if *images > 0 {
                    write!(f, " images={images}")?;
                }
                write!(f, " {}", short(text))
            }
            Self::Goal(None) => f.write_str("goal none"),
            Self::Goal(Some(goal)) => write!(f, "goal turns={} {}", goal.turns, goal.text),
            Self::Continue => f.write_str("continue"),
            Self::Compact(focus) => {
                f.write_str("compact")?;
                spaced(focus, f)
            }
            Self::Command { tool, arguments } => write!(f, "command {tool} {arguments}"),
            Self::Edit { nth, text } => write!(f, "edit {nth} {}", short(text)),
            Self::Move { nth, before } => {
                write!(f, "move {nth}")?;
                option("before", before.as_ref(), f)
            }
            Self::Withdraw(nth) => write!(f, "withdraw {nth}"),
            Self::Rename(title) => write!(f, "{}", format!("rename {title}").trim_end()),
            Self::Rewind(to) => write!(f, "rewind {to}"),
            Self::Restored { of, path } => write!(f, "restored {of} {path}"),
            Self::Ceiling(posture) => write!(f, "ceiling{posture}"),
            Self::Interrupt { by, when, turn } => {
                let when = match when {
                    StopTiming::Now => "",
                    StopTiming::AfterStep => " after",
                };
                write!(f, "interrupt {}{when}", spell(by))?;
                option("turn", turn.as_ref(), f)
            }
            Self::Configure { posture, widening } => {
                let meant = match widening {
                    Widening::Forbidden => "",
                    Widening::Allowed => " meant",
                };
                write!(f, "configure{meant}{posture}")
            }
            Self::Keyed { key, step } => write!(f, "keyed {key} {step}"),
            Self::Close => f.write_str("close"),
            Self::Wait(ms) => write!(f, "wait {ms}"),
            Self::Back(ms) => write!(f, "back {ms}"),
            Self::Text(text) => write!(f, "text {}", short(text)),
            Self::Refusal(text) => write!(f, "refusal {}", short(text)),
            Self::Reasoning(text) => write!(f, "reasoning {}", short(text)),
            Self::Call { tool, id, fault, arguments } => {
                write!(f, "call {tool}")?;
                if !id.is_empty() {
                    write!(f, " id={id}")?;
                }
                option("fault", fault.as_ref(), f)?;
                write!(f, " {arguments}")
            }
            Self::End { stop, cost, fault } => {
                match stop {
                    StopReason::Other(words) => write!(f, "end other={words}")?,
                    StopReason::Stop
                    | StopReason::Length
                    | StopReason::ContentFilter
                    | StopReason::Unfinished => write!(f, "end {}", spell(stop))?,
                }
                cost.fmt(f)?;
                option("fault", fault.as_ref(), f)
            }
            Self::Fail { kind, retry, cost, partial } => {
                write!(f, "fail {} ", spell(kind))?;
                match retry {
                    Retry::Never => f.write_str("never")?,
                    Retry::Now => f.write_str("now")?,
                    Retry::Soon => f.write_str("soon")?,
                    Retry::AfterMs(ms) => write!(f, "after={ms}")?,
                }
                cost.fmt(f)?;
                spaced(partial, f)
            }
            Self::Yielded(partial) => {
                f.write_str("yielded")?;
                spaced(partial, f)
            }
            Self::Finish { status, nth, took, output } => {
                write!(f, "{} {nth}", spell(status))?;
                if let Some(took) = took {
                    let (tokens, money) = (took.tokens, took.cost_micros);
                    write!(f, " took={}/{tokens}/{money}", took.samples)?;
                }
                spaced(output, f)
            }
            Self::Suspend { nth, asks, repeatable } => {
                write!(f, "suspend {nth}")?;
                f.write_str(if *asks { " asks" } else { "" })?;
                f.write_str(if *repeatable { " repeatable" } else { "" })
            }
            Self::Detach { nth, output } => {
                write!(f, "detach {nth}")?;
                spaced(output, f)
            }
            Self::ChildEnded { nth, text } => {
                write!(f, "ended {nth}")?;
                spaced(text, f)
            }
            Self::Spoken(source) => write!(f, "spoken {source}"),
            Self::Program { nth, word } => write!(f, "program {nth} {word}"),
            Self::Hook { nth, verdict, edit, context, reason } => {
                write!(f, "hook {nth} {}", spell(verdict))?;
                option("edit", edit.as_ref(), f)?;
                option("context", context.as_ref(), f)?;
                spaced(reason, f)
            }
            Self::Answer { nth, about, word } => {
                write!(f, "answer {nth}")?;
                option("about", about.as_ref(), f)?;
                word.fmt(f)
            }
            Self::Asked { nth, word } => {
                write!(f, "asked {nth}")?;
                match word {
                    Some(word) => word.fmt(f),
                    None => f.write_str(" nobody"),
                }
            }
            Self::Reconciled { nth, status, output } => {
                let status = status.as_ref().map(spell);
                let status = status.unwrap_or_else(|| String::from("none"));
                write!(f, "reconciled {nth} {status}")?;
                spaced(output, f)
            }
            Self::Submit { nth, status, output } => {
                write!(f, "submit {nth} {}", spell(status))?;
                spaced(output, f)
            }
            Self::Compacted(compacted) => {
                f.write_str("compacted")?;
                match compacted {
                    Compacted::Sketched(summary) => spaced(summary, f),
                    Compacted::After(requests, summary) => {
                        write!(f, " after {requests}")?;
                        spaced(summary, f)
                    }
                    Compacted::Idle => f.write_str(" idle"),
                    Compacted::Fails => f.write_str(" fail"),
                }
            }
            Self::Late(nth) => write!(f, "late {nth}"),
            Self::Never(nth) => write!(f, "never {nth}"),
            Self::Sync => f.write_str("sync"),
            Self::Crash { lose, away_ms } => {
                f.write_str("crash")?;
                if *lose > 0 {
                    write!(f, " lose={lose}")?;
                }
                if *away_ms > 0 {
                    write!(f, " away={away_ms}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        option("tokens", self.tokens, f)?;
        option("out", self.out, f)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow { edit } => {
                f.write_str(" allow")?;
                option("edit", edit.as_ref(), f)
            }
            Self::Deny { reason } => {
                f.write_str(" deny")?;
                spaced(reason, f)
            }
        }
    }
}

fn option(name: &str, value: Option<impl fmt::Display>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(f, " {name}={value}"))
}

fn spaced(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if text.is_empty() {
        return Ok(());
    }
    write!(f, " {}", short(text))
}
