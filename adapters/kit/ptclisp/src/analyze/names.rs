//! Names that are not local: functions of the language, its namespaces, inputs, tools, last results.

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
        return NameMeaning::Refused(
            fault.hint("Use a function of the language, as upper-case or subs."),
        );
    }
    match name.split_once('/') {
        Some(("", _) | (_, "")) => NameMeaning::Unknown,
        Some(("data", key)) => NameMeaning::Data(key),
        Some(("tool", tool)) => NameMeaning::Tool(tool),
        Some(("core" | "clojure.core", inner)) => match native(inner) {
            Some(native) => NameMeaning::Native(native),
            None => refused(format!("{inner} is not available in clojure.core")),
        },
        Some(("json", inner)) => refused(format!(
            "{inner} is not available. JSON functions: generate-string, parse-lines, parse-string"
        )),
        Some((space, inner)) => {
            if let Some((_, title, names)) = NAMESPACES.iter().find(|(known, ..)| *known == space) {
                if names.contains(&inner)
                    && let Some(native) = native(inner)
                {
                    return NameMeaning::Native(native);
                }
                let names = names.join(", ");
                return refused(format!("{inner} is not available. {title} functions: {names}"));
            }
            if java || JAVA.contains(&space) {
                return java_member(name);
            }
            refused(format!(
                "unknown namespace {space}/. Available namespaces: clojure.core/, clojure.set/, \
                 clojure.string/, clojure.walk/, core/, data/, json/, regex/, set/, str/, string/, \
                 tool/, walk/"
            ))
        }
        None if java => java_member(name),
        None => NameMeaning::Unknown,
    }
}

fn refused(message: String) -> NameMeaning<'static> {
    let fault = Fault::new(FaultClass::InvalidForm, message);
    NameMeaning::Refused(fault.hint("Use a name that is listed, or write a function."))
}

fn java_member(name: &str) -> NameMeaning<'static> {
    let fault = Fault::new(
        FaultClass::JavaMember,
        format!("{name} is not available: there are no Java classes"),
    );
    NameMeaning::Refused(fault.hint("Use a function of the language."))
}

/// The function of the language of this name.
pub(super) fn native(name: &str) -> Option<&'static NativeFunction> {
    library::find(match name {
        ".getMessage" => "ex-message",
        "Exception." | "RuntimeException." | "IllegalArgumentException." => "ex-info",
        other => other,
    })
}

/// The known name that is nearest to one that is not, if any is near.
pub(super) fn nearest<'a>(name: &str, defined: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().count() > 40 {
        return None;
    }
    let furthest = if name.len() <= 4 { 1 } else { 2 };
    let natives = library::names().map(|name| -> &'a str { name });
    let near = defined.chain(natives).map(|known| (distance(name, known), known));
    let best = near.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= furthest).then_some(best.1)
}

/// The letters to change to make one word another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("fliter", std::iter::empty()), Some("filter"));
        assert_eq!(nearest("my-totl", ["my-total"].into_iter()), Some("my-total"));
        assert_eq!(nearest("qqqqqqqqqq", std::iter::empty()), None);
    }
}
