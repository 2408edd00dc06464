//! Configuration of a tenant in the server's file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use windlass_server::Quota;

use super::tenant_settings::SessionChoices;
use crate::args::{
    CallPattern, ProcessLimitArgs, ProgramLimitFields, SandboxFlag, SettingsArgs, TimeoutFields,
    WebSearchArgs, WebSearchFields, age, amount, duration, edit_tools, mode, pattern, permissions,
    price, size, strategy, transport,
};
use crate::wiring::runtime;

/// Configuration of a tenant.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TenantEntry {
    /// Name of the tenant, as in tokens and the log.
    pub(super) name: String,
    /// Working folder of its tools.
    pub(super) workspace: PathBuf,
    /// Same as the flag `--provider`.
    provider: Option<String>,
    /// Same as the flag `--providers`.
    pub(super) providers: Option<PathBuf>,
    /// Same as the flag `--base-url`.
    base_url: Option<String>,
    /// Same as the flag `--model`: the default model.
    model: Option<String>,
    /// Other models that a session may be opened with.
    #[serde(default)]
    models: Vec<String>,
    /// Other runtimes that a session may be opened with to write programs.
    #[serde(default)]
    programs: Vec<String>,
    /// Same as the flag `--mode`.
    mode: Option<String>,
    /// Same as the flag `--permissions`.
    permissions: Option<String>,
    /// Same as the flag `--allow`.
    #[serde(default)]
    allow: Vec<String>,
    /// Same as the flag `--ask`.
    #[serde(default)]
    ask: Vec<String>,
    /// Same as the flag `--deny`.
    #[serde(default)]
    deny: Vec<String>,
    /// Same as the flag `--reask-after`.
    reask_after: Option<String>,
    /// Same as the flags `--max-samples` and `--max-session-bytes`.
    max_samples: Option<u32>,
    max_session_bytes: Option<String>,
    /// Same as the flag `--deadline`.
    deadline: Option<String>,
    /// Same as the flag `--max-tokens`.
    max_tokens: Option<u64>,
    /// Same as the flag `--max-output-tokens`.
    max_answer_tokens: Option<u64>,
    /// Same as the flag `--max-cost`.
    max_cost: Option<String>,
    /// Same as the flag `--price`.
    price: Option<String>,
    /// Same as the flag `--window`.
    window: Option<u64>,
    /// Same as the flag `--compaction`.
    compaction: Option<String>,
    /// Same as the flag `--edit-tool`.
    edit_tool: Option<String>,
    /// Lets the provider search the web, as the flag `--web-search` does.
    web_search: Option<WebSearchFields>,
    /// Same as the flag `--program`.
    program: Option<String>,
    /// Same as the flag `--program-transport`.
    program_transport: Option<String>,
    /// Same as the flag `--program-data`.
    program_data: Option<PathBuf>,
    /// Same as the flags `--program-steps`, `--program-time` and so on.
    #[serde(default)]
    program_limits: ProgramLimitFields,
    #[serde(default)]
    timeouts: TimeoutFields,
    /// Same as the flags `--processes`, `--process-output` and `--process-life`.
    processes: Option<usize>,
    process_output: Option<String>,
    process_life: Option<String>,
    /// Same as the flag `--tools`.
    tools: Option<PathBuf>,
    /// Same as the flag `--sandbox`.
    sandbox: Option<String>,
    /// Same as the flag `--hooks`.
    hooks: Option<PathBuf>,
    /// True to give models the `AGENTS.md` files of the workspace, which is the default.
    pub(super) agents: Option<bool>,
    /// Limits of the tenant.
    #[serde(default)]
    pub(super) quota: Quota,
}

impl TenantEntry {
    /// Resolves paths relative to the file that contains them.
    pub(super) fn resolve(&mut self, beside: &Path) {
        self.workspace = beside.join(&self.workspace);
        let paths = [&mut self.providers, &mut self.tools, &mut self.hooks, &mut self.program_data];
        for path in paths {
            *path = path.take().map(|path| beside.join(path));
        }
    }

    /// Returns the models and runtimes that a session may choose.
    pub(super) fn offers(&self) -> Result<SessionChoices, String> {
        let programs = self.programs.iter().map(|name| runtime(name));
        let programs: Result<_, _> = programs.collect();
        Ok(SessionChoices {
            models: self.models.clone(),
            programs: programs.map_err(|why| format!("programs: {why}"))?,
        })
    }

    /// Converts into the arguments of the command.
    pub(super) fn shape(&self) -> Result<SettingsArgs, String> {
        if self.max_samples == Some(0) || self.max_tokens == Some(0) || self.window == Some(0) {
            return Err("max_samples, max_tokens and window are at least 1".to_owned());
        }
        if self.max_answer_tokens.is_some_and(|tokens| tokens < 16) {
            return Err("max_answer_tokens is at least 16".to_owned());
        }
        if self.processes.is_some_and(|most| most > 1_000) {
            return Err("processes is a number from 0 to 1000".to_owned());
        }
        Ok(SettingsArgs {
            provider: self.provider.clone(),
            providers: self.providers.clone(),
            base_url: self.base_url.clone(),
            model: self.model.clone(),
            mode: read("mode", self.mode.as_ref(), mode)?,
            permissions: read("permissions", self.permissions.as_ref(), permissions)?,
            allow: patterns("allow", &self.allow)?,
            ask: patterns("ask", &self.ask)?,
            deny: patterns("deny", &self.deny)?,
            max_samples: self.max_samples,
            deadline: read("deadline", self.deadline.as_ref(), duration)?,
            max_tokens: self.max_tokens,
            max_output_tokens: self.max_answer_tokens,
            reask_after: read("reask_after", self.reask_after.as_ref(), age)?,
            max_cost: read("max_cost", self.max_cost.as_ref(), amount)?,
            max_session_bytes: read("max_session_bytes", self.max_session_bytes.as_ref(), size)?,
            price: read("price", self.price.as_ref(), price)?,
            window: self.window,
            compaction: read("compaction", self.compaction.as_ref(), strategy)?,
            edit_tool: read("edit_tool", self.edit_tool.as_ref(), edit_tools)?,
            web_search: match &self.web_search {
                Some(search) => search.args()?,
                None => WebSearchArgs::default(),
            },
            program: read("program", self.program.as_ref(), runtime)?,
            program_transport: read(
                "program_transport",
                self.program_transport.as_ref(),
                transport,
            )?,
            program_data: self.program_data.clone(),
            program_limits: self.program_limits.args()?,
            timeouts: self.timeouts.args()?,
            process_limits: ProcessLimitArgs {
                processes: self.processes,
                process_output: read("process_output", self.process_output.as_ref(), size)?,
                process_life: read("process_life", self.process_life.as_ref(), duration)?,
            },
            tools: self.tools.clone(),
            hooks: self.hooks.clone(),
            sandbox: SandboxFlag { profile: self.sandbox.clone() },
            ..SettingsArgs::default()
        })
    }
}

fn read<T>(
    field: &str,
    said: Option<&String>,
    parse: fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let read = said.map(|said| parse(said)).transpose();
    read.map_err(|why| format!("{field}: {why}"))
}

fn patterns(field: &str, said: &[String]) -> Result<Vec<CallPattern>, String> {
    let read: Result<_, String> = said.iter().map(|said| pattern(said)).collect();
    read.map_err(|why| format!("{field}: {why}"))
}
