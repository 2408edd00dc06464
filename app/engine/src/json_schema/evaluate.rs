//! Compares a value with a compiled schema, keyword by keyword.

use std::cell::Cell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::check::escaped;
use super::keyword::{Keyword, natural};
use super::words::Shown;
use super::{JsonSchema, SchemaFault, words};

/// Most schemas that are nested or referred to on the way to one value.
const MOST_DEEP: usize = 200;
/// Most comparisons with a schema in one check: so many for each part of the value, and some for any value. One
/// with a list or an object counts as many as it has items or properties, and one.
const MOST_STEPS: (u64, u64) = (100, 20_000);
/// Keywords that apply to the rest of a value, after all others.
const LAST: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];

/// Returns the first faults of a value.
pub(super) fn faults(schema: &JsonSchema, value: &Value, most: usize) -> Vec<SchemaFault> {
    let (each, any) = MOST_STEPS;
    let steps = Cell::new(parts(value).saturating_mul(each).saturating_add(any));
    let mut run = Run { schema, steps: &steps, most, depth: 0, faults: Vec::new() };
    run.value(&schema.root, value, &Place::Root);
    run.faults
}

/// Number of values in a value, itself included.
fn parts(value: &Value) -> u64 {
    let items = value.as_array().into_iter().flatten();
    let properties = value.as_object().into_iter().flat_map(Map::values);
    items.chain(properties).map(parts).fold(1, u64::saturating_add)
}

/// Number of items or properties: each keyword looks at them.
fn children(value: &Value) -> u64 {
    let items = value.as_array().map_or(0, Vec::len);
    (items + value.as_object().map_or(0, Map::len)) as u64
}

