//! Hooks: the user's own commands that run at hook points of a turn.
//!
//! They come from the command line or the user's configuration folder, never from a workspace:
//! opening a repository must not run its code.

use std::path::Path;
use std::sync::Arc;

use windlass_engine::core::ToolSpec;
use windlass_engine::ports::{Hooks, NoHooks};
use windlass_hooks::{CommandHooks, ToolAlias};

use super::tools::configured;
use crate::exit::Failure;

/// Loads the hooks of a file, or of the user's default one, for a session with these tools.
pub(crate) fn hooks(file: Option<&Path>, tools: &[ToolSpec]) -> Result<Arc<dyn Hooks>, Failure> {
    let file = match file {
        Some(file) => file.to_owned(),
        None => match configured("hooks.json") {
            Some(file) if file.is_file() => file,
            Some(_) | None => return Ok(Arc::new(NoHooks)),
        },
    };
    match CommandHooks::load(&file, tools, aliases()) {
        Ok(hooks) => Ok(Arc::new(hooks)),
        Err(error) => Err(Failure::usage(error.to_string())),
    }
}

/// Returns the tool names that hook scripts use, which are those of Claude Code.
fn aliases() -> Vec<ToolAlias> {
    vec![
        ToolAlias::new("shell", "Bash").field("timeout_ms", "timeout"),
        ToolAlias::new("exec_command", "Bash").field("cmd", "command"),
        ToolAlias::new("read_file", "Read").path("path", "file_path"),
        ToolAlias::new("write_file", "Write").path("path", "file_path"),
        ToolAlias::new("edit_file", "Edit")
            .path("path", "file_path")
            .field("old", "old_string")
            .field("new", "new_string"),
        ToolAlias::new("grep", "Grep").path("path", "path").field("ignore_case", "-i"),
        ToolAlias::new("glob", "Glob").path("path", "path"),
        ToolAlias::new("list_dir", "LS").path("path", "path"),
    ]
}
