//! Programs of a simulated session: what a script has them say.

use std::fmt;
use std::sync::Arc;

use windlass_core::{
    CallItem, EffectKey, Input, Item, LaterPrograms, Observation, ObservationStatus, PROGRAM_TOOL,
    ProgramEnd, ProgramEvent, ProgramFault, ProgramLimits, ProgramMode, ProgramOutcome,
    ProgramTransport, RetainedChange, Session,
};
use windlass_ports::arguments_sha256;

use super::driver::World;
use super::happen::pick;
use super::words::{long, short};
use crate::laws::Held;

/// What a program says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramWord {
    /// It makes these calls at once: tools and arguments.
    Calls(Vec<(String, String)>),
    /// It ends.
    Ends {
        /// How.
        end: ProgramEndWord,
        /// Why what it returns does not fit the contract.
        fault: Option<String>,
        /// Memory that it leaves for the programs after it, whole, as earlier versions recorded it.
        keeps: Option<String>,
        /// Definitions that it changes.
        retains: Vec<RetainedChange>,
        /// With which value, as JSON text, or in which words.
        value: String,
    },
}

/// How a program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEndWord {
    /// With a value.
    Value,
    /// It returns.
    Return,
    /// It gives up.
    Fail,
    /// It does not run to an end.
    Fault,
}

impl ProgramEndWord {
    /// All of them, as scripts spell them.
    pub const ALL: [(&'static str, Self); 4] = [
        ("value", Self::Value),
        ("return", Self::Return),
        ("fail", Self::Fail),
        ("fault", Self::Fault),
    ];
}

impl fmt::Display for ProgramWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(calls) => {
                f.write_str("calls")?;
                for (at, (tool, arguments)) in calls.iter().enumerate() {
                    let and = if at > 0 { " &" } else { "" };
                    write!(f, "{and} {tool} {arguments}")?;
                }
                Ok(())
            }
            Self::Ends { end, fault, keeps, retains, value } => {
                let all = ProgramEndWord::ALL.iter();
                let name = all.clone().find(|(_, one)| one == end);
                f.write_str(name.map_or("", |(name, _)| name))?;
                if let Some(fault) = fault {
                    write!(f, " fault={fault}")?;
                }
                if let Some(keeps) = keeps {
                    write!(f, " keeps={keeps}")?;
                }
                if !retains.is_empty() {
                    write!(f, " retains={}", changes(retains))?;
                }
                write!(f, " {}", short(value))
            }
        }
    }
}

/// Reads what a program says.
pub(super) fn read(text: &str) -> Result<ProgramWord, String> {
    let (verb, mut rest) = text.split_once(' ').unwrap_or((text, ""));
    if verb == "calls" {
        let one = |call: &str| {
            let (tool, arguments) = call.trim().split_once(' ').unwrap_or((call.trim(), "{}"));
            (tool.to_owned(), arguments.to_owned())
        };
        return Ok(ProgramWord::Calls(rest.split(" & ").map(one).collect()));
    }
    let mut all = ProgramEndWord::ALL.iter();
    let end = all.find(|(name, _)| *name == verb).map(|(_, end)| *end);
    let end = end.ok_or_else(|| format!("{verb} is not calls, value, return, fail or fault"))?;
    let mut option = |name: &str| {
        let found = rest.strip_prefix(name)?;
        let (value, more) = found.split_once(' ').unwrap_or((found, ""));
        rest = more;
        Some(value.to_owned())
    };
    let (fault, keeps) = (option("fault="), option("keeps="));
    let retains = option("retains=").map(|text| read_changes(&text)).unwrap_or_default();
    Ok(ProgramWord::Ends { end, fault, keeps, retains, value: long(rest) })
}

/// Writes changes of definitions: `a:1,-b`.
pub(super) fn changes(changes: &[RetainedChange]) -> String {
    let change = |change: &RetainedChange| match &change.value {
        Some(value) => format!("{}:{value}", change.name),
        None => format!("-{}", change.name),
    };
    changes.iter().map(change).collect::<Vec<_>>().join(",")
}

