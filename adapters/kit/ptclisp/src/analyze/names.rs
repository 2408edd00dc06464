//! Names that are not local: functions of the language, its namespaces, inputs, tools, last results.

use crate::analyze::near::{instead, nearest, nearest_of};
use crate::callable::NativeFunction;
use crate::fault::{Fault, FaultClass};
use crate::library;

/// Meaning of a name.
pub(super) enum NameMeaning<'a> {
    Native(&'static NativeFunction),
    Data(&'a str),
    Tool(&'a str),
    History(u8),
    Unknown,
    Refused(Fault),
}

const STRINGS: &[&str] = &[
    "blank?",
    "downcase",
    "ends-with?",
    "extract",
    "extract-int",
    "format",
    "includes?",
    "index-of",
    "join",
    "last-index-of",
    "lower-case",
    "name",
    "parse-boolean",
    "parse-double",
    "parse-int",
    "parse-long",
    "pr-str",
    "replace",
    "split",
    "split-lines",
    "starts-with?",
    "str",
    "subs",
    "trim",
    "trim-newline",
    "triml",
    "trimr",
    "upcase",
    "upper-case",
];
const SETS: &[&str] = &[
    "contains?",
    "difference",
    "disj",
    "intersection",
    "set",
    "hash-set",
    "set?",
    "union",
    "vec",
    "vector",
];
const WALKS: &[&str] = &["postwalk", "prewalk", "walk"];
const REGEXES: &[&str] = &[
    "re-find",
    "re-matches",
    "re-pattern",
    "re-seq",
    "re-split",
    "regex?",
    "extract",
    "extract-int",
    "replace",
    "split",
];

/// The namespaces of the language, with what each is called in messages.
const NAMESPACES: &[(&str, &str, &[&str])] = &[
    ("clojure.string", "String", STRINGS),
    ("string", "String", STRINGS),
    ("str", "String", STRINGS),
    ("clojure.set", "Set", SETS),
    ("set", "Set", SETS),
    ("clojure.walk", "Walk", WALKS),
    ("walk", "Walk", WALKS),
    ("regex", "Regex", REGEXES),
];

const JAVA: &[&str] = &[
    "Boolean",
    "Double",
    "Duration",
    "Float",
    "Instant",
    "Integer",
    "LocalDate",
    "Long",
    "Math",
    "System",
    "Period",
    "Date",
    "String",
];

/// Resolves a name of the source.
pub(super) fn resolve(name: &str) -> NameMeaning<'_> {
    match name {
        "*1" => return NameMeaning::History(1),
        "*2" => return NameMeaning::History(2),
        "*3" => return NameMeaning::History(3),
        _ => {}
    }
    if let Some(native) = native(name) {
        return NameMeaning::Native(native);
    }
    let java = name.starts_with("java.");
    if name.len() > 1 && name.starts_with('.') {
        let message = format!("Unsupported method '{name}': there are no Java methods");
        let fault = Fault::new(FaultClass::JavaMethod, message);
        return NameMeaning::Refused(fault.hint(
            instead(name).unwrap_or("Use a function of the language, as upper-case or subs."),
        ));
    }
    match name.split_once('/') {
        Some(("", _) | (_, "")) => NameMeaning::Unknown,
        Some(("data", key)) => NameMeaning::Data(key),
        Some(("tool", tool)) => NameMeaning::Tool(tool),
        Some(("core" | "clojure.core", inner)) => match native(inner) {
            Some(native) => NameMeaning::Native(native),
            None => {
                let near = nearest(inner, std::iter::empty());
                refused([name, inner], near, format!("{inner} is not available in clojure.core"))
            }
        },
        Some(("json", inner)) => {
            let near = nearest(name, std::iter::empty());
            let known = "generate-string, parse-lines, parse-string";
            // A name of another language without its namespace is about other things than JSON.
            refused(
                [name, name],
                near,
                format!("{inner} is not available. JSON functions: {known}"),
            )
        }
        Some((space, inner)) => {
            if let Some((_, title, names)) = NAMESPACES.iter().find(|(known, ..)| *known == space) {
                if names.contains(&inner)
                    && let Some(native) = native(inner)
                {
                    return NameMeaning::Native(native);
                }
                let near = nearest_of(inner, names.iter().copied());
                let names = names.join(", ");
                let message = format!("{inner} is not available. {title} functions: {names}");
                return refused([name, inner], near, message);
            }
            if java || JAVA.contains(&space) {
                return java_member(name);
            }
            let message = format!(
                "unknown namespace {space}/. Available namespaces: clojure.core/, clojure.set/, \
                 clojure.string/, clojure.walk/, core/, data/, json/, regex/, set/, str/, string/, \
                 tool/, walk/"
            );
            refused([name, inner], native(inner).map(|native| native.name), message)
        }
        None if java => java_member(name),
        None => NameMeaning::Unknown,
    }
}

/// The fault of a name that a namespace does not have, with the one that was probably meant. Of the names, the
/// first that is known from another language gives the hint.
fn refused<'a>(names: [&str; 2], near: Option<&str>, message: String) -> NameMeaning<'a> {
    let hint = match (names.into_iter().find_map(instead), near) {
        (Some(instead), _) => instead.to_owned(),
        (None, Some(near)) => format!("Did you mean {near}?"),
        (None, None) => "Use a name that is listed, or write a function.".to_owned(),
    };
    NameMeaning::Refused(Fault::new(FaultClass::InvalidForm, message).hint(hint))
}

fn java_member(name: &str) -> NameMeaning<'static> {
    let fault = Fault::new(
        FaultClass::JavaMember,
        format!("{name} is not available: there are no Java classes"),
    );
    NameMeaning::Refused(fault.hint(instead(name).unwrap_or("Use a function of the language.")))
}

/// Returns the name of the function that a name stands for, if the language has one, without its namespace.
pub(crate) fn function_name(name: &str) -> Option<&'static str> {
    match resolve(name) {
        NameMeaning::Native(native) => Some(native.name),
        NameMeaning::Data(_)
        | NameMeaning::Tool(_)
        | NameMeaning::History(_)
        | NameMeaning::Unknown
        | NameMeaning::Refused(_) => None,
    }
}

/// The function of the language of this name.
pub(super) fn native(name: &str) -> Option<&'static NativeFunction> {
    library::find(match name {
        ".getMessage" => "ex-message",
        "Exception." | "RuntimeException." | "IllegalArgumentException." => "ex-info",
        other => other,
    })
}
