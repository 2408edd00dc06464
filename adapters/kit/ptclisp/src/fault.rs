//! Reasons for ending a program early: faults with class, message, position and hint, and `return` and `fail`.

use std::fmt;

use crate::callable::endless;
use crate::value::Value;

/// The class of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultClass {
    /// The text is not a program.
    Parse,
    /// A form is written in a way that the language does not have.
    InvalidForm,
    /// A form has too few or too many parts.
    InvalidArity,
    /// A `cond` with a test that has no value.
    InvalidCond,
    /// A threading form without a value, a name or a step.
    InvalidThread,
    /// `%` and its like where no `#()` is around.
    InvalidPlaceholder,
    /// A keyword called with too few or too many arguments.
    InvalidKeywordCall,
    /// A map called with too few or too many arguments.
    InvalidMapCall,
    /// A name that nothing has.
    UnboundVar,
    /// A tool that is not there.
    UnknownTool,
    /// A member of a Java class: the language has none.
    JavaMember,
    /// A method of a Java object: the language has none.
    JavaMethod,
    /// A key twice in one literal, or two keys of a map that are one in JSON.
    DuplicateKey,
    /// A pattern that cannot be taken apart.
    UnsupportedPattern,
    /// A value of another kind than the pattern's.
    Destructure,
    /// A value of a kind that the function does not take.
    Type,
    /// A function with too few or too many arguments.
    Arity,
    /// A value was called that is no function.
    NotCallable,
    /// A division by zero and its like.
    Arithmetic,
    /// Thrown by the program.
    Thrown,
    /// Anything else that went wrong in a function.
    Runtime,
    /// A tool was given something else than named arguments.
    ToolArgs,
    /// A tool reported a failure.
    Tool,
    /// A function failed within `pmap`.
    Pmap,
    /// A function failed within `pcalls`.
    Pcalls,
    /// A loop ran more often than the limit.
    LoopLimit,
    /// The steps are used up.
    Fuel,
    /// The memory is used up.
    Memory,
    /// Calls or values are nested deeper than the limit.
    Depth,
    /// More tool calls than the limit.
    CallLimit,
    /// Printed more than the limit.
    PrintLimit,
    /// The program is longer than the limit.
    ProgramTooLarge,
    /// The session is longer than the limit.
    RetainedLimit,
    /// The value that it ends with is longer than the limit.
    ValueLimit,
    /// It was told to stop.
    Stopped,
    /// The inputs or the memory of the program are invalid.
    World,
}

impl FaultClass {
    /// Returns the name that programs' authors and records know it by, and true for a limit.
    fn name_and_limit(self) -> (&'static str, bool) {
        match self {
            FaultClass::Parse => ("parse_error", false),
            FaultClass::InvalidForm => ("invalid_form", false),
            FaultClass::InvalidArity => ("invalid_arity", false),
            FaultClass::InvalidCond => ("invalid_cond_form", false),
            FaultClass::InvalidThread => ("invalid_thread_form", false),
            FaultClass::InvalidPlaceholder => ("invalid_placeholder", false),
            FaultClass::InvalidKeywordCall => ("invalid_keyword_call", false),
            FaultClass::InvalidMapCall => ("invalid_map_call", false),
            FaultClass::UnboundVar => ("unbound_var", false),
            FaultClass::UnknownTool => ("unknown_tool", false),
            FaultClass::JavaMember => ("unsupported_java_member", false),
            FaultClass::JavaMethod => ("unsupported_method", false),
            FaultClass::DuplicateKey => ("duplicate_key", false),
            FaultClass::UnsupportedPattern => ("unsupported_pattern", false),
            FaultClass::Destructure => ("destructure_error", false),
            FaultClass::Type => ("type_error", false),
            FaultClass::Arity => ("arity_error", false),
            FaultClass::NotCallable => ("not_callable", false),
            FaultClass::Arithmetic => ("arithmetic_error", false),
            FaultClass::Thrown => ("thrown", false),
            FaultClass::Runtime => ("runtime_error", false),
            FaultClass::ToolArgs => ("invalid_tool_args", false),
            FaultClass::Tool => ("tool_error", false),
            FaultClass::Pmap => ("pmap_error", false),
            FaultClass::Pcalls => ("pcalls_error", false),
            FaultClass::LoopLimit => ("loop_limit_exceeded", true),
            FaultClass::Fuel => ("fuel_exceeded", true),
            FaultClass::Memory => ("memory_exceeded", true),
            FaultClass::Depth => ("depth_exceeded", true),
            FaultClass::CallLimit => ("tool_call_limit_exceeded", true),
            FaultClass::PrintLimit => ("print_limit_exceeded", true),
            FaultClass::ProgramTooLarge => ("program_too_large", true),
            FaultClass::RetainedLimit => ("kept_limit_exceeded", true),
            FaultClass::ValueLimit => ("value_limit_exceeded", true),
            FaultClass::Stopped => ("stopped", true),
            FaultClass::World => ("invalid_world", false),
        }
    }

