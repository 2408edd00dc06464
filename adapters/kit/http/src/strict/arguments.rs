//! The way back: arguments as the tool's own schema has them.

use serde_json::value::RawValue;

use super::form::{alternatives, is_required, resolve};
use super::json::{self, Json};

/// Removes nulls that the strict form of a schema allows and the schema does not: a model that must
/// name each property leaves one out by them. Returns `None` if there are none.
///
/// All other text stays as the model wrote it.
pub(super) fn without_added_nulls(schema: &Json, arguments: &str) -> Option<String> {
    let mut writer = ArgumentsWriter { root: schema, out: String::new(), removed: false };
    writer.value(Some(schema), arguments, 0)?;
    writer.removed.then_some(writer.out)
}

struct ArgumentsWriter<'a> {
    root: &'a Json,
    out: String,
    removed: bool,
}

impl ArgumentsWriter<'_> {
    /// Writes a value of a schema. Returns `None` if it is not JSON.
    fn value(&mut self, schema: Option<&Json>, text: &str, level: usize) -> Option<()> {
        let schema = schema.filter(|_| level < json::LEVELS);
        let schema = schema.and_then(|schema| resolve(self.root, schema));
        match (schema, text.trim_start().bytes().next()) {
            (Some(schema), Some(b'{')) => self.object(schema, text, level),
            (Some(schema), Some(b'[')) => self.array(schema, text, level),
            (Some(_) | None, _) => {
                self.out.push_str(text);
                Some(())
            }
        }
    }

    fn object(&mut self, schema: &Json, text: &str, level: usize) -> Option<()> {
        let entries = json::entries(text)?;
        let schema = object_schema(self.root, schema, &entries);
        let mut end = text.find('{')? + 1;
        self.out.push_str(text.get(..end)?);
        let mut is_first = true;
        for (at, (name, value)) in entries.iter().enumerate() {
            let start = offset(text, value)?;
            let before = text.get(end..start)?;
            end = start + value.get().len();
            // The first comma separates; those of the name come after it.
            let comma = if at == 0 { 0 } else { before.find(',')? };
            let (space, mut entry) = before.split_at(comma);
            self.out.push_str(space);
            if schema.is_some_and(|schema| is_added_null(self.root, schema, name, value)) {
                self.removed = true;
                continue;
            }
            if is_first {
                entry = entry.strip_prefix(',').unwrap_or(entry);
                is_first = false;
            }
            self.out.push_str(entry);
            let property = schema.and_then(|schema| schema.get("properties")?.get(name));
            self.value(property, value.get(), level + 1)?;
        }
        self.out.push_str(text.get(end..)?);
        Some(())
    }

    fn array(&mut self, schema: &Json, text: &str, level: usize) -> Option<()> {
        let schemas = candidates(schema).filter_map(|schema| resolve(self.root, schema));
        let of = schemas.filter_map(|schema| schema.get("items")).next();
        let mut end = 0;
        for item in json::items(text)? {
            let start = offset(text, item)?;
            self.out.push_str(text.get(end..start)?);
            end = start + item.get().len();
            self.value(of, item.get(), level + 1)?;
        }
        self.out.push_str(text.get(end..)?);
        Some(())
    }
}

/// Returns the schema, or the ones of which a value fits one.
fn candidates(schema: &Json) -> impl Iterator<Item = &Json> {
    let own = std::slice::from_ref(schema);
    alternatives(schema).unwrap_or(own).iter()
}

/// Returns the schema of an object: the first that has all of its properties, since the strict form
/// allows no others, and whose constants are its own.
fn object_schema<'s>(
    root: &'s Json,
    schema: &'s Json,
    entries: &[(String, &RawValue)],
) -> Option<&'s Json> {
    let fits = |properties: &Json| {
        entries.iter().all(|(name, value)| {
            let property = properties.get(name);
            property.is_some_and(|property| {
                property.get("const").is_none_or(|constant| constant.is(value.get()))
            })
        })
    };
    let mut objects = candidates(schema).filter_map(|schema| resolve(root, schema));
    if alternatives(schema).is_none() {
        return objects.next();
    }
    objects.find(|schema| schema.get("properties").is_some_and(fits))
}

/// Returns true for a null of an optional property whose own schema has none.
fn is_added_null(root: &Json, object: &Json, name: &str, value: &RawValue) -> bool {
    let property = object.get("properties").and_then(|properties| properties.get(name));
    value.get() == "null"
        && !is_required(object, name)
        && property.is_some_and(|property| !allows_null(root, property, 0))
}

/// Returns true if null fits a schema that has a strict form.
fn allows_null(root: &Json, schema: &Json, level: usize) -> bool {
    let Some(schema) = resolve(root, schema).filter(|_| level < json::LEVELS) else {
        return true;
    };
    if let Some(schemas) = alternatives(schema) {
        return schemas.iter().any(|schema| allows_null(root, schema, level + 1));
    }
    let listed = schema.get("enum").is_none_or(|all| all.items().iter().any(|one| one.is("null")));
    let constant = schema.get("const").is_none_or(|one| one.is("null"));
    super::form::has_type(schema, "null") && listed && constant
}

/// Returns the position of a part of a text within it, in bytes.
fn offset(text: &str, part: &RawValue) -> Option<usize> {
    part.get().as_ptr().addr().checked_sub(text.as_ptr().addr())
}
