//! Programs: code that a model writes instead of single calls, and its outcome.
//!
//! A program is a call of [`PROGRAM_TOOL`]: its source is the call's argument, or is inline in the
//! answer's text. The calls that it makes are ordinary calls of the turn. Nothing here depends on a
//! language.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::settings::{Concurrency, EffectClass, Settings, ToolSpec};

mod call_report;
mod effects;
mod feedback;
mod frame;

pub use call_report::{CallOutcome, CallReport, ReportedCall, ReportedCalls};
pub(crate) use call_report::{call_line, leave_out};
pub use effects::ProgramEffects;
pub use feedback::{ProgramCallRecord, ReportLimits, feedback};

/// Name of the tool by which a model submits a program. No executor runs it.
pub const PROGRAM_TOOL: &str = "run_program";

/// Program mode: the model writes programs. The tools of the settings then are functions of the
/// programs, and are not offered to the model as tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramMode {
    /// Name of the runtime, as its adapter registers it, for example `ptclisp`.
    pub runtime: String,
    /// Transport of programs.
    #[serde(default)]
    pub transport: ProgramTransport,
    /// Limits of one program.
    #[serde(default)]
    pub limits: ProgramLimits,
    /// Inputs of programs, as JSON text of an object, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Arc<str>>,
}

/// Transport of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramTransport {
    /// By a call of [`PROGRAM_TOOL`], the only tool offered.
    #[default]
    Call,
    /// In the text of the answer, from which the runtime extracts it. No tool is offered.
    Text,
}

impl Settings {
    /// Returns the settings for a request, with the tools that it offers. In program mode they offer
    /// the program tool or no tool. The output schema then applies to the program's return value, so
    /// the request omits it.
    #[must_use]
    pub fn for_request(self: &Arc<Self>) -> Arc<Self> {
        let Some(program) = &self.options.program else {
            if self.offered_tools().count() == self.tools.len() {
                return self.clone();
            }
            let mut asked = Self::clone(self);
            asked.tools = self.offered_tools().cloned().collect();
            return Arc::new(asked);
        };
        let mut asked = Self::clone(self);
        asked.tools = match program.transport {
            ProgramTransport::Call => alloc::vec![program_tool(&program.runtime)],
            ProgramTransport::Text => Vec::new(),
        };
        asked.options.output_schema = None;
        Arc::new(asked)
    }
}

impl Settings {
    /// Returns the number of samples for work in a turn of programs with these limits; the last one
    /// calls no tools. The samples for re-asks are reserved.
    #[must_use]
    pub fn work_samples(&self, limits: &Limits) -> u32 {
        let answer = self.options.output_schema.as_ref();
        let retries = answer.map_or(0, |answer| answer.max_re_asks);
        limits.samples.saturating_sub(retries).max(1)
    }
}

/// Returns the tool by which a model submits a program.
#[must_use]
pub fn program_tool(runtime: &str) -> ToolSpec {
    ToolSpec {
        name: String::from(PROGRAM_TOOL),
        description: alloc::format!(
            "Runs a program in {runtime}, as the instructions describe it, and answers with what it \
             comes to."
        ),
        parameters: String::from(
            r#"{"type":"object","properties":{"source":{"type":"string","description":"The program."}},"required":["source"],"additionalProperties":false}"#,
        ),
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Exclusive,
        timeout_ms: None,
        reconciles: false,
        agent: None,
    }
}

/// Limits of one program. Exceeding one ends it with a fault of its own class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramLimits {
    /// Steps, as its runtime counts them. The same program with the same answers always takes the
    /// same number.
    pub steps: u64,
    /// Bytes that it may allocate.
    pub memory_bytes: u64,
    /// Deepest nesting of its own calls.
    pub depth: u32,
    /// Iterations of one loop; 0 means that only the steps limit it.
    pub loop_rounds: u32,
    /// Most calls of tools.
    pub calls: u32,
    /// Bytes of its source.
    pub source_bytes: u64,
    /// Bytes that it may print.
    pub print_bytes: u64,
    /// Bytes of its result, as JSON text.
    pub value_bytes: u64,
    /// Bytes of the memory that lasts from one program to the next, in its runtime's format.
    pub retained_bytes: u64,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            steps: 10_000_000,
            memory_bytes: 128 << 20,
            depth: 2_000,
            loop_rounds: 0,
            calls: 1_000,
            source_bytes: 64 << 10,
            print_bytes: 64 << 10,
            value_bytes: 128 << 10,
            retained_bytes: 128 << 10,
        }
    }
}

