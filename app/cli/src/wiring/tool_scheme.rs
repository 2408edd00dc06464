//! Tool schemes: the tools of a command, each executor a row of one table. The built-in ones and
//! those of a program are registered alike.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use windlass::BoxError;
use windlass_engine::core::Rule;
use windlass_engine::ports::ToolExecutor;
use windlass_localfs::{RunLocks, ToolSandbox};

use super::prompt_text::PromptServers;
use super::skills::skill_tools;
use super::tools::{command_tools, interaction_tools, local_tools, server_tools, web_tools};
use crate::args::{EscalationMode, ProcessLimitArgs};
use crate::exit::Failure;

type MakeTools = Box<dyn Fn(&ToolSetup<'_>) -> Result<Option<ReadyTools>, BoxError> + Send + Sync>;

/// Tools that were set up, with the rules that the user's configuration has for them.
pub(super) struct ReadyTools {
    pub(super) tools: Arc<dyn ToolExecutor>,
    pub(super) rules: Vec<Rule>,
    /// Servers among them that prompts may name.
    pub(super) servers: PromptServers,
}

impl ReadyTools {
    /// Wraps tools that no rule of their own is about.
    pub(super) fn new(tools: Arc<dyn ToolExecutor>) -> Self {
        Self { tools, rules: Vec::new(), servers: PromptServers::default() }
    }
}

/// Tools of every session, with the way to set them up.
pub struct ToolScheme {
    /// Name in messages; the messages of the built-in tools say what they are about.
    name: Option<String>,
    make: MakeTools,
}

impl ToolScheme {
    /// Creates tools that `make` sets up for a workspace. The name is for messages.
    ///
    /// The sandbox confines the processes of the built-in tools. What these do is their own.
    pub fn new<T: ToolExecutor>(
        name: &str,
        make: impl Fn(&ToolSetup<'_>) -> Result<T, BoxError> + Send + Sync + 'static,
    ) -> Self {
        let make = move |setup: &ToolSetup<'_>| {
            let tools: Arc<dyn ToolExecutor> = Arc::new(make(setup)?);
            Ok(Some(ReadyTools::new(tools)))
        };
        Self { name: Some(name.to_owned()), make: Box::new(make) }
    }

    /// Returns the tools of this program.
    pub(crate) fn built_in() -> Vec<Self> {
        let local = Self { name: None, make: Box::new(local_tools) };
        let commands = Self { name: None, make: Box::new(command_tools) };
        let interaction = Self { name: None, make: Box::new(interaction_tools) };
        let skills = Self { name: None, make: Box::new(skill_tools) };
        let web = Self { name: None, make: Box::new(web_tools) };
        let servers = Self { name: None, make: Box::new(server_tools) };
        vec![local, commands, interaction, skills, web, servers]
    }

    /// Returns the failure to set the tools up.
    pub(super) fn failure(&self, error: &dyn fmt::Display) -> Failure {
        Failure::usage(match &self.name {
            Some(name) => format!("cannot use the tools {name}: {error}"),
            None => error.to_string(),
        })
    }

    pub(super) fn make(&self, setup: &ToolSetup<'_>) -> Result<Option<ReadyTools>, BoxError> {
        (self.make)(setup)
    }
}

impl fmt::Debug for ToolScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolScheme").field(&self.name).finish()
    }
}

/// Place and choices for tools that are set up.
pub struct ToolSetup<'a> {
    pub(crate) workspace: &'a Path,
    /// File of the user's own commands.
    pub(crate) file: Option<&'a Path>,
    /// Sandbox of the tools' processes.
    pub(crate) sandbox: ToolSandbox,
    pub(crate) escalation: EscalationMode,
    /// True if the command answers the model's questions.
    pub(crate) answers: bool,
    /// Limits of processes that run beyond their calls.
    pub(crate) processes: ProcessLimitArgs,
    /// Locks of the tools' processes.
    pub(crate) locks: Option<RunLocks>,
    /// Sandbox of a profile by its name, for servers that have one of their own.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "there are no servers"))]
    pub(crate) profile: &'a dyn Fn(&str) -> Result<ToolSandbox, Failure>,
}

impl ToolSetup<'_> {
    /// Returns the folder that the tools work in, an absolute path.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        self.workspace
    }
}
