//! The program port: runs programs that a model writes, in a sandbox that can only call tools.

use std::sync::Arc;

use windlass_core::{
    Definition, ProgramEnd, ProgramFailure, ProgramFault, ProgramLimits, RetainedChange,
    RetainedMemory,
};

use crate::cancel::CancelSignal;
use crate::guide::ProgramGuide;

/// Runs programs of one language.
///
/// It only computes: no clock but the time that it is given, no randomness but numbers from the
/// seed that it is given, no file, no network, and no thread that outlives a call. All its methods
/// may take as long as the limits allow, so callers must be allowed to block.
///
/// Laws:
/// - *checked*: `prepare` runs nothing of the program, and rejects one that names an unavailable
///   tool or anything else that is unknown. A name that the program creates at run time is looked
///   up on use, and fails with a fault;
/// - *deterministic*: the same source in the same world with the same answers makes the same calls
///   in the same order. It ends in the same way after the same number of steps;
/// - *limited*: each limit of its world ends any program with a fault, and a fired signal ends it
///   soon with [`ProgramFault::STOPPED`];
/// - *strict*: a failed call that the program does not handle ends it with a fault;
/// - *clean*: a failed program changes no memory;
/// - *incremental*: a program reports only the definitions that it changed, each as an entry, and the
///   entries of its environment with them applied are the memory of the next program.
pub trait ProgramRuntime: Send + Sync + 'static {
    /// Name of the runtime in settings, for example `ptclisp`.
    fn name(&self) -> &'static str;

    /// Returns the guide for the model: the language, the [rules](ProgramGuide::rules) of all
    /// languages, and the tools as functions. Equal content gives equal text.
    fn guide(&self, guide: &ProgramGuide) -> String;

    /// Extracts the program from the text of an answer, if there is one, between prose and code
    /// fences. `Some(Err)` if a program is present but cannot be separated from the rest, or if there
    /// is none and a block of [another language](crate::other_language).
    fn extract(&self, answer: &str) -> Option<Result<String, ProgramFault>>;

    /// Parses and checks a program. Nothing of it runs.
    ///
    /// # Errors
    /// The first fault in the source, with its position and advice.
    fn prepare(
        &self,
        source: &str,
        world: &ProgramEnvironment,
    ) -> Result<Box<dyn PreparedProgram>, ProgramFault>;
}

/// Environment of a program.
#[derive(Debug, Clone, Default)]
pub struct ProgramEnvironment {
    /// Names of the tools that it may call.
    pub tools: Vec<Arc<str>>,
    /// Its inputs, as JSON text of an object, if there are any.
    pub data: Option<Arc<str>>,
    /// Failure of the program before it in the same turn, if that one failed. The program reads it as
    /// its input `fail`, an object of `reason`, `message` and empty `details`, or finds nothing there.
    /// An input of this name replaces it.
    pub failure: Option<Arc<ProgramFailure>>,
    /// Memory of earlier programs, in the format of this runtime.
    pub memory: Arc<RetainedMemory>,
    /// True if the program must return. A definition at its end then is no value: `null`, in a
    /// language in which a definition has a value of its own.
    pub must_return: bool,
    /// Present time of the program in milliseconds since the Unix epoch. It stands still.
    pub now_ms: u64,
    /// Seed of the random numbers of the program.
    pub seed: u64,
    /// Limits of the run.
    pub limits: ProgramLimits,
    /// Fires when it must stop.
    pub cancel: CancelSignal,
}

/// A parsed and checked program.
pub trait PreparedProgram: Send {
    /// Returns the repairs made in the source, in words.
    fn repairs(&self) -> Vec<String>;

    /// Returns a run of the program, before its first step.
    ///
    /// # Errors
    /// The world's data is unusable: memory that this runtime has not written, or inputs that are
    /// no object.
    fn start(self: Box<Self>) -> Result<Box<dyn RunningProgram>, ProgramFault>;
}

/// A running program.
pub trait RunningProgram: Send {
    /// Continues until the program calls tools or ends. The first call passes no answers; later
    /// calls pass one answer for each awaited call, in order. A program that has ended, or receives
    /// another number of answers, ends with a fault.
    fn resume(&mut self, answers: Vec<ProgramAnswer>) -> ProgramStep;
}

/// State of a program after it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramStep {
    /// The program waits for these calls; the list is not empty. They may run concurrently.
    Calls(Vec<ProgramCall>),
    /// The program has ended.
    Done(Box<ProgramResult>),
}

