//! The tools file: what a user says of their own commands, read and checked.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use windlass_core::{AgentSpec, Concurrency, EffectClass, ToolSpec};

use crate::error::SetupError;
use windlass_kit_process::absolute_only;

/// Tools in one file.
pub(crate) const TOOLS: usize = 128;
/// Bytes of one file.
const BYTES: u64 = 1024 * 1024;

/// A command tool, ready to run.
#[derive(Debug, Clone)]
pub(crate) struct CommandTool {
    /// The tool as the engine knows it.
    pub(crate) spec: ToolSpec,
    /// Command line of the tool.
    pub(crate) line: CommandLine,
    /// Command line that reports afterwards whether a run took effect.
    pub(crate) reconcile: Option<CommandLine>,
    /// Variables that it is given beside the usual ones.
    pub(crate) env: Vec<String>,
}

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// The program's absolute path.
    pub(crate) program: PathBuf,
    /// Arguments of the program.
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolsFile {
    tools: Vec<ToolEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolEntry {
    name: String,
    description: String,
    #[serde(default)]
    parameters: Option<Map<String, Value>>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    effect: Option<EffectClass>,
    #[serde(default)]
    concurrency: Option<Concurrency>,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    reconcile: Option<Vec<String>>,
    #[serde(default)]
    agent: Option<Box<AgentSpec>>,
}

/// Default arguments of an agent.
const PROMPT: &str = r#"{"type":"object","properties":{"prompt":{"type":"string","description":"What it is to do, with all that it needs to know: it sees nothing else of this conversation."}},"required":["prompt"],"additionalProperties":false}"#;

/// Declarations of a tools file.
#[derive(Debug, Default)]
pub(crate) struct ToolDeclarations {
    /// Declared commands, in order.
    pub(crate) commands: Vec<CommandTool>,
    /// Agents, which the engine itself runs.
    pub(crate) agents: Vec<ToolSpec>,
}

/// Reads a tools file.
pub(crate) fn read(path: &Path) -> Result<ToolDeclarations, SetupError> {
    let shown = path.display();
    let failed = |error: std::io::Error| {
        SetupError::new(format!(
            "cannot read the tools file `{shown}`: {error}; name a file that you may read"
        ))
        .caused_by(error)
    };
    let path = path.canonicalize().map_err(failed)?;
    let found = path.metadata().map_err(failed)?;
    if !found.is_file() || found.len() > BYTES {
        return Err(SetupError::new(format!(
            "cannot use the tools file `{shown}`: it must be a regular file of at most {BYTES} \
             bytes"
        )));
    }
    let text = std::fs::read(&path).map_err(failed)?;
    let base = path.parent().unwrap_or(Path::new("/"));
    let search = absolute_only(&std::env::var_os("PATH").unwrap_or_default());
    parse(&text, base, &search).map_err(|fault| match fault {
        ToolsFileError::Json(error) => SetupError::new(format!(
            "cannot use the tools file `{shown}`: {error}; README.md of windlass-localfs shows \
             the format"
        ))
        .caused_by(error),
        ToolsFileError::Tool(text) => {
            SetupError::new(format!("cannot use the tools file `{shown}`: {text}"))
        }
    })
}

/// The names of the tools that a text declares, wherever their programs are; `None` when it is no
/// tools file.
pub(crate) fn names(text: &[u8]) -> Option<Vec<String>> {
    let declared = parse(text, Path::new("/"), OsStr::new("")).ok()?;
    let commands = declared.commands.into_iter().map(|tool| tool.spec);
    let all = commands.chain(declared.agents);
    Some(all.map(|spec| spec.name).collect())
}

#[derive(Debug)]
enum ToolsFileError {
    Json(serde_json::Error),
    Tool(String),
}

fn parse(text: &[u8], base: &Path, search: &OsStr) -> Result<ToolDeclarations, ToolsFileError> {
    let file: ToolsFile = serde_json::from_slice(text).map_err(ToolsFileError::Json)?;
    if file.tools.len() > TOOLS {
        return Err(ToolsFileError::Tool(format!(
            "it has more than {TOOLS} tools; leave some out"
        )));
    }
    let mut names = BTreeSet::new();
    let mut declared = ToolDeclarations::default();
    for (index, entry) in file.tools.into_iter().enumerate() {
        let name = entry.name.clone();
        let bad =
            |text: String| ToolsFileError::Tool(format!("tool {} (`{name}`): {text}", index + 1));
        if !names.insert(name.clone()) {
            return Err(bad(String::from("the name is taken by a tool before it; rename one")));
        }
        match &entry.agent {
            Some(_) => declared.agents.push(agent(entry).map_err(bad)?),
            None => {
                let tool = tool(entry, base, search).map_err(bad)?;
                declared.commands.push(tool);
            }
        }
    }
    Ok(declared)
}

/// Checks the rules for every entry: its name, its description, its time limit, its parameters.
fn checked(entry: &ToolEntry) -> Result<(), String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let name = &entry.name;
    if !(1..=64).contains(&name.len()) || !name.bytes().all(allowed) {
        return Err(String::from("a name has 1 to 64 characters of A-Z a-z 0-9 _ -"));
    }
    if entry.description.trim().is_empty() {
        return Err(String::from("`description` is empty: say to the model what the tool does"));
    }
    let kind = entry.parameters.as_ref().and_then(|schema| schema.get("type"));
    let none = entry.parameters.is_none() && entry.agent.is_some();
    if !none && kind.and_then(Value::as_str) != Some("object") {
        return Err(String::from("`parameters` must be a JSON Schema with \"type\": \"object\""));
    }
    if entry.timeout_ms == Some(0) {
        return Err(String::from("`timeout_ms` is at least 1"));
    }
    Ok(())
}

