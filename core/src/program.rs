//! Programs: code that a model writes instead of single calls, and its outcome.
//!
//! A program is a call of [`PROGRAM_TOOL`]: its source is the call's argument, or is inline in the
//! answer's text. The calls that it makes are ordinary calls of the turn. Nothing here depends on a
//! language.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::session::is_zero;
use crate::settings::{Concurrency, EffectClass, Settings, ToolSpec};

mod call_report;
mod effects;
mod end;
mod failure;
mod feedback;
mod frame;
mod later;
mod made;
mod retained;
mod seed;

pub use call_report::{CallOutcome, CallReport, ReportedCall, ReportedCalls};
pub(crate) use call_report::{LEAST_CALLS, call_line, leave_out};
pub use effects::ProgramEffects;
pub use end::{ProgramEnd, ProgramFault};
pub use failure::ProgramFailure;
pub use feedback::{ReportLimits, feedback};
pub use later::LaterPrograms;
pub use made::ProgramCallRecord;
pub use retained::{Definition, RetainedChange, RetainedMemory};
pub(crate) use retained::{EarlierValue, before as earlier_values};
pub use seed::program_seed;

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
    /// Most samples in which the model corrects the last program of a turn, if no output schema
    /// says how many. They are reserved, of a small limit of samples at most a quarter.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub corrections: u32,
}

impl ProgramMode {
    /// Usual number of corrections.
    pub const CORRECTIONS: u32 = 2;

    /// Creates the mode for programs of this runtime, with default limits and without inputs.
    #[must_use]
    pub fn new(runtime: impl Into<String>) -> Self {
        Self {
            runtime: runtime.into(),
            transport: ProgramTransport::default(),
            limits: ProgramLimits::default(),
            corrections: Self::CORRECTIONS,
            data: None,
        }
    }
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
    /// Returns the settings for a request, with the tools that it offers; of the deferred tools those
    /// that were found. In program mode they offer the program tool or no tool. The output schema then
    /// applies to the program's return value, so the request omits it.
    #[must_use]
    pub fn for_request(self: &Arc<Self>, found: &BTreeSet<String>) -> Arc<Self> {
        let Some(program) = &self.options.program else {
            if self.tools.iter().all(|tool| self.offers(tool, found)) {
                return self.clone();
            }
            let mut asked = Self::clone(self);
            asked.tools.retain(|tool| self.offers(tool, found));
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
        limits.samples.saturating_sub(self.max_re_asks(limits)).max(1)
    }

    /// Returns the most re-asks of a turn with these limits, for an answer that cannot be used.
    #[must_use]
    pub fn max_re_asks(&self, limits: &Limits) -> u32 {
        match (&self.options.output_schema, &self.options.program) {
            (Some(schema), _) => schema.max_re_asks,
            (None, Some(program)) => program.corrections.min(limits.samples / 4),
            (None, None) => 0,
        }
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
        client: false,
        deferred: false,
        agent: None,
        grammar: None,
    }
}

/// Limits of one program. Exceeding one ends it with a fault of its own class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramLimits {
    /// Steps, as its runtime counts them. The same program with the same answers always takes the
    /// same number.
    pub steps: u64,
    /// Longest computation of one step, in milliseconds: time in which the program waits for its
    /// calls does not count. 0 means [`Limits::call_ms`], which is the longest in any case.
    #[serde(skip_serializing_if = "is_unlimited")]
    pub compute_ms: u64,
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
    /// Bytes of all definitions that last from one program to the next, in its runtime's format.
    pub retained_bytes: u64,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            steps: 10_000_000,
            compute_ms: 0,
            memory_bytes: 128 << 20,
            depth: 2_000,
            loop_rounds: 0,
            calls: 1_000,
            source_bytes: 64 << 10,
            print_bytes: 64 << 10,
            value_bytes: 128 << 10,
            retained_bytes: 2 << 20,
        }
    }
}

impl ProgramLimits {
    /// Returns the tighter of two sets, limit by limit. For loop iterations and the time of a step, 0
    /// means no limit and is the widest.
    #[must_use]
    pub fn within(&self, ceiling: &Self) -> Self {
        let rounds = match (self.loop_rounds, ceiling.loop_rounds) {
            (0, other) | (other, 0) => other,
            (one, other) => one.min(other),
        };
        let compute_ms = match (self.compute_ms, ceiling.compute_ms) {
            (0, other) | (other, 0) => other,
            (one, other) => one.min(other),
        };
        Self {
            steps: self.steps.min(ceiling.steps),
            compute_ms,
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

    /// Returns the time that one step may compute, in milliseconds, where a call may take `call_ms`.
    #[must_use]
    pub fn step_ms(&self, call_ms: u64) -> u64 {
        match self.compute_ms {
            0 => call_ms,
            most => most.min(call_ms),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_unlimited(limit_ms: &u64) -> bool {
    *limit_ms == 0
}

/// Purpose of a sample in program mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleKind {
    /// Work: its program may call tools.
    #[default]
    Normal,
    /// The last one for work: its program cannot call tools, and must return the turn's result.
    MustReturn,
    /// The last program's return value was invalid, or it had none, and the model must return
    /// another one. Uses a reserved budget. Its program can call tools while samples for work are left.
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
    /// Whole memory for later programs, in its runtime's format. Earlier versions recorded it; the
    /// changes replace it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Arc<str>>,
    /// Changes of the memory for later programs. Only a program that did not fail has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retained: Vec<RetainedChange>,
    /// Names that it defined, if its definitions last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defined: Vec<String>,
    /// Repairs made to its source, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
    /// Steps that it took.
    pub steps: u64,
}
