//! Aliases: the names that hook scripts know a tool and its arguments by.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// A tool under the name that hook scripts know it by.
///
/// Scripts for Claude Code look for `Bash` with a `command`, or `Write` with a `file_path`; this
/// says which tool is meant, and which of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAlias {
    /// The tool's own name.
    pub name: String,
    /// The name that hooks are told. A matcher may name either.
    pub alias: String,
    /// The arguments that have another name, or another form; the others are told as they are.
    pub fields: Vec<FieldAlias>,
}

/// An argument under the name that hook scripts know it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldAlias {
    /// The argument's own name.
    pub name: String,
    /// The name that hooks are told.
    pub alias: String,
    /// Kind of its value.
    pub kind: FieldKind,
}

/// Kind of an argument's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// Told as it is.
    Plain,
    /// A path: hooks are told an absolute one.
    Path,
}

impl ToolAlias {
    /// A tool under another name, with the same arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, alias: impl Into<String>) -> Self {
        Self { name: name.into(), alias: alias.into(), fields: Vec::new() }
    }

    /// The same, with an argument under another name.
    #[must_use]
    pub fn field(self, name: impl Into<String>, alias: impl Into<String>) -> Self {
        self.with(name.into(), alias.into(), FieldKind::Plain)
    }

    /// The same, with an argument under another name that is a path.
    #[must_use]
    pub fn path(self, name: impl Into<String>, alias: impl Into<String>) -> Self {
        self.with(name.into(), alias.into(), FieldKind::Path)
    }

    fn with(mut self, name: String, alias: String, kind: FieldKind) -> Self {
        self.fields.push(FieldAlias { name, alias, kind });
        self
    }
}

/// The arguments as hooks are told them.
pub(crate) fn to_script_arguments(
    ours: &Map<String, Value>,
    fields: &[FieldAlias],
    workspace: Option<&Path>,
) -> Map<String, Value> {
    let mut told = ours.clone();
    for field in fields {
        told.remove(&field.name);
    }
    // After the others: nothing that the model adds may stand in for what the tool will use.
    for field in fields {
        if let Some(value) = ours.get(&field.name) {
            told.insert(field.alias.clone(), shown(value, field.kind, workspace));
        }
    }
    told
}

/// The tool's own arguments for what a hook puts in their place.
pub(crate) fn from_script_arguments(
    theirs: &Map<String, Value>,
    before: &Map<String, Value>,
    fields: &[FieldAlias],
    workspace: Option<&Path>,
) -> Map<String, Value> {
    let mut meant = theirs.clone();
    for field in fields {
        meant.remove(&field.alias);
    }
    for field in fields {
        let Some(value) = theirs.get(&field.alias) else {
            continue;
        };
        // A path that the hook left alone stays as the model wrote it.
        let kept =
            before.get(&field.name).filter(|old| shown(old, field.kind, workspace) == *value);
        meant.insert(field.name.clone(), kept.unwrap_or(value).clone());
    }
    meant
}

fn shown(value: &Value, kind: FieldKind, workspace: Option<&Path>) -> Value {
    match (kind, value, workspace) {
        (FieldKind::Path, Value::String(path), Some(workspace)) => {
            // Its components, since that leaves out `.` and doubled separators.
            let whole: PathBuf = workspace.join(path).components().collect();
            Value::String(whole.to_string_lossy().into_owned())
        }
        (FieldKind::Path | FieldKind::Plain, _, _) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edit() -> ToolAlias {
        ToolAlias::new("edit_file", "Edit").path("path", "file_path").field("old", "old_string")
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn there(value: Value) -> Value {
        let workspace = Some(Path::new("/w"));
        Value::Object(to_script_arguments(&object(value), &edit().fields, workspace))
    }

    fn back(value: Value, before: Value) -> Value {
        let (value, before) = (object(value), object(before));
        let workspace = Some(Path::new("/w"));
        Value::Object(from_script_arguments(&value, &before, &edit().fields, workspace))
    }

    #[test]
    fn arguments_are_told_under_their_names_with_whole_paths() {
        let ours = json!({"path": "./a/b.rs", "old": "x", "replace_all": true});
        let theirs = json!({"file_path": "/w/a/b.rs", "old_string": "x", "replace_all": true});
        assert_eq!(there(ours.clone()), theirs);
        assert_eq!(back(theirs, ours.clone()), ours);
        assert_eq!(there(json!({"path": "/e/f"})), json!({"file_path": "/e/f"}));
        assert_eq!(there(json!({"path": 7})), json!({"file_path": 7}));
    }

    #[test]
    fn what_a_hook_changes_comes_back_under_the_tools_names() {
        let ours = json!({"path": "a", "old": "x"});
        let changed = json!({"file_path": "/w/b", "old_string": "y", "more": 1});
        assert_eq!(back(changed, ours), json!({"path": "/w/b", "old": "y", "more": 1}));
    }

    #[test]
    fn an_argument_of_their_name_cannot_hide_the_one_that_counts() {
        let ours = json!({"path": "secret", "file_path": "/w/harmless"});
        assert_eq!(there(ours), json!({"file_path": "/w/secret"}));
        let theirs = json!({"path": "/w/other", "file_path": "/w/b"});
        assert_eq!(back(theirs, json!({})), json!({"path": "/w/b"}));
    }
}