/// An agent, whose budget and tools the engine checks with the settings that they become part of.
fn agent(entry: ToolEntry) -> Result<ToolSpec, String> {
    checked(&entry)?;
    if !entry.command.is_empty() || entry.reconcile.is_some() || !entry.env.is_empty() {
        return Err(String::from(
            "an agent is run by the engine: leave out `command`, `reconcile` and `env`",
        ));
    }
    let parameters = entry.parameters.map(Value::Object);
    Ok(ToolSpec::new(entry.name, entry.effect.unwrap_or(EffectClass::Idempotent)).with(|it| {
        it.description = entry.description;
        it.parameters = parameters.map_or_else(|| PROMPT.to_owned(), |schema| schema.to_string());
        it.concurrency = entry.concurrency.unwrap_or(Concurrency::Parallel);
        it.timeout_ms = entry.timeout_ms;
        it.agent = entry.agent;
    }))
}

fn tool(entry: ToolEntry, base: &Path, search: &OsStr) -> Result<CommandTool, String> {
    checked(&entry)?;
    let effect = entry.effect.unwrap_or(EffectClass::Effectful);
    if entry.reconcile.is_some() && effect == EffectClass::ReadOnly {
        return Err(String::from(
            "`reconcile` is for tools that change something: a `read_only` one is simply run \
             again after a crash; remove `reconcile` or correct `effect`",
        ));
    }
    if let Some(bad) = entry.env.iter().find(|name| !variable(name)) {
        return Err(format!(
            "`env` names variables to pass on, and `{bad}` is none that can be passed: a name \
             has no `=` and does not begin with WINDLASS_"
        ));
    }
    let line = command_line("command", entry.command, base, search)?;
    let reconcile =
        entry.reconcile.map(|parts| command_line("reconcile", parts, base, search)).transpose()?;
    Ok(CommandTool {
        spec: ToolSpec::new(entry.name, effect).with(|it| {
            it.description = entry.description;
            it.parameters = Value::Object(entry.parameters.unwrap_or_default()).to_string();
            it.concurrency = entry.concurrency.unwrap_or(Concurrency::Exclusive);
            it.timeout_ms = entry.timeout_ms;
            it.reconciles = reconcile.is_some();
        }),
        line,
        reconcile,
        env: entry.env,
    })
}

fn command_line(
    field: &str,
    parts: Vec<String>,
    base: &Path,
    search: &OsStr,
) -> Result<CommandLine, String> {
    if parts.iter().any(|part| part.contains('\0')) {
        return Err(format!("`{field}` has a zero byte in it"));
    }
    let mut parts = parts.into_iter();
    let Some(program) = parts.next().filter(|program| !program.is_empty()) else {
        return Err(format!("`{field}` is empty: name a program and its arguments"));
    };
    Ok(CommandLine { program: find(&program, base, search)?, arguments: parts.collect() })
}

fn variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !name.starts_with("WINDLASS_")
}

/// A program's absolute path. Never one of the workspace, unless the user names it so.
fn find(program: &str, base: &Path, search: &OsStr) -> Result<PathBuf, String> {
    if program.contains('/') {
        let path = base.join(program);
        return if executable(&path) {
            Ok(path)
        } else {
            Err(format!("`{}` is no file that may be executed", path.display()))
        };
    }
    let mut candidates = std::env::split_paths(search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program));
    candidates.find(|path| executable(path)).ok_or_else(|| {
        format!(
            "there is no program `{program}` in the folders of PATH: install it or name its path"
        )
    })
}

/// Returns true if an executable file exists at a path.
pub(crate) fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_never_looked_for_in_the_current_folder() {
        // From here, this relative folder is `/bin`, so only its being relative speaks against it.
        let up = "../".repeat(std::env::current_dir().unwrap().components().count());
        let relative = format!("{up}bin");
        assert!(executable(&Path::new(&relative).join("sh")));
        let base = Path::new("/");
        assert!(find("sh", base, OsStr::new(&relative)).is_err());
        assert!(find("sh", base, OsStr::new("")).is_err());
        assert_eq!(find("sh", base, OsStr::new("/bin")), Ok(PathBuf::from("/bin/sh")));
        assert_eq!(find("bin/sh", base, OsStr::new("")), Ok(PathBuf::from("/bin/sh")));
    }
}
