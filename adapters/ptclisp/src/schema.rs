//! A tool's signature, as a call of it is written, from its JSON Schema.

use serde_json::{Map, Value as Json};
use windlass_core::ToolSpec;
use windlass_ports::TEXT_TOOLS;

/// The most characters of a tool's arguments.
const ARGUMENT_CHARS: usize = 400;
/// The most characters of a tool's description.
const DESCRIPTION_CHARS: usize = 240;
/// The most values of an enumeration, and forms of a choice, that are listed.
const LISTED: usize = 6;

/// The line of a tool: how it is called, and what it does.
pub(crate) fn line(tool: &ToolSpec) -> String {
    let schema = serde_json::from_str(&tool.parameters).unwrap_or(Json::Null);
    let full = arguments(&schema, 2);
    let shown = if full.chars().count() <= ARGUMENT_CHARS {
        full
    } else {
        cut(&arguments(&schema, 0), ARGUMENT_CHARS)
    };
    let does = sentences(&tool.description);
    let gap = if does.is_empty() { "" } else { "  ; " };
    let gives = if TEXT_TOOLS.contains(&tool.name.as_str()) { " -> text" } else { "" };
    format!("(tool/{}{shown}){gives}{gap}{does}", tool.name)
}

fn arguments(schema: &Json, depth: u32) -> String {
    match properties(schema) {
        Some(properties) if !properties.is_empty() => format!(" {}", object(schema, depth)),
        Some(_) | None => String::new(),
    }
}

fn properties(schema: &Json) -> Option<&Map<String, Json>> {
    schema.get("properties")?.as_object()
}

/// The entries of an object; what need not be given has a question mark.
fn object(schema: &Json, depth: u32) -> String {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .map(|names| names.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    // In a fixed order, whatever order objects are kept in: what is required first.
    let mut all: Vec<(bool, &str, &Json)> = properties(schema)
        .into_iter()
        .flatten()
        .map(|(name, inner)| (!required.contains(&name.as_str()), name.as_str(), inner))
        .collect();
    all.sort_by_key(|(optional, name, _)| (*optional, *name));
    let entries: Vec<String> = all
        .into_iter()
        .map(|(optional, name, inner)| {
            // A hyphen of a keyword becomes an underscore in arguments; a text stays as it is.
            let plain =
                name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'));
            let mark = if optional { "?" } else { "" };
            let kind = kind(inner, depth);
            if plain { format!(":{name}{mark} {kind}") } else { format!("{name:?}{mark} {kind}") }
        })
        .collect();
    format!("{{{}}}", entries.join(" "))
}

/// Describes the value of a schema, in a word or as it is written.
fn kind(schema: &Json, depth: u32) -> String {
    if let Some(only) = schema.get("const") {
        return cut(&only.to_string(), 60);
    }
    if let Some(values) = schema.get("enum").and_then(Json::as_array) {
        return listed(values, |value| cut(&value.to_string(), 40));
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(forms) = schema.get(choice).and_then(Json::as_array) {
            return listed(forms, |form| kind(form, depth.saturating_sub(1)));
        }
    }
    match schema.get("type") {
        Some(Json::Array(names)) => {
            listed(names, |name| of_type(name.as_str().unwrap_or_default(), schema, depth))
        }
        Some(name) => of_type(name.as_str().unwrap_or_default(), schema, depth),
        None => "any".to_owned(),
    }
}

fn of_type(name: &str, schema: &Json, depth: u32) -> String {
    match name {
        "string" => "string".to_owned(),
        "integer" => "int".to_owned(),
        "number" => "number".to_owned(),
        "boolean" => "bool".to_owned(),
        "null" => "nil".to_owned(),
        "array" => match schema.get("items") {
            Some(items) if depth > 0 => format!("[{}]", kind(items, depth - 1)),
            Some(_) | None => "[any]".to_owned(),
        },
        "object" if depth > 0 && properties(schema).is_some_and(|inner| !inner.is_empty()) => {
            object(schema, depth - 1)
        }
        "object" => "map".to_owned(),
        _ => "any".to_owned(),
    }
}

fn listed(all: &[Json], show: impl Fn(&Json) -> String) -> String {
    let mut shown: Vec<String> = all.iter().take(LISTED).map(show).collect();
    if all.len() > LISTED {
        shown.push("..".to_owned());
    }
    shown.join("|")
}

/// The first sentences of a description, on one line.
fn sentences(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= DESCRIPTION_CHARS {
        return line;
    }
    let short = cut(&line, DESCRIPTION_CHARS);
    match short.rfind(". ") {
        Some(end) => short[..=end].to_owned(),
        None => short,
    }
}

/// At most so many characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most).collect();
    format!("{kept}..")
}