    /// The name that programs' authors and records know it by.
    pub fn name(self) -> &'static str {
        self.name_and_limit().0
    }

    /// Returns the class of this name, among those that may arise while a program runs.
    pub(crate) fn of_name(name: &str) -> Option<FaultClass> {
        RUNNING.iter().copied().find(|class| class.name() == name)
    }

    /// General remedy of the class.
    fn advice(self) -> &'static str {
        match self {
            FaultClass::Parse => "Check brackets and quotation marks at that place.",
            FaultClass::InvalidForm
            | FaultClass::InvalidArity
            | FaultClass::InvalidCond
            | FaultClass::InvalidThread
            | FaultClass::UnsupportedPattern => "Write the form as the message says.",
            FaultClass::InvalidPlaceholder => "Write #(f %), or (fn [x] (f x)).",
            FaultClass::InvalidKeywordCall | FaultClass::InvalidMapCall => {
                "Call it with a key or a map, and a default if need be."
            }
            FaultClass::UnboundVar | FaultClass::JavaMember | FaultClass::JavaMethod => {
                "Use a function of the language, or define the name."
            }
            FaultClass::UnknownTool => "Call one of the available tools.",
            FaultClass::DuplicateKey => "Remove one of them.",
            FaultClass::Destructure => "Check what kind of value it is with (type x).",
            FaultClass::Type => {
                "Check the kind of each argument with (type x); nil is what a missing key or input gives."
            }
            FaultClass::Arity => "Call it with as many arguments as it takes.",
            FaultClass::NotCallable => "What stands first in parentheses must be a function.",
            FaultClass::Arithmetic => "Check the numbers first.",
            FaultClass::Thrown => {
                "The program threw it: catch it with (try ... (catch Exception e ...))."
            }
            FaultClass::Runtime => "Check the arguments against what the message says.",
            FaultClass::ToolArgs => "Write (tool/name {:key value}).",
            FaultClass::Tool => "Call it with other arguments, or go on without it.",
            FaultClass::Pmap | FaultClass::Pcalls => {
                "One of the calls failed: check its arguments."
            }
            FaultClass::LoopLimit
            | FaultClass::Fuel
            | FaultClass::Memory
            | FaultClass::Depth
            | FaultClass::CallLimit
            | FaultClass::PrintLimit
            | FaultClass::ProgramTooLarge => "Do less in one program.",
            FaultClass::RetainedLimit => "Define only what later programs need.",
            FaultClass::ValueLimit => "End with a summary of it.",
            FaultClass::Stopped => "Nothing is wrong with it: it may be run again.",
            FaultClass::World => "Begin another session, or give it what it should be given.",
        }
    }

    /// Returns true if a limit was reached or the run was stopped. Such a fault keeps its class on its way out.
    pub fn is_limit(self) -> bool {
        self.name_and_limit().1
    }
}

/// The classes of faults of a running program.
const RUNNING: &[FaultClass] = &[
    FaultClass::InvalidKeywordCall,
    FaultClass::InvalidMapCall,
    FaultClass::UnboundVar,
    FaultClass::UnknownTool,
    FaultClass::DuplicateKey,
    FaultClass::Destructure,
    FaultClass::Type,
    FaultClass::Arity,
    FaultClass::NotCallable,
    FaultClass::Arithmetic,
    FaultClass::Thrown,
    FaultClass::Runtime,
    FaultClass::ToolArgs,
    FaultClass::Tool,
    FaultClass::Pmap,
    FaultClass::Pcalls,
    FaultClass::LoopLimit,
    FaultClass::Fuel,
    FaultClass::Memory,
    FaultClass::Depth,
    FaultClass::CallLimit,
    FaultClass::PrintLimit,
    FaultClass::Stopped,
];

/// A place in the program, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, counted from 1.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

/// Fault of a program: its class, its message, its position and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Class of the fault.
    pub class: FaultClass,
    /// Description of the failed action.
    pub message: String,
    /// Remedy, if one is known.
    pub hint: Option<String>,
    /// Position in the source, if known.
    pub position: Option<Position>,
    /// The byte of the program where it happened; the position is told from it.
    pub(crate) offset: Option<u32>,
    /// Data thrown with the fault by the program.
    pub(crate) data: Option<Value>,
    /// The class that it had before a function around it gave it another.
    pub(crate) cause: Option<FaultClass>,
}

