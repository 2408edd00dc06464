//! Reasons for ending a program early: faults with class, message, position and hint, and `return` and `fail`.

use std::fmt;

use crate::value::Value;

/// The class of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
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
    /// A key twice in one literal.
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
    KeptLimit,
    /// The value that it ends with is longer than the limit.
    ValueLimit,
    /// It was told to stop.
    Stopped,
    /// The inputs or the memory of the program are invalid.
    World,
}

impl Class {
    /// Returns the name that programs' authors and records know it by, and true for a limit.
    fn name_and_limit(self) -> (&'static str, bool) {
        match self {
            Class::Parse => ("parse_error", false),
            Class::InvalidForm => ("invalid_form", false),
            Class::InvalidArity => ("invalid_arity", false),
            Class::InvalidCond => ("invalid_cond_form", false),
            Class::InvalidThread => ("invalid_thread_form", false),
            Class::InvalidPlaceholder => ("invalid_placeholder", false),
            Class::InvalidKeywordCall => ("invalid_keyword_call", false),
            Class::InvalidMapCall => ("invalid_map_call", false),
            Class::UnboundVar => ("unbound_var", false),
            Class::UnknownTool => ("unknown_tool", false),
            Class::JavaMember => ("unsupported_java_member", false),
            Class::JavaMethod => ("unsupported_method", false),
            Class::DuplicateKey => ("duplicate_key", false),
            Class::UnsupportedPattern => ("unsupported_pattern", false),
            Class::Destructure => ("destructure_error", false),
            Class::Type => ("type_error", false),
            Class::Arity => ("arity_error", false),
            Class::NotCallable => ("not_callable", false),
            Class::Arithmetic => ("arithmetic_error", false),
            Class::Runtime => ("runtime_error", false),
            Class::ToolArgs => ("invalid_tool_args", false),
            Class::Tool => ("tool_error", false),
            Class::Pmap => ("pmap_error", false),
            Class::Pcalls => ("pcalls_error", false),
            Class::LoopLimit => ("loop_limit_exceeded", true),
            Class::Fuel => ("fuel_exceeded", true),
            Class::Memory => ("memory_exceeded", true),
            Class::Depth => ("depth_exceeded", true),
            Class::CallLimit => ("tool_call_limit_exceeded", true),
            Class::PrintLimit => ("print_limit_exceeded", true),
            Class::ProgramTooLarge => ("program_too_large", true),
            Class::KeptLimit => ("kept_limit_exceeded", true),
            Class::ValueLimit => ("value_limit_exceeded", true),
            Class::Stopped => ("stopped", true),
            Class::World => ("invalid_world", false),
        }
    }

    /// The name that programs' authors and records know it by.
    pub fn name(self) -> &'static str {
        self.name_and_limit().0
    }

    /// General remedy of the class.
    fn advice(self) -> &'static str {
        match self {
            Class::Parse => "Check brackets and quotation marks at that place.",
            Class::InvalidForm
            | Class::InvalidArity
            | Class::InvalidCond
            | Class::InvalidThread
            | Class::UnsupportedPattern => "Write the form as the message says.",
            Class::InvalidPlaceholder => "Write #(f %), or (fn [x] (f x)).",
            Class::InvalidKeywordCall | Class::InvalidMapCall => {
                "Call it with a key or a map, and a default if need be."
            }
            Class::UnboundVar | Class::JavaMember | Class::JavaMethod => {
                "Use a function of the language, or define the name."
            }
            Class::UnknownTool => "Call one of the available tools.",
            Class::DuplicateKey => "Remove one of them.",
            Class::Destructure => "Check what kind of value it is with (type x).",
            Class::Type => {
                "Check the kind of each argument with (type x); nil is what a missing key or input gives."
            }
            Class::Arity => "Call it with as many arguments as it takes.",
            Class::NotCallable => "What stands first in parentheses must be a function.",
            Class::Arithmetic => "Check the numbers first.",
            Class::Runtime => "Check the arguments against what the message says.",
            Class::ToolArgs => "Write (tool/name {:key value}).",
            Class::Tool => "Call it with other arguments, or go on without it.",
            Class::Pmap | Class::Pcalls => "One of the calls failed: check its arguments.",
            Class::LoopLimit
            | Class::Fuel
            | Class::Memory
            | Class::Depth
            | Class::CallLimit
            | Class::PrintLimit
            | Class::ProgramTooLarge => "Do less in one program.",
            Class::KeptLimit => "Define only what later programs need.",
            Class::ValueLimit => "End with a summary of it.",
            Class::Stopped => "Nothing is wrong with it: it may be run again.",
            Class::World => "Begin another session, or give it what it should be given.",
        }
    }

    /// Returns true if a limit was reached or the run was stopped. Such a fault keeps its class on its way out.
    pub fn is_limit(self) -> bool {
        self.name_and_limit().1
    }
}

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
    pub class: Class,
    /// Description of the failed action.
    pub message: String,
    /// Remedy, if one is known.
    pub hint: Option<String>,
    /// Position in the source, if known.
    pub position: Option<Position>,
    /// The byte of the program where it happened; the position is told from it.
    pub(crate) offset: Option<u32>,
}

impl Fault {
    /// Creates a fault of this class, without a position.
    pub fn new(class: Class, message: impl Into<String>) -> Fault {
        Fault {
            class,
            message: message.into(),
            hint: None,
            position: None,
            offset: None,
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
    pub(crate) fn placed(mut self, source: &str) -> Fault {
        // Where it stood when it was told to stop is chance.
        if let Some(offset) = self.offset
            && self.class != Class::Stopped
        {
            self.position = Some(place(source, offset));
        }
        self.advised()
    }

    /// Adds the general advice of the class, unless the fault has a hint.
    #[must_use]
    pub fn advised(mut self) -> Fault {
        if self.hint.is_none() {
            self.hint = Some(self.class.advice().to_owned());
        }
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class.name(), self.message)?;
        if let Some(at) = self.position {
            write!(f, " at line {}, column {}", at.line, at.column)?;
        }
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
    Err(Fault::new(Class::Type, message).into())
}

/// A fault of an argument of the wrong kind, counted from 1.
pub(crate) fn unexpected<T>(
    name: &str,
    place: usize,
    expected: &str,
    value: &Value,
) -> Result<T, Halt> {
    let kind = value.kind();
    type_error(format!(
        "{name}: arg {place} expected {expected}, got {kind}"
    ))
}

/// Any other fault of a function.
pub(crate) fn runtime<T>(message: impl Into<String>) -> Result<T, Halt> {
    Err(Fault::new(Class::Runtime, message).into())
}

/// The fault of arguments that a function does not take.
pub(crate) fn misfit<T>(name: &str, args: &[Value]) -> Result<T, Halt> {
    // Of many, the first few tell.
    let kinds: Vec<&str> = args.iter().take(8).map(Value::kind).collect();
    let message = format!("{name}: invalid argument types: {}", kinds.join(", "));
    let hint = if args.iter().any(|arg| matches!(arg, Value::Nil)) {
        "A value is nil: give a default with (or x default), or leave nil out with (filter some? xs)."
    } else {
        "Convert the arguments: (parse-long s) for a number, (str x) for a text, (vec xs) for a vector."
    };
    Err(Fault::new(Class::Type, message).hint(hint).into())
}
