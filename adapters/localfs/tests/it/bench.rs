//! A tools file in a folder of its own, beside a workspace.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_localfs::{CommandTools, SetupError};

pub(crate) struct Bench {
    pub(crate) dir: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("ws")).unwrap();
        fs::create_dir(dir.path().join("config")).unwrap();
        Self { dir }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("ws")
    }

    pub(crate) fn load(&self, text: &str) -> Result<CommandTools, SetupError> {
        let file = self.dir.path().join("config/tools.json");
        fs::write(&file, text).unwrap();
        CommandTools::load(&file, &self.workspace())
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        let path = self.dir.path().join("config").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A tools file with one tool that runs this in a shell.
    pub(crate) fn tool(&self, script: &str, more: Value) -> CommandTools {
        self.load(&json!({"tools": [entry(script, more)]}).to_string()).unwrap()
    }
}

pub(crate) fn entry(script: &str, more: Value) -> Value {
    let mut entry = json!({
        "name": "t",
        "description": "A tool.",
        "parameters": {"type": "object"},
        "command": ["sh", "-c", script],
    });
    let fields = entry.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    entry
}