impl Fault {
    /// Creates a fault of this class, without a position.
    pub fn new(class: FaultClass, message: impl Into<String>) -> Fault {
        Fault {
            class,
            message: message.into(),
            hint: None,
            position: None,
            offset: None,
            data: None,
            cause: None,
        }
    }

    /// Gives the fault the class of a function that it leaves, and stores the class that it had.
    pub(crate) fn reclassify(&mut self, class: FaultClass) {
        if self.class != class {
            self.cause.get_or_insert(self.class);
            self.class = class;
        }
    }

    /// Adds a hint: the remedy, in a sentence.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// With a place, unless it has one.
    pub(crate) fn at(mut self, offset: u32) -> Fault {
        self.offset.get_or_insert(offset);
        self
    }

    /// With line and column told from the program's text, and with a hint if it has none.
    pub(crate) fn with_position(mut self, source: &str) -> Fault {
        // Where it stood when it was told to stop is chance.
        if let Some(offset) = self.offset
            && self.class != FaultClass::Stopped
        {
            self.position = Some(place(source, offset));
        }
        self.with_advice()
    }

    /// Adds the general advice of the class, unless the fault has a hint.
    #[must_use]
    pub fn with_advice(mut self) -> Fault {
        if self.hint.is_none() {
            self.hint = Some(self.class.advice().to_owned());
        }
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.position {
            write!(f, "line {}, column {}: ", at.line, at.column)?;
        }
        write!(f, "{}: {}", self.class.name(), self.message)?;
        match &self.hint {
            Some(hint) => write!(f, ". {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

/// Line and column of a byte.
pub(crate) fn place(source: &str, offset: u32) -> Position {
    let before = source.get(..offset as usize).unwrap_or(source);
    let line = before.matches('\n').count() as u32 + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[start..].chars().count() as u32 + 1;
    Position { line, column }
}

/// Reason for ending a program.
#[derive(Debug)]
pub(crate) enum Halt {
    Fault(Box<Fault>),
    Return(Value),
    Fail(Value),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Halt {
        Halt::Fault(Box::new(fault))
    }
}

/// A fault of a value of the wrong kind.
pub(crate) fn type_error<T>(message: impl Into<String>) -> Result<T, Halt> {
    Err(Fault::new(FaultClass::Type, message).into())
}

/// A fault of an argument of the wrong kind, counted from 1.
pub(crate) fn unexpected<T>(
    name: &str,
    place: usize,
    expected: &str,
    value: &Value,
) -> Result<T, Halt> {
    if endless(value).is_some() && !matches!(expected, "callable" | "keyfn" | "integer") {
        return Err(unbounded(name));
    }
    let kind = value.kind();
    type_error(format!("{name}: arg {place} expected {expected}, got {kind}"))
}

/// The fault of taking all of an endless sequence.
pub(crate) fn unbounded(name: &str) -> Halt {
    let hint = "Take a part of it first: (take n xs) or (take-while p xs).";
    without_end(name).hint(hint).into()
}

fn without_end(name: &str) -> Fault {
    Fault::new(FaultClass::Type, format!("{name}: the sequence has no end"))
}

/// Any other fault of a function.
pub(crate) fn runtime<T>(message: impl Into<String>) -> Result<T, Halt> {
    Err(Fault::new(FaultClass::Runtime, message).into())
}

/// The fault of arguments that a function does not take.
pub(crate) fn misfit<T>(name: &str, args: &[Value]) -> Result<T, Halt> {
    if args.iter().any(|arg| endless(arg).is_some()) {
        let hint = "Take a part of it first: (take n xs); where a text or a number is wanted, make it of \
                    that part, as (join (take n xs)) and (reduce + (take n xs)) do.";
        return Err(without_end(name).hint(hint).into());
    }
    // Of many, the first few tell.
    let kinds: Vec<&str> = args.iter().take(8).map(Value::kind).collect();
    let message = format!("{name}: invalid argument types: {}", kinds.join(", "));
    let hint = if args.iter().any(|arg| matches!(arg, Value::Nil)) {
        "A value is nil: give a default with (or x default), or leave nil out with (filter some? xs)."
    } else {
        "Convert the arguments: (parse-long s) for a number, (str x) for a text, (vec xs) for a vector."
    };
    Err(Fault::new(FaultClass::Type, message).hint(hint).into())
}