fn read_changes(text: &str) -> Vec<RetainedChange> {
    let change = |change: &str| match (change.strip_prefix('-'), change.split_once(':')) {
        (None, Some((name, value))) => RetainedChange::set(name, value),
        (removed, _) => RetainedChange { name: removed.unwrap_or(change).into(), value: None },
    };
    text.split(',').map(change).collect()
}

/// The mode of a session whose programs may make so many calls, and be corrected so often.
pub(super) fn mode(calls: u32, corrections: u32) -> ProgramMode {
    ProgramMode {
        runtime: String::from("simulated"),
        transport: ProgramTransport::Call,
        limits: ProgramLimits { calls, ..ProgramLimits::default() },
        data: None,
        corrections,
    }
}

/// Returns true if an effect is a step of a program.
#[must_use]
pub fn is_program(session: &Session, key: EffectKey) -> bool {
    let EffectKey::Call { call, .. } = key else {
        return false;
    };
    let turn = session.turn();
    let mut calls = turn.into_iter().flat_map(|turn| turn.calls());
    calls.any(|one| one.id == call && one.is_program())
}

/// A program that stood in the text of an answer.
pub(super) fn spoken(source: &str) -> Item {
    Item::Call(Arc::new(CallItem {
        provider_id: String::new(),
        name: PROGRAM_TOOL.to_owned(),
        arguments: source.to_owned(),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: Some(arguments_sha256(source)),
        opaque: None,
        inline: true,
    }))
}

/// How a program ends that comes to this.
#[must_use]
pub fn ended(
    end: ProgramEnd,
    fault: Option<String>,
    memory: Option<&str>,
    retained: Vec<RetainedChange>,
) -> ProgramEvent {
    let status = match (end.retains_definitions(), &fault) {
        (true, None) => ObservationStatus::Done,
        (true, Some(_)) | (false, _) => ObservationStatus::Failed,
    };
    let outcome = ProgramOutcome {
        end,
        prints: Vec::new(),
        memory: memory.map(Arc::from),
        retained,
        defined: Vec::new(),
        repairs: Vec::new(),
        steps: 1,
    };
    let later = LaterPrograms::default();
    let told =
        windlass_core::feedback(&outcome, fault.as_deref(), None, &[], &later, &crate::settings());
    ProgramEvent::Ended {
        outcome: Box::new(outcome),
        fault,
        observation: Observation::new(status, told),
    }
}

impl World {
    /// Of the programs that are to go on, this one says so.
    pub(super) fn program(&mut self, nth: usize, word: &ProgramWord) -> Held {
        let session = self.session();
        let keys = self.machine.running().keys().copied();
        let keys: Vec<EffectKey> = keys.filter(|key| is_program(session, *key)).collect();
        let Some(key) = pick(&keys, nth) else {
            return Ok(());
        };
        let news = match word {
            ProgramWord::Calls(calls) => {
                let item = |(tool, arguments): &(String, String)| CallItem {
                    provider_id: String::new(),
                    name: tool.clone(),
                    arguments: arguments.clone(),
                    fault: None,
                    rules: self.rules(tool, arguments),
                    possible_rules: Vec::new(),
                    outside_sandbox: false,
                    sha256: Some(arguments_sha256(arguments)),
                    opaque: None,
                    inline: false,
                };
                ProgramEvent::Calls(calls.iter().map(item).collect())
            }
            ProgramWord::Ends { end, fault, keeps, retains, value } => {
                let value: Arc<str> = value.as_str().into();
                let end = match end {
                    ProgramEndWord::Value => ProgramEnd::Value { value },
                    ProgramEndWord::Return => ProgramEnd::Return { value },
                    ProgramEndWord::Fail => ProgramEnd::Fail { value },
                    ProgramEndWord::Fault => {
                        ProgramEnd::Fault(ProgramFault::new("simulated", &*value))
                    }
                };
                let turn = session.turn();
                let last = turn.is_some_and(|turn| turn.must_return(turn.executing_kind()));
                let end = if last { end.as_returned() } else { end };
                let missing = end.missing_result().filter(|_| last);
                ended(end, missing.or_else(|| fault.clone()), keeps.as_deref(), retains.clone())
            }
        };
        self.take(Input::ProgramEvent { key, event: news })
    }
}
