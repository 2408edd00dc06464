//! Hook commands as the engine's `Hooks` port.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tracing::warn;
use windlass_core::{
    Edit, HookOrder, HookReply, HookSpec, HookVerdict, ObservationStatus, ToolSpec,
};
use windlass_kit_process::absolute_only;
use windlass_ports::{HookCall, HookContext, HookError, HookSubject, Hooks, Redactor, TurnCalls};

use crate::alias::{FieldAlias, ToolAlias, from_script_arguments, to_script_arguments};
use crate::error::LoadError;
use crate::event::HookEvent;
use crate::file::{HookCommand, HooksFile};
use crate::process::{HookJob, HookRunError, run};
use crate::question::{HookToolCall, earlier_call, earlier_calls, folder, question};
use crate::redact::Redaction;
use crate::roster::{RosterEntry, roster};
use crate::verdict::{ParsedReply, read};

/// The largest hooks file, in bytes.
const FILE_BYTES: u64 = 1024 * 1024;

/// The user's hook commands.
#[derive(Debug)]
pub struct CommandHooks {
    rows: Vec<RosterEntry>,
    aliases: Vec<ToolAlias>,
    redaction: Option<Redaction>,
    notes: Vec<String>,
}

impl CommandHooks {
    /// Loads a hooks file, or a settings file with hooks in it, for a session with these tools.
    ///
    /// The path is the user's own word: nothing is ever looked for in a workspace.
    ///
    /// # Errors
    /// [`LoadError`] when the file cannot be read, or would not do what it says.
    pub fn load(
        path: &Path,
        tools: &[ToolSpec],
        aliases: Vec<ToolAlias>,
    ) -> Result<Self, LoadError> {
        let origin = path.display().to_string();
        let failed = |error: std::io::Error| {
            LoadError::new(format!("reading the hooks file {origin} failed: {error}"))
                .caused_by(error)
        };
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        file.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > FILE_BYTES {
            return Err(LoadError::new(format!(
                "the hooks file {origin} is larger than {FILE_BYTES} bytes"
            )));
        }
        Self::parse(&text, &origin, tools, aliases)
    }

    /// Reads the text of a hooks file. `origin` names it in messages.
    ///
    /// # Errors
    /// [`LoadError`] when it would not do what it says.
    pub fn parse(
        text: &str,
        origin: &str,
        tools: &[ToolSpec],
        aliases: Vec<ToolAlias>,
    ) -> Result<Self, LoadError> {
        let whose = format!("the hooks file {origin}");
        let mut file = HooksFile::parse(text).map_err(|error| error.at(&whose))?;
        let rows = roster(file.entries, tools, &aliases, &mut file.notes)
            .map_err(|error| error.at(&whose))?;
        let redaction = Redaction::new(&file.redact).map_err(|error| error.at(&whose))?;
        for note in &file.notes {
            warn!(file = origin, "{note}");
        }
        Ok(Self { rows, aliases, redaction, notes: file.notes })
    }

    /// Returns notes for the author of the file: events that do not occur here, matchers without a match, unknown
    /// keys. Each was logged as a warning.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The call under the names that hooks know, with its own arguments.
    fn script_call(
        &self,
        about: &HookSubject,
        folder: &Path,
    ) -> Option<(HookToolCall, Map<String, Value>)> {
        let HookSubject::Call { tool, arguments, .. } = about else {
            return None;
        };
        Some(self.known(tool, arguments, folder))
    }

    /// A call under the names that hooks know, with its own arguments.
    fn known(
        &self,
        tool: &str,
        arguments: &str,
        folder: &Path,
    ) -> (HookToolCall, Map<String, Value>) {
        let alias = self.alias(tool);
        let name = alias.map_or(tool, |alias| &alias.alias).to_owned();
        let Ok(ours) = serde_json::from_str::<Map<String, Value>>(arguments) else {
            return (HookToolCall { tool: name, input: Value::from(arguments) }, Map::new());
        };
        let input = Value::Object(to_script_arguments(&ours, fields(alias), Some(folder)));
        (HookToolCall { tool: name, input }, ours)
    }

    /// The earlier calls of the turn, as JSON under the names that hooks know.
    fn earlier_calls(&self, calls: &TurnCalls, folder: &Path) -> Vec<Value> {
        let told = calls.listed.iter().map(|call| {
            let (known, _) = self.known(&call.tool, &call.arguments, folder);
            earlier_call(known, call.status)
        });
        told.collect()
    }

    fn alias(&self, tool: &str) -> Option<&ToolAlias> {
        self.aliases.iter().find(|alias| alias.name == tool)
    }

    /// Returns the edited arguments, unless they equal the original ones.
    fn edit(
        &self,
        about: &HookSubject,
        input: &Map<String, Value>,
        before: &Map<String, Value>,
        folder: &Path,
    ) -> Option<String> {
        let HookSubject::Call { tool, .. } = about else {
            return None;
        };
        let meant = from_script_arguments(input, before, fields(self.alias(tool)), Some(folder));
        (meant != *before).then(|| Value::Object(meant).to_string())
    }
}

#[async_trait]
impl Hooks for CommandHooks {
    fn hooks(&self) -> Vec<HookSpec> {
        self.rows.iter().map(|row| row.spec.clone()).collect()
    }