/// A place in the value.
enum Place<'a> {
    Root,
    Name(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Name(parent, name) => format!("{}/{}", parent.pointer(), escaped(name)),
            Self::Index(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// Parts of a value that some schema looked at.
#[derive(Default)]
struct Evaluated {
    names: BTreeSet<String>,
    indexes: BTreeSet<usize>,
}

impl Evaluated {
    fn add(&mut self, other: Self) {
        self.names.extend(other.names);
        self.indexes.extend(other.indexes);
    }
}

/// One check. A part of it that may fail without a fault has a run of its own.
struct Run<'a> {
    schema: &'a JsonSchema,
    /// Comparisons that are left.
    steps: &'a Cell<u64>,
    most: usize,
    depth: usize,
    faults: Vec<SchemaFault>,
}

impl<'a> Run<'a> {
    fn fault(&mut self, place: &Place<'_>, words: String) {
        if self.faults.len() < self.most {
            self.faults.push(SchemaFault { place: place.pointer(), words });
        }
    }

    /// Compares in a run of its own, and returns the evaluated parts of a value that fits.
    fn fitting(&self, schema: &'a Value, value: &Value, place: &Place<'_>) -> Option<Evaluated> {
        let (steps, depth) = (self.steps, self.depth);
        let mut run = Run { schema: self.schema, steps, most: 1, depth, faults: Vec::new() };
        let evaluated = run.value(schema, value, place);
        run.faults.is_empty().then_some(evaluated)
    }

    /// Compares a value with a schema.
    fn value(&mut self, schema: &'a Value, value: &Value, place: &Place<'_>) -> Evaluated {
        let mut evaluated = Evaluated::default();
        if self.faults.len() >= self.most {
            return evaluated;
        }
        let (left, cost) = (self.steps.get(), 1 + children(value));
        self.steps.set(left.saturating_sub(cost));
        if self.depth >= MOST_DEEP || left == 0 {
            self.fault(place, "its schema makes a check of it too long or too deep".to_owned());
            return evaluated;
        }
        if schema == &Value::Bool(false) {
            self.fault(place, format!("False schema does not allow {}", Shown(value)));
        }
        let Some(fields) = schema.as_object() else {
            return evaluated;
        };
        self.depth += 1;
        let hidden = fields.contains_key("$ref") && !self.schema.counts_siblings;
        for (keyword, operand) in fields {
            if !LAST.contains(&keyword.as_str()) && (!hidden || keyword == "$ref") {
                let checked = Keyword { fields, keyword, operand };
                self.keyword(&checked, value, place, &mut evaluated);
            }
        }
        for keyword in LAST {
            if let Some(operand) = fields.get(keyword).filter(|_| !hidden) {
                let checked = Keyword { fields, keyword, operand };
                self.unevaluated(&checked, value, place, &mut evaluated);
            }
        }
        self.depth -= 1;
        evaluated
    }

    fn keyword(
        &mut self,
        at: &Keyword<'a>,
        value: &Value,
        place: &Place<'_>,
        evaluated: &mut Evaluated,
    ) {
        if let Some(words) = at.plain(value, |pattern, text| self.matches(pattern, text)) {
            return self.fault(place, words);
        }
        self.combined(at, value, place, evaluated);
        if let Some(items) = value.as_array() {
            self.items(at, value, items, place, evaluated);
        }
        if let Some(properties) = value.as_object() {
            self.properties(at, properties, place, evaluated);
            self.dependent(at, value, properties, place, evaluated);
        }
    }

    /// Keywords that apply other schemas to the same value.
    fn combined(
        &mut self,
        at: &Keyword<'a>,
        value: &Value,
        place: &Place<'_>,
        evaluated: &mut Evaluated,
    ) {
        match at.keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                let schema: &'a JsonSchema = self.schema;
                let referenced = at.operand.as_str().and_then(|name| schema.referenced(name));
                match referenced {
                    Some(target) => evaluated.add(self.value(target, value, place)),
                    None => self.fault(place, format!("{} refers to nothing", at.operand)),
                }
            }
            "allOf" => {
                for schema in at.list() {
                    evaluated.add(self.value(schema, value, place));
                }
            }
            "anyOf" | "oneOf" => self.alternatives(at, value, place, evaluated),
            "not" if self.fitting(at.operand, value, place).is_some() => {
                self.fault(place, format!("{} is not allowed for {}", at.operand, Shown(value)));
            }
            "if" => {
                let branch = match self.fitting(at.operand, value, place) {
                    Some(found) => {
                        evaluated.add(found);
                        "then"
                    }
                    None => "else",
                };
                if let Some(schema) = at.fields.get(branch) {
                    evaluated.add(self.value(schema, value, place));
                }
            }
            _ => {}
        }
    }

    fn alternatives(
        &mut self,
        at: &Keyword<'a>,
        value: &Value,
        place: &Place<'_>,
        evaluated: &mut Evaluated,
    ) {
        let (only_one, mut fitting) = (at.keyword == "oneOf", 0_u32);
        for schema in at.list() {
            let Some(found) = self.fitting(schema, value, place) else { continue };
            evaluated.add(found);
            fitting += 1;
            // The other ones may evaluate more.
            if !only_one && !self.schema.asks_evaluated {
                break;
            }
        }
        let (of, keyword) = ("of the schemas listed in the", at.keyword);
        if fitting == 0 {
            self.fault(
                place,
                format!("{} is not valid under any {of} '{keyword}' keyword", Shown(value)),
            );
        } else if only_one && fitting > 1 {
            self.fault(
                place,
                format!("{} is valid under more than one {of} '{keyword}' keyword", Shown(value)),
            );
        }
    }

    /// Keywords that apply schemas to the items of a list.
    fn items(
        &mut self,
        at: &Keyword<'a>,
        value: &Value,
        items: &[Value],
        place: &Place<'_>,
        evaluated: &mut Evaluated,
    ) {
        let (schemas, rest): (&'a [Value], Option<&'a Value>) = match at.keyword {
            "prefixItems" => (at.list(), None),
            "items" if at.operand.is_array() => (at.list(), None),
            "items" => (&[], Some(at.operand)),
            "additionalItems" if at.fields.get("items").is_some_and(Value::is_array) => {
                (&[], Some(at.operand))
            }
            "contains" => return self.contains(at, value, items, place, evaluated),
            _ => return,
        };
        let before = at.items_before();
        for (index, item) in items.iter().enumerate() {
            let schema = schemas.get(index).or(rest.filter(|_| index >= before));
            if let Some(schema) = schema {
                self.value(schema, item, &Place::Index(place, index));
                self.note_index(evaluated, index);
            }
        }
    }

    fn contains(
        &mut self,
        at: &Keyword<'a>,
        value: &Value,
        items: &[Value],
        place: &Place<'_>,
        evaluated: &mut Evaluated,
    ) {
        let mut found: u64 = 0;
        for (index, item) in items.iter().enumerate() {
            if self.fitting(at.operand, item, &Place::Index(place, index)).is_some() {
                found += 1;
                self.note_index(evaluated, index);
            }
        }
        let bound = |name| at.fields.get(name).and_then(natural);
        let least = bound("minContains").unwrap_or(1);
        if found < least || bound("maxContains").is_some_and(|most| found > most) {
            self.fault(place, format!("None of {} are valid under the given schema", Shown(value)));
        }
    }

    /// Keywords that apply schemas to the properties of an object.
    fn properties(
        &mut self,
        at: &Keyword<'a>,
        properties: &Map<String, Value>,
        place: &Place<'_>,
        evaluated: &mut Evaluated,
    ) {
        match at.keyword {
            "properties" => {
                for (name, schema) in at.map() {
                    if let Some(value) = properties.get(name) {
                        self.value(schema, value, &Place::Name(place, name));
                        self.note_name(evaluated, name);
                    }
                }
            }
            "patternProperties" => {
                for (name, value) in properties {
                    for (pattern, schema) in at.map() {
                        if !self.matches(pattern, name) {
                            continue;
                        }
                        self.value(schema, value, &Place::Name(place, name));
                        self.note_name(evaluated, name);
                    }
                }
            }
            "propertyNames" => {
                for name in properties.keys() {
                    self.value(at.operand, &Value::from(name.as_str()), place);
                }
            }
            "additionalProperties" => {
                let rest = properties.iter().filter(|(name, _)| !self.is_listed(at, name));
                let rest: Vec<(&String, &Value)> = rest.collect();
                if at.operand == &Value::Bool(false) && !rest.is_empty() {
                    let names: Vec<String> = rest.iter().map(|(name, _)| (*name).clone()).collect();
                    return self.fault(place, words::unexpected("Additional properties", &names));
                }
                for (name, value) in rest {
                    self.value(at.operand, value, &Place::Name(place, name));
                    self.note_name(evaluated, name);
                }
            }
            _ => {}
        }
    }

    /// Returns true if the keywords beside `additionalProperties` name a property.
    fn is_listed(&self, at: &Keyword<'a>, name: &str) -> bool {
        let map = |keyword| at.fields.get(keyword).and_then(Value::as_object);
        map("properties").is_some_and(|listed| listed.contains_key(name))
            || map("patternProperties").into_iter().flatten().any(|(it, _)| self.matches(it, name))
    }

    /// Keywords that apply if a property is there.
    fn dependent(
        &mut self,
        at: &Keyword<'a>,
        value: &Value,
        properties: &Map<String, Value>,
        place: &Place<'_>,
        evaluated: &mut Evaluated,
    ) {
        if at.keyword == "required" {
            return self.required(at.list(), properties, place);
        }
        if !matches!(at.keyword, "dependencies" | "dependentRequired" | "dependentSchemas") {
            return;
        }
        for (_, operand) in at.map().filter(|(name, _)| properties.contains_key(*name)) {
            match operand.as_array() {
                Some(names) => self.required(names, properties, place),
                None => evaluated.add(self.value(operand, value, place)),
            }
        }
    }

    fn required(&mut self, names: &[Value], properties: &Map<String, Value>, place: &Place<'_>) {
        for name in names {
            if name.as_str().is_some_and(|name| !properties.contains_key(name)) {
                self.fault(place, format!("{name} is a required property"));
            }
        }
    }

    /// Applies a schema to what no other one looked at.
    fn unevaluated(
        &mut self,
        at: &Keyword<'a>,
        value: &Value,
        place: &Place<'_>,
        evaluated: &mut Evaluated,
    ) {
        let mut unexpected = Vec::new();
        if at.keyword == "unevaluatedItems" {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                if evaluated.indexes.insert(index) {
                    let fits =
                        self.fitting(at.operand, item, &Place::Index(place, index)).is_some();
                    unexpected.extend((!fits).then(|| item.to_string()));
                }
            }
        } else {
            for (name, property) in value.as_object().into_iter().flatten() {
                if evaluated.names.insert(name.clone()) {
                    let fits =
                        self.fitting(at.operand, property, &Place::Name(place, name)).is_some();
                    unexpected.extend((!fits).then(|| name.clone()));
                }
            }
        }
        if !unexpected.is_empty() {
            let kind = if at.keyword == "unevaluatedItems" { "items" } else { "properties" };
            self.fault(place, words::unexpected(&format!("Unevaluated {kind}"), &unexpected));
        }
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        self.schema.patterns.get(pattern).is_some_and(|pattern| pattern.is_match(text))
    }

    /// Notes an item that was evaluated, if some schema asks for these.
    fn note_index(&self, evaluated: &mut Evaluated, index: usize) {
        if self.schema.asks_evaluated {
            evaluated.indexes.insert(index);
        }
    }

    fn note_name(&self, evaluated: &mut Evaluated, name: &str) {
        if self.schema.asks_evaluated {
            evaluated.names.insert(name.to_owned());
        }
    }
}