/// A tool call of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCall {
    /// Name of the tool.
    pub name: Arc<str>,
    /// Arguments as JSON text of an object; equal values give equal text.
    pub arguments: String,
}

/// Names of the tools of a workspace. A program receives their output as text, whatever it
/// contains: the content of a file is not parsed because it happens to be JSON. A user's tool of
/// such a name gives text too.
pub const TEXT_TOOLS: &[&str] = &[
    "apply_patch",
    "edit_file",
    "exec_command",
    "glob",
    "grep",
    "list_dir",
    "list_processes",
    "read_file",
    "shell",
    "stop_process",
    "view_image",
    "write_file",
    "write_stdin",
];

/// Largest integer up to which a double represents each one: 2^53.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns the text that a program receives as an output that must not be parsed, or `None` if the
/// output is data where it is JSON.
///
/// All output of a tool in [`TEXT_TOOLS`] is text; that of `shell` lacks its last line end, `\n` or
/// `\r\n`. Of any other tool a number is text unless a program writes it back as it stands: an
/// integer of at most 2^53 without leading zeros, or a decimal that does not end with a zero and
/// has no more digits than a double holds. So `1.0`, `007`, `1e3` and `12345678901234567890` are
/// text in every language.
#[must_use]
pub fn text_output<'a>(tool: &str, output: &'a str) -> Option<&'a str> {
    if !TEXT_TOOLS.contains(&tool) {
        let is_text = is_number(output) && !is_written_back(output);
        return is_text.then_some(output);
    }
    if tool != "shell" {
        return Some(output);
    }
    let text = output.strip_suffix("\r\n").or_else(|| output.strip_suffix('\n'));
    Some(text.unwrap_or(output))
}

/// Removes the white space that JSON allows around a value.
fn trimmed(output: &str) -> &str {
    output.trim_matches([' ', '\t', '\n', '\r'])
}

/// Returns true if the output has nothing but the characters of a number.
fn is_number(output: &str) -> bool {
    let is_part = |b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let text = trimmed(output);
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && text.bytes().all(is_part)
}

/// Returns true if a number that was parsed as a double is written as it was read.
fn is_written_back(output: &str) -> bool {
    let text = trimmed(output);
    let number = text.parse().ok().filter(|number: &f64| number.abs() <= LARGEST_EXACT);
    number.is_some_and(|number| text != "-0" && number.to_string() == text)
}

/// Result of one call, as the program receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramAnswer {
    /// The call succeeded with this output. It is text where [`text_output`] says so. Else a
    /// complete JSON value is parsed as data, and anything else is text.
    Done(Arc<str>),
    /// The call failed, for this reason.
    Failed(Arc<str>),
}

/// Result of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramResult {
    /// End of the program.
    pub end: ProgramEnd,
    /// Printed lines, in order.
    pub prints: Vec<String>,
    /// Changed definitions for later programs, in the format of this runtime. None after a failure.
    pub retained: Vec<RetainedChange>,
    /// Names that it defined, if its definitions last.
    pub defined: Vec<String>,
    /// All definitions that last after it, by name, with short previews.
    pub alive: Vec<Definition>,
    /// Steps that it took.
    pub steps: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_data_if_it_is_written_back_as_it_stands() {
        let data = ["0", "-7", "12", " 12\n", "9007199254740992", "0.5", "-1.25", "0.0000001"];
        for number in data.into_iter().chain(["0.30000000000000004", "four", "1 2", "[1.0]", ""]) {
            assert_eq!(text_output("look", number), None, "{number}");
        }
        for number in [
            "1.0",
            "1.10",
            "007",
            "-0",
            "1e3",
            "1E3",
            "9007199254740993",
            "-9007199254740994",
            "12345678901234567890",
            "100000000000000000000",
            "0.1234567890123456789",
            "1.0\n",
            "1.",
        ] {
            assert_eq!(text_output("look", number), Some(number), "{number}");
        }
    }

    #[test]
    fn the_output_of_a_command_lacks_one_line_end() {
        for (output, text) in
            [("a\n", "a"), ("a\r\n", "a"), ("a\r", "a\r"), ("a\n\n", "a\n"), ("1.0\n", "1.0")]
        {
            assert_eq!(text_output("shell", output), Some(text), "{output:?}");
            assert_eq!(text_output("read_file", output), Some(output), "{output:?}");
        }
    }
}