    async fn ask(&self, call: HookCall, context: HookContext) -> Result<HookReply, HookError> {
        let row = self.rows.iter().find(|row| row.spec.name == call.hook);
        let Some(row) = row.filter(|row| row.spec.point == call.at.point()) else {
            return Err(HookError::unsupported(format!(
                "the hooks file has no hook {} for this point; was it changed?",
                call.hook
            )));
        };
        if !concerns(row.event, &call.subject) {
            return Ok(HookReply::pass());
        }
        let folder = folder(&context);
        let told = self.script_call(&call.subject, &folder);
        let told_call = told.as_ref().map(|(told, _)| told);
        let asked = question(row.event, &call, told_call, &context, &folder);
        let calls = self.earlier_calls(&context.calls, &folder);
        let mut command = command(&row.run, &folder);
        command.env("WINDLASS_TURN_CALLS", earlier_calls(&calls, context.calls.cut));
        let job = HookJob {
            command,
            input: format!("{asked}\n").into_bytes(),
            max_bytes: context.max_bytes,
            limit: Duration::from_millis(context.timeout_ms),
            cancel: &context.cancel,
        };
        let ran = run(job).await.map_err(|unrun| error(row, &context, unrun))?;
        let failed =
            |why: String| HookError::failed(format!("the hook {} failed: {why}", call.hook));
        let answer = read(row.event, &ran).map_err(failed)?;
        if let Some(message) = &answer.message {
            warn!(hook = call.hook, session = %context.session, "{message}");
        }
        for key in &answer.unknown {
            warn!(hook = call.hook, key, "nothing is known of this key of its JSON");
        }
        let answer = limited(row, answer).map_err(failed)?;
        let input = answer.input.as_ref().and_then(|input| {
            let before = told.as_ref().map(|(_, before)| before)?;
            self.edit(&call.subject, input, before, &folder)
        });
        Ok(HookReply {
            verdict: answer.verdict,
            reason: answer.reason,
            edit: input.or(answer.prompt).map(|text| Edit::unchecked(Arc::from(text))),
            context: answer.context.map(Arc::from),
        })
    }

    fn redaction(&self) -> Option<String> {
        let redaction = self.redaction.as_ref()?;
        Some(redaction.name().to_owned())
    }

    fn redactor(&self) -> Option<Box<dyn Redactor>> {
        let redaction = self.redaction.as_ref()?;
        Some(Box::new(redaction.redactor()))
    }
}

fn fields(alias: Option<&ToolAlias>) -> &[FieldAlias] {
    alias.map_or(&[], |alias| &alias.fields)
}

/// Returns true if this event occurred. Calls that succeeded and calls that failed are different events; a call
/// that never ran is neither.
fn concerns(event: HookEvent, about: &HookSubject) -> bool {
    let HookSubject::Call { observation: Some(observation), .. } = about else {
        return true;
    };
    match observation.status {
        ObservationStatus::Done => event != HookEvent::PostToolUseFailure,
        ObservationStatus::Failed | ObservationStatus::Aborted | ObservationStatus::Unknown => {
            event != HookEvent::PostToolUse
        }
        ObservationStatus::Denied | ObservationStatus::NotStarted => {
            event != HookEvent::PostToolUse && event != HookEvent::PostToolUseFailure
        }
    }
}

/// The answer, as far as the hook's place among the others lets it count.
fn limited(row: &RosterEntry, answer: ParsedReply) -> Result<ParsedReply, String> {
    if row.background {
        return Ok(ParsedReply { context: answer.context, ..ParsedReply::pass() });
    }
    let changes = answer.input.is_some() || answer.prompt.is_some();
    if changes && row.spec.order == HookOrder::Parallel && answer.verdict != HookVerdict::Deny {
        return Err(String::from(
            "it is parallel, and only a sequential hook may change what it is asked about",
        ));
    }
    Ok(answer)
}

fn command(run: &HookCommand, folder: &Path) -> Command {
    let mut command = match run {
        HookCommand::Line { shell, line } => {
            let mut command = Command::new(shell);
            command.arg("-c").arg(line);
            command
        }
        HookCommand::Program { program, args } => {
            // No shell is there to put it in.
            let folder = folder.to_string_lossy();
            let filled = |text: &str| text.replace("${CLAUDE_PROJECT_DIR}", &folder);
            let mut command = Command::new(filled(program));
            command.args(args.iter().map(|arg| filled(arg)));
            command
        }
    };
    command.current_dir(folder).env("CLAUDE_PROJECT_DIR", folder);
    let path = std::env::var_os("PATH").map(|path| absolute_only(&path));
    match path.filter(|path| !path.is_empty()) {
        Some(path) => command.env("PATH", path),
        // An empty search path would be the workspace; without one the shell has its own.
        None => command.env_remove("PATH"),
    };
    command
}

fn error(row: &RosterEntry, context: &HookContext, unrun: HookRunError) -> HookError {
    let name = &row.spec.name;
    let (words, cause) = match unrun {
        HookRunError::NotStarted(cause) => {
            (format!("the hook {name} could not be started: {cause}"), Some(cause))
        }
        HookRunError::Lost(cause) => {
            (format!("nobody can tell how the hook {name} ended: {cause}"), Some(cause))
        }
        HookRunError::TimedOut => (
            format!("the hook {name} took longer than {} ms and was killed", context.timeout_ms),
            None,
        ),
        HookRunError::Cancelled => (format!("the hook {name} was asked to stop"), None),
        HookRunError::Flooded => (
            format!(
                "the hook {name} wrote far more than the {} bytes that it may and was killed",
                context.max_bytes
            ),
            None,
        ),
    };
    let error = HookError::failed(words);
    match cause {
        Some(cause) => error.caused_by(cause),
        None => error,
    }
}
