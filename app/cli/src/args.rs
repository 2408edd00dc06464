//! Arguments: the words of the command.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use windlass::core::{Mode, Permissions, SessionId};

/// Runs durable agent turns: kill it at any moment, and `windlass resume` goes on where it stood.
///
/// Exit codes: 0 completed, 1 failed, 2 usage, 3 blocked or denied by policy, 4 provider
/// configuration or authentication, 5 store (locked, corrupt, full), 6 exhausted or without an
/// answer, 130 interrupted, 143 terminated.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, propagate_version = true)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one turn on a prompt and print the answer.
    Run(Run),
    /// Go on with a session: finish its turn, or send it another prompt.
    Resume(Resume),
    /// List the sessions of a store.
    Sessions(Listing),
    /// Tell a session's story.
    Show(One),
    /// Print a session's log, one envelope a line.
    Log(Log),
    /// Check that logs are what was written and fit together.
    Verify(Verify),
    /// Write a session's log to standard output, to be imported elsewhere.
    Export(One),
    /// Read an exported log into a store.
    Import(Import),
    /// Check this machine, the workspace, the store and the provider.
    Doctor(Doctor),
}

/// Where things are.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Place {
    /// The folder that the tools work in.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Where the logs are kept: file:PATH, sled:PATH or memory: [default: file:.windlass in the
    /// workspace].
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
}

/// What turns are run with. A session keeps what it was opened with unless told otherwise.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Shape {
    /// Who answers [default: openai when OPENAI_API_KEY or OPENAI_BASE_URL is set, else demo].
    #[arg(long, value_enum)]
    pub(crate) provider: Option<ProviderName>,
    /// The provider's endpoint, for example http://127.0.0.1:8080/v1.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The model's name.
    #[arg(long, value_name = "M", env = "WINDLASS_MODEL")]
    pub(crate) model: Option<String>,
    /// What turns are for: build, or plan (only read-only tools run).
    #[arg(long, value_parser = mode)]
    pub(crate) mode: Option<Mode>,
    /// What tools may do. Nobody can be asked yet, so `ask` denies what is not read-only.
    #[arg(long, value_parser = permissions, value_name = "auto|ask|read-only")]
    pub(crate) permissions: Option<Permissions>,
    /// The most samples (model calls) of a turn.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_samples: Option<u32>,
    /// The longest a turn may take, for example 90s or 5m.
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) deadline: Option<Duration>,
    /// A file of command tools [default: windlass/tools.json in your configuration folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Print one envelope a line instead of the answer; the last is always the TurnSettled.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    /// What to do; - reads it from standard input.
    pub(crate) prompt: Option<String>,
    /// The session's id [default: a new one].
    #[arg(long, value_name = "ID", value_parser = session)]
    pub(crate) session: Option<SessionId>,
    /// Plan only: tools that change something are decided on and recorded, and not run.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// `windlass resume`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Resume {
    /// The session's id.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// What to do next; - reads it from standard input.
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// `windlass sessions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Listing {
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// A command on one session.
#[derive(Debug, ClapArgs)]
pub(crate) struct One {
    /// The session's id.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `windlass log`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Log {
    /// The session's id.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// Begin after this position.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    /// Go on printing as facts come, until interrupted.
    #[arg(long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `windlass verify`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Verify {
    /// The session's id [default: all of them].
    #[arg(value_parser = session)]
    pub(crate) session: Option<SessionId>,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `windlass import`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Import {
    /// The file; standard input when absent.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `windlass doctor`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// The providers that are built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderName {
    /// OpenAI Responses, or any server that speaks it.
    Openai,
    /// OpenAI Chat Completions, or any server that speaks it.
    OpenaiChat,
    /// A script behind a loopback port: needs no key.
    Demo,
}

impl ProviderName {
    /// As `Settings::provider` spells it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiChat => "openai-chat",
            Self::Demo => "demo",
        }
    }

    /// From `Settings::provider`.
    pub(crate) fn from_settings(name: &str) -> Option<Self> {
        [Self::Openai, Self::OpenaiChat, Self::Demo]
            .into_iter()
            .find(|provider| provider.as_str() == name)
    }
}

fn session(text: &str) -> Result<SessionId, String> {
    SessionId::new(text).map_err(|error| error.to_string())
}

fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "build" => Ok(Mode::Build),
        "plan" => Ok(Mode::Plan),
        other => Err(format!("{other:?} is no mode: use build or plan")),
    }
}

fn permissions(text: &str) -> Result<Permissions, String> {
    match text {
        "auto" => Ok(Permissions::Auto),
        "ask" => Ok(Permissions::Ask),
        "read-only" => Ok(Permissions::ReadOnly),
        other => Err(format!(
            "{other:?} is no permission: use auto, ask or read-only"
        )),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("not a duration such as 90s or 5m: {error}"))?;
    if duration.as_millis() == 0 {
        return Err("a deadline is at least 1ms".to_owned());
    }
    Ok(duration)
}