impl ProgramLimits {
    /// Returns the tighter of two sets, limit by limit. For loop iterations, 0 means no limit and
    /// is the widest.
    #[must_use]
    pub fn within(&self, ceiling: &Self) -> Self {
        let rounds = match (self.loop_rounds, ceiling.loop_rounds) {
            (0, other) | (other, 0) => other,
            (one, other) => one.min(other),
        };
        Self {
            steps: self.steps.min(ceiling.steps),
            memory_bytes: self.memory_bytes.min(ceiling.memory_bytes),
            depth: self.depth.min(ceiling.depth),
            loop_rounds: rounds,
            calls: self.calls.min(ceiling.calls),
            source_bytes: self.source_bytes.min(ceiling.source_bytes),
            print_bytes: self.print_bytes.min(ceiling.print_bytes),
            value_bytes: self.value_bytes.min(ceiling.value_bytes),
            retained_bytes: self.retained_bytes.min(ceiling.retained_bytes),
        }
    }
}

/// Purpose of a sample in program mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleKind {
    /// Work: its program may call tools.
    #[default]
    Normal,
    /// The last one for work: its program cannot call tools, and its result is the turn's result.
    MustReturn,
    /// The last program's return value was invalid, and the model must return another one. Uses a
    /// reserved budget. Its program can call tools while samples for work are left.
    ReAsk,
}

impl SampleKind {
    /// Returns true for `Normal`.
    #[must_use]
    pub fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

/// Outcome of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramOutcome {
    /// End of the program.
    pub end: ProgramEnd,
    /// Lines that it printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prints: Vec<String>,
    /// Memory for later programs, in its runtime's format; `None` if it is unchanged. Only a
    /// program that did not fail has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Arc<str>>,
    /// Names that it defined, if its definitions last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defined: Vec<String>,
    /// Repairs made to its source, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
    /// Steps that it took.
    pub steps: u64,
}

/// End of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum ProgramEnd {
    /// The program ended with the value of its last form: the model sees it and continues.
    Value {
        /// Value as JSON text.
        value: Arc<str>,
    },
    /// The program returned: this is the turn's result.
    Return {
        /// Value as JSON text.
        value: Arc<str>,
    },
    /// The program reported failure: the turn fails.
    Fail {
        /// Reason as JSON text.
        value: Arc<str>,
    },
    /// The program did not run to its end.
    Fault(ProgramFault),
}

impl ProgramEnd {
    /// Returns the end in a sample of this kind: a value in the last sample for work counts as
    /// returned.
    #[must_use]
    pub fn within(self, kind: SampleKind) -> Self {
        match (self, kind) {
            (Self::Value { value }, SampleKind::MustReturn) => Self::Return { value },
            (end, SampleKind::Normal | SampleKind::MustReturn | SampleKind::ReAsk) => end,
        }
    }

    /// Returns the returned value, if there is one.
    #[must_use]
    pub fn returned(&self) -> Option<&Arc<str>> {
        match self {
            Self::Return { value } => Some(value),
            Self::Value { .. } | Self::Fail { .. } | Self::Fault(_) => None,
        }
    }

    /// Returns true if its definitions last: it did not fail.
    #[must_use]
    pub fn retains_definitions(&self) -> bool {
        match self {
            Self::Value { .. } | Self::Return { .. } => true,
            Self::Fail { .. } | Self::Fault(_) => false,
        }
    }
}

/// Reason why a program did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramFault {
    /// Class of the fault, for example `parse_error`.
    pub class: String,
    /// Description of the fault.
    pub message: String,
    /// Line, from 1, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Character in the line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Advice on the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ProgramFault {
    /// Class of a replay that did not make the recorded calls.
    pub const DIVERGED: &'static str = "replay_diverged";
    /// Class of a program whose runtime was cancelled.
    pub const STOPPED: &'static str = "stopped";

    /// Returns a fault without a position.
    #[must_use]
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        Self {
            class: String::from(class),
            message: message.into(),
            line: None,
            column: None,
            hint: None,
        }
    }
}

impl core::fmt::Display for ProgramFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.class, self.message)?;
        if let Some(line) = self.line {
            write!(f, " at line {line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, ". {hint}"),
            None => Ok(()),
        }
    }
}
