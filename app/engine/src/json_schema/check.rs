//! Checks the form of a schema once, so that values are then compared with keywords of a known form.

use std::collections::{HashMap, HashSet};

use regex::Regex;
use serde_json::{Map, Value};

use super::{JsonSchema, referenced};

/// Names of types.
const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];
/// Deepest nesting of schemas.
const MOST_NESTED: usize = 100;
/// Drafts in which `$ref` hides the keywords beside it.
const HIDING: &[&str] = &["draft-03", "draft-04", "draft-06", "draft-07"];

/// Compiles a schema.
pub(super) fn compile(root: Value) -> Result<JsonSchema, String> {
    let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let counts_siblings = !HIDING.iter().any(|hiding| draft.contains(hiding));
    let mut checked = Checked::default();
    checked.schema(&root, &mut String::new(), 0)?;
    let mut followed = 0;
    while let Some(reference) = checked.references.get(followed).cloned() {
        followed += 1;
        let Some(target) = referenced(&root, &checked.anchors, &reference) else {
            return Err(format!("{reference:?} refers to nothing in it, and nothing is fetched"));
        };
        // It may stand where no keyword has schemas, for example below `components`.
        if !checked.seen.contains(&std::ptr::from_ref(target)) {
            checked.schema(target, &mut reference.trim_start_matches('#').to_owned(), 1)?;
        }
    }
    let Checked { patterns, anchors, asks_evaluated, .. } = checked;
    Ok(JsonSchema { root, patterns, anchors, counts_siblings, asks_evaluated })
}

/// What was found in a schema.
#[derive(Default)]
struct Checked {
    patterns: HashMap<String, Regex>,
    anchors: HashMap<String, String>,
    references: Vec<String>,
    /// Schemas that were checked, by their place in memory.
    seen: HashSet<*const Value>,
    asks_evaluated: bool,
}

impl Checked {
    /// Checks the schema at a pointer.
    fn schema(&mut self, schema: &Value, at: &mut String, depth: usize) -> Result<(), String> {
        if depth > MOST_NESTED {
            return Err(format!("it is nested more than {MOST_NESTED} times"));
        }
        if schema.is_boolean() {
            return Ok(());
        }
        let Some(fields) = schema.as_object() else {
            return Err(format!("{schema} is no schema at {at:?}"));
        };
        self.seen.insert(std::ptr::from_ref(schema));
        self.named(fields, at, depth)?;
        for (keyword, value) in fields {
            let wrong = || format!("{value} is no value of {keyword:?} at {at:?}");
            if !self.fits(keyword, value)? {
                return Err(wrong());
            }
            let begin = at.len();
            at.push('/');
            at.push_str(&escaped(keyword));
            self.schemas(keyword, value, at, depth + 1)?;
            at.truncate(begin);
        }
        Ok(())
    }

    /// Notes the names that a schema has.
    fn named(&mut self, fields: &Map<String, Value>, at: &str, depth: usize) -> Result<(), String> {
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = fields.get(keyword).and_then(Value::as_str) {
                self.anchors.insert(anchor.to_owned(), at.to_owned());
            }
        }
        for keyword in ["$id", "id"] {
            let Some(id) = fields.get(keyword).and_then(Value::as_str) else { continue };
            match id.strip_prefix('#') {
                Some(anchor) => drop(self.anchors.insert(anchor.to_owned(), at.to_owned())),
                None if depth > 0 && keyword == "$id" => {
                    return Err(format!("the schema {id:?} inside of it: name it by an $anchor"));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Returns true if a keyword can have this value. Unknown keywords can have any.
    fn fits(&mut self, keyword: &str, value: &Value) -> Result<bool, String> {
        Ok(match keyword {
            "type" => match value.as_array() {
                Some(list) => !list.is_empty() && list.iter().all(is_type),
                None => is_type(value),
            },
            "enum" => value.is_array(),
            "required" => is_texts(value),
            "dependentRequired" => value.as_object().is_some_and(|map| map.values().all(is_texts)),
            "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties"
            | "minProperties" | "maxContains" | "minContains" => {
                value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0)
            }
            "maximum" | "minimum" => value.is_number(),
            "exclusiveMaximum" | "exclusiveMinimum" => value.is_number() || value.is_boolean(),
            "multipleOf" => value.as_f64().is_some_and(|divisor| divisor > 0.0),
            "uniqueItems" => value.is_boolean(),
            "pattern" => {
                self.pattern(value.as_str())?;
                true
            }
            "patternProperties" => {
                for pattern in value.as_object().into_iter().flat_map(Map::keys) {
                    self.pattern(Some(pattern))?;
                }
                value.is_object()
            }
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                self.references.extend(value.as_str().map(str::to_owned));
                value.is_string()
            }
            "unevaluatedItems" | "unevaluatedProperties" => {
                self.asks_evaluated = true;
                true
            }
            _ => true,
        })
    }

    /// Checks the schemas that are the value of a keyword.
    fn schemas(
        &mut self,
        keyword: &str,
        value: &Value,
        at: &mut String,
        depth: usize,
    ) -> Result<(), String> {
        match (keyword, value) {
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", value) => {
                let list = value.as_array().filter(|list| !list.is_empty());
                let list =
                    list.ok_or_else(|| format!("{value} is no list of schemas at {at:?}"))?;
                self.each(list.iter().enumerate(), at, depth)
            }
            ("items", Value::Array(list)) => self.each(list.iter().enumerate(), at, depth),
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                _,
            ) => {
                let map = value.as_object();
                let map = map.ok_or_else(|| format!("{value} has no schemas by name at {at:?}"))?;
                self.each(map.iter(), at, depth)
            }
            ("dependencies", Value::Object(map)) => {
                self.each(map.iter().filter(|(_, value)| !is_texts(value)), at, depth)
            }
            (
                "additionalItems"
                | "additionalProperties"
                | "contains"
                | "else"
                | "if"
                | "items"
                | "not"
                | "propertyNames"
                | "then"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                value,
            ) => self.schema(value, at, depth),
            _ => Ok(()),
        }
    }

    fn each<'a>(
        &mut self,
        schemas: impl Iterator<Item = (impl ToString, &'a Value)>,
        at: &mut String,
        depth: usize,
    ) -> Result<(), String> {
        for (name, schema) in schemas {
            let begin = at.len();
            at.push('/');
            at.push_str(&escaped(&name.to_string()));
            self.schema(schema, at, depth)?;
            at.truncate(begin);
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: Option<&str>) -> Result<(), String> {
        let pattern = pattern.ok_or("a pattern is no text")?;
        let translated = jsonschema_regex::to_rust_regex(pattern)
            .map_err(|()| format!("the pattern {pattern:?} is no regular expression"))?;
        let compiled = Regex::new(&translated).map_err(|_| {
            format!("the pattern {pattern:?} cannot be matched in linear time: it looks around, or is too large")
        })?;
        self.patterns.insert(pattern.to_owned(), compiled);
        Ok(())
    }
}

fn is_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| TYPES.contains(&name))
}

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

/// A name as a step of a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
