//! Scripts: what happens in a simulated world, step by step, as data and as text.

use std::fmt;

use windlass_core::{FailureKind, Interrupter, Limits, ObservationStatus, Retry, StopReason};

use super::posture::{Posture, spell_limits};
use super::words::spell;

/// What happens in a simulated world.
///
/// A script is text too, one step a line; what [`fmt::Display`] writes, [`str::parse`] reads. A
/// failing property prints its smallest script in this form.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// How the world begins.
    pub opening: Opening,
    /// What happens then.
    pub steps: Vec<Step>,
}

/// How a simulated world begins: `open [lazy] [seed=N] [mode=..] [LIMIT=N] [ceiling.LIMIT=N]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The settings of the session.
    pub posture: Posture,
    /// What the process allows at most.
    pub ceiling: Limits,
    /// Where the entropy of its inputs comes from; with 0 it is always 0.
    pub seed: u64,
    /// When facts become durable.
    pub durability: Durability,
}

/// When the facts of a simulated log become durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// After each step.
    Prompt,
    /// Only when the script says so.
    Lazy,
}

/// One thing that happens. A step that has no meaning where the world stands does nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `send [key=K] [dry] TEXT`: a user says something.
    Send {
        /// The user's own key.
        key: Option<String>,
        /// Whether the turn is a dry run.
        dry_run: bool,
        /// What is said.
        text: String,
    },
    /// `continue`: a user asks to go on.
    Continue,
    /// `interrupt WHO`: somebody asks the turn to stop.
    Interrupt(Interrupter),
    /// `configure [mode=..] [permissions=..] [LIMIT=N]`: a user changes the settings.
    Configure(Posture),
    /// `wait MS`: time passes, and a tick comes.
    Wait(u64),
    /// `back MS`: the clock jumps back.
    Back(u64),
    /// `text TEXT`: the sample that runs brings a text.
    Text(String),
    /// `refusal TEXT`: it brings a refusal.
    Refusal(String),
    /// `reasoning TEXT`: it brings reasoning.
    Reasoning(String),
    /// `call TOOL [id=ID] [fault=WORD] [ARGUMENTS]`: it brings a call.
    Call {
        /// The tool's name.
        tool: String,
        /// The provider's id of the call.
        id: String,
        /// Why its arguments cannot be used.
        fault: Option<String>,
        /// Its arguments.
        arguments: String,
    },
    /// `end REASON [tokens=N]`: it ends.
    End {
        /// Why it ends.
        stop: StopReason,
        /// What it cost, where the provider says so.
        tokens: Option<u64>,
    },
    /// `fail KIND RETRY [PARTIAL]`: it fails.
    Fail {
        /// How.
        kind: FailureKind,
        /// Whether to ask again.
        retry: Retry,
        /// Text that had streamed.
        partial: String,
    },
    /// `STATUS N [OUTPUT]`, for example `done 0 ok`: of the calls that run, this one ends.
    Finish {
        /// How it ends.
        status: ObservationStatus,
        /// Which one, counted from 0 and around.
        nth: usize,
        /// What it says.
        output: String,
    },
    /// `late N`: a run that has ended answers again.
    Late(usize),
    /// `never N`: of the effects that are owed and have not begun, this one never will.
    Never(usize),
    /// `sync`: all facts become durable.
    Sync,
    /// `crash [lose=N] [away=MS]`: the process dies, up to this many facts that are not durable
    /// are lost, and some time later a new process takes over.
    Crash {
        /// How many facts are lost.
        lose: usize,
        /// Until a new process takes over.
        away_ms: u64,
    },
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            posture: Posture::default(),
            ceiling: Limits::default(),
            seed: 0,
            durability: Durability::Prompt,
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.opening != Opening::default() {
            writeln!(f, "{}", self.opening)?;
        }
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("open")?;
        match self.durability {
            Durability::Prompt => {}
            Durability::Lazy => f.write_str(" lazy")?,
        }
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
            Self::Send { key, dry_run, text } => {
                f.write_str("send")?;
                if let Some(key) = key {
                    write!(f, " key={key}")?;
                }
                if *dry_run {
                    f.write_str(" dry")?;
                }
                write!(f, " {text}")
            }
            Self::Continue => f.write_str("continue"),
            Self::Interrupt(by) => write!(f, "interrupt {}", spell(by)),
            Self::Configure(posture) => write!(f, "configure{posture}"),
            Self::Wait(ms) => write!(f, "wait {ms}"),
            Self::Back(ms) => write!(f, "back {ms}"),
            Self::Text(text) => write!(f, "text {text}"),
            Self::Refusal(text) => write!(f, "refusal {text}"),
            Self::Reasoning(text) => write!(f, "reasoning {text}"),
            Self::Call {
                tool,
                id,
                fault,
                arguments,
            } => {
                write!(f, "call {tool}")?;
                if !id.is_empty() {
                    write!(f, " id={id}")?;
                }
                if let Some(fault) = fault {
                    write!(f, " fault={fault}")?;
                }
                write!(f, " {arguments}")
            }
            Self::End { stop, tokens } => {
                match stop {
                    StopReason::Other(words) => write!(f, "end other={words}")?,
                    StopReason::Stop
                    | StopReason::Length
                    | StopReason::ContentFilter
                    | StopReason::Unfinished => write!(f, "end {}", spell(stop))?,
                }
                tokens.map_or(Ok(()), |tokens| write!(f, " tokens={tokens}"))
            }
            Self::Fail {
                kind,
                retry,
                partial,
            } => {
                write!(f, "fail {} ", spell(kind))?;
                match retry {
                    Retry::Never => f.write_str("never")?,
                    Retry::Soon => f.write_str("soon")?,
                    Retry::AfterMs(ms) => write!(f, "after={ms}")?,
                }
                spaced(partial, f)
            }
            Self::Finish {
                status,
                nth,
                output,
            } => {
                write!(f, "{} {nth}", spell(status))?;
                spaced(output, f)
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

fn spaced(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if text.is_empty() {
        return Ok(());
    }
    write!(f, " {text}")
}
