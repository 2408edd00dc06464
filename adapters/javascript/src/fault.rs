//! Faults: what a program is told of what went wrong, and where.

use windlass_core::ProgramFault;

use crate::engine::NO_ERROR;

/// The most bytes of a message.
const MOST: usize = 2_000;

/// A fault with a hint.
pub(crate) fn hinted(class: &str, message: impl Into<String>, hint: &str) -> ProgramFault {
    ProgramFault { hint: Some(hint.to_owned()), ..ProgramFault::new(class, message) }
}

/// The fault of a limit.
pub(crate) fn less(class: &str, message: impl Into<String>) -> ProgramFault {
    hinted(class, message, "Do less in one program.")
}

/// Returns the fault for exhausted memory.
pub(crate) fn no_memory(most: u64) -> ProgramFault {
    let words = format!("the program may have {most} bytes in memory and needs more");
    less("memory_exceeded", words)
}

/// Returns the fault for an exhausted stack.
pub(crate) fn too_deep() -> ProgramFault {
    less("depth_exceeded", "the program's calls are nested too deep")
}

/// A fault at this place of what is compiled: the source begins on the second line of it.
pub(crate) fn at_position(mut fault: ProgramFault, place: Option<(u32, u32)>) -> ProgramFault {
    if let Some((line, column)) = place.filter(|(line, _)| *line > 1) {
        fault.line = Some(line - 1);
        fault.column = Some(column.max(1));
    }
    fault
}

/// A fault at a byte of the source.
pub(crate) fn at(mut fault: ProgramFault, source: &str, byte: usize) -> ProgramFault {
    let before = source.get(..byte).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    fault.line = u32::try_from(line).ok();
    fault.column = u32::try_from(column).ok();
    fault
}

/// Thrown value, as the engine reports it.
#[derive(Debug, Default)]
pub(crate) struct ThrownValue {
    pub(crate) name: String,
    pub(crate) message: String,
    /// Line and column in the wrapped source, from 1.
    pub(crate) position: Option<(u32, u32)>,
    /// True if it is `null`, which the engine throws where there is no room for an error.
    pub(crate) null: bool,
}

/// The fault that something thrown is.
pub(crate) fn thrown(thrown: ThrownValue, compiling: bool) -> ProgramFault {
    let ThrownValue { name, message, position: place, null: _ } = thrown;
    let message = shortened(message);
    let words =
        if message.is_empty() { format!("{name} was thrown without a message") } else { message };
    let overflow = words == "Maximum call stack size exceeded" || words == "stack overflow";
    let fault = match name.as_str() {
        "InternalError" if words.starts_with("out of memory") || words == "string too long" => {
            less("memory_exceeded", words)
        }
        "RangeError" | "InternalError" if overflow => less("depth_exceeded", words),
        "SyntaxError" if overflow => less("depth_exceeded", words),
        "SyntaxError" if compiling => hinted("parse_error", words, "Correct it at that place."),
        "TooDeep" => less("depth_exceeded", words),
        "UnknownTool" => hinted("unknown_tool", words, "Call one of the available tools."),
        "ToolArguments" => hinted(
            "invalid_tool_args",
            words,
            "Call it with one object: tools.name({ key: value }).",
        ),
        "ToolError" => hinted(
            "tool_error",
            words,
            "Call it with other arguments, or catch the error and go on without it.",
        ),
        "AwaitMissing" => hinted(
            "type_error",
            words,
            "Write await before the call, or await Promise.all([..]) for several calls.",
        ),
        "TypeError" => hinted("type_error", words, "Check what kind of value it is."),
        "ReferenceError" => hinted("unbound_var", words, "Declare the name before it is used."),
        NO_ERROR => hinted(
            "runtime_error",
            words,
            "Throw an Error with a message that says what went wrong.",
        ),
        "Error" => hinted("runtime_error", words, "Check the values that led to it."),
        _ => {
            hinted("runtime_error", format!("{name}: {words}"), "Check the values that led to it.")
        }
    };
    at_position(fault, place)
}

/// The fault of what failed and was not looked at.
pub(crate) fn unhandled_rejection(thrown: ThrownValue) -> ProgramFault {
    let fault = self::thrown(thrown, false);
    ProgramFault {
        message: format!("it failed, and nothing awaited it: {}", fault.message),
        hint: Some("Await every call and every async function, or catch its error.".to_owned()),
        ..fault
    }
}

fn shortened(mut message: String) -> String {
    if message.len() > MOST {
        let at = (0..=MOST).rev().find(|at| message.is_char_boundary(*at));
        message.truncate(at.unwrap_or(0));
        message.push_str(" (shortened)");
    }
    message
}

/// The first place in the program that a stack names.
pub(crate) fn parse_position(stack: &str) -> Option<(u32, u32)> {
    let (_, rest) = stack.split_once("program.js:")?;
    let digits = |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
    let line = digits(rest);
    let column = rest.get(line.len()..)?.strip_prefix(':').map(digits);
    Some((line.parse().ok()?, column.and_then(|column| column.parse().ok()).unwrap_or(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_stacks() {
        assert_eq!(
            parse_position("    at f (program.js:3:15)\n    at g (program.js:9:1)"),
            Some((3, 15))
        );
        assert_eq!(parse_position("    at program.js:3\n"), Some((3, 1)));
        assert_eq!(parse_position("    at native\n"), None);
    }

    #[test]
    fn places_are_counted_in_characters() {
        let fault = at(ProgramFault::new("x", "y"), "a\n\u{e4}b", 4);
        assert_eq!((fault.line, fault.column), (Some(2), Some(2)));
    }

    #[test]
    fn long_messages_are_shortened_between_letters() {
        let words = thrown(
            ThrownValue {
                name: "Error".to_owned(),
                message: "\u{e4}".repeat(5_000),
                position: Some((4, 2)),
                null: false,
            },
            false,
        );
        assert!(words.message.len() < 2_100);
        assert_eq!((words.line, words.column), (Some(3), Some(2)));
    }
}
