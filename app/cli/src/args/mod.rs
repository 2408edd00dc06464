//! Arguments of the command.

mod approvals;
mod changes;
mod chat;
mod config;
mod help;
mod inputs;
mod manual;
mod mcp;
mod parse;
mod processes;
mod program_limits;
mod sandbox;
mod serve;
mod shared;
mod skills;
mod stores;
mod timeouts;
mod trust;
mod turns;
mod web_search;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use windlass_engine::core::SessionId;
use windlass_file::DamageLocation;

use crate::secrets;
use crate::wiring::{Adapters, SECRET_ARGUMENTS, SessionRef};
pub(crate) use approvals::{ApprovalsArgs, ApprovalsCommand, ListApprovalsArgs};
pub(crate) use changes::{DiffArgs, RewindArgs, UndoArgs};
pub(crate) use chat::ChatArgs;
pub(crate) use config::{ConfigArgs, ConfigCommand, InitArgs};
pub(crate) use inputs::{InputsArgs, InputsCommand};
pub(crate) use manual::{CompletionsArgs, ManArgs};
#[cfg(feature = "mcp")]
pub(crate) use mcp::{
    AddServerArgs, GetServerArgs, ListPromptsArgs, ListResourcesArgs, ListServersArgs, LoginArgs,
    LogoutArgs, McpServeArgs,
};
pub(crate) use mcp::{McpArgs, McpCommand};
use parse::session;
pub(crate) use parse::{
    CallPattern, DEFAULT, age, amount, duration, edit_tools, mode, pattern, permissions, price,
    size, strategy, transport,
};
pub(crate) use processes::{ProcessLimitArgs, ProcessesArgs, ProcessesCommand};
pub(crate) use program_limits::{ProgramLimitArgs, ProgramLimitFields, ProgramSharingArgs};
pub(crate) use sandbox::{EscalationMode, SandboxArgs, SandboxFlag};
pub(crate) use serve::{RecoverMode, ServeArgs};
pub(crate) use shared::{InputArgs, LocationArgs, RecordingArgs, SettingsArgs};
pub(crate) use skills::{SkillsArgs, SkillsCommand};
pub(crate) use stores::{CopyArgs, RekeyArgs, VacuumArgs};
pub(crate) use timeouts::{TimeoutArgs, TimeoutFields};
pub(crate) use trust::TrustArgs;
pub(crate) use turns::{CompactArgs, ResumeArgs, RunArgs};
pub(crate) use web_search::{WebSearchArgs, WebSearchFields};

/// Run durable agent turns: kill it at any moment, and `windlass resume` continues the session.
///
/// Exit codes: 0 completed, 1 failed, 2 usage, 3 blocked or denied by policy, 4 provider
/// configuration or authentication, 5 store (locked, corrupt, full), 6 a limit is exhausted or no
/// answer (that fits the schema) was given, 130 interrupted, 143 terminated.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, propagate_version = true)]
pub(crate) struct Args {
    /// Command to run.
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// Returns the description of the commands, which names the adapters of the program.
    pub(crate) fn described(adapters: &Adapters) -> clap::Command {
        with_own(help::with_groups(Self::command()), adapters)
    }

    /// Reads the arguments of the process. Help names the adapters of the program.
    ///
    /// # Errors
    /// When they are invalid, or ask for help or the version.
    pub(crate) fn read(adapters: &Adapters) -> Result<Self, clap::Error> {
        Self::parse_words(with_command(std::env::args_os()), adapters)
    }

    /// Reads arguments, of which the first is the name of the program.
    ///
    /// # Errors
    /// When they are invalid, or ask for help or the version.
    pub(crate) fn parse_words(
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
        adapters: &Adapters,
    ) -> Result<Self, clap::Error> {
        let mut command = with_received(Self::described(adapters));
        let matches = command.try_get_matches_from_mut(words)?;
        let read = Self::from_arg_matches(&matches).and_then(|mut args| {
            if let (Command::Inputs(inputs), Some((_, given))) =
                (&mut args.command, matches.subcommand())
            {
                inputs.choose_place(given)?;
            }
            Ok(args)
        });
        let mut args = read.map_err(|error| error.format(&mut command))?;
        args.command.configure(&matches)?;
        Ok(args)
    }
}

/// Adds the command to arguments that name none: windlass alone, or with flags, is a conversation.
fn with_command(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = given.collect();
    let is_own = |word: &OsString| {
        ["-h", "--help", "-V", "--version"].iter().any(|own| word.as_os_str() == *own)
    };
    let talks = match all.get(1) {
        None => true,
        Some(first) => first.as_encoded_bytes().starts_with(b"-") && !is_own(first),
    };
    if talks {
        all.insert(all.len().min(1), "chat".into());
    }
    all
}

/// Gives arguments the values of their variables that are not in the environment any more.
fn with_received(command: clap::Command) -> clap::Command {
    let is_of = |arg: &clap::Arg, name: &str| arg.get_env().is_some_and(|env| env == name);
    let mut command = command;
    for name in SECRET_ARGUMENTS {
        let Some(value) = secrets::received(name) else {
            continue;
        };
        // A process reads its arguments once.
        let value: &'static str = value.leak();
        command = command.mut_subcommands(|subcommand| {
            subcommand.mut_args(|arg| match is_of(&arg, name) {
                true => arg.default_value(value).hide_default_value(true),
                false => arg,
            })
        });
    }
    command
}

/// Adds the program's own stores and providers to the help of their arguments.
fn with_own(command: clap::Command, adapters: &Adapters) -> clap::Command {
    let own = [
        (["store", "from", "to"].as_slice(), "stores", adapters.own_stores()),
        (["provider"].as_slice(), "providers", adapters.own_providers()),
    ];
    let name_own = |arg: clap::Arg| {
        let mut all = own.iter().filter(|(_, _, names)| !names.is_empty());
        let Some((_, what, names)) = all.find(|(ids, ..)| ids.contains(&arg.get_id().as_str()))
        else {
            return arg;
        };
        let words = format!("This program also has the {what} {}.", names.join(", "));
        let short = arg.get_help().map(|help| format!("{help}. {words}")).unwrap_or_default();
        let long = arg.get_long_help().map(|help| format!("{help}\n\n{words}"));
        let arg = arg.help(short.clone());
        arg.long_help(long.unwrap_or(short))
    };
    command.mut_subcommands(|subcommand| subcommand.mut_args(name_own))
}

/// Commands of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk with a model in this terminal.
    ///
    /// The same as windlass without a command.
    Chat(Box<ChatArgs>),
    /// Run one turn and print the answer.
    Run(RunArgs),
    /// Continue a session: finish its turn, or send another prompt.
    Resume(ResumeArgs),
    /// Serve sessions over HTTP, with a web page.
    Serve(ServeArgs),
    /// List the sessions of this workspace.
    Sessions(SessionsArgs),
    /// Show a session, or print the whole output of one call.
    Show(ShowArgs),
    /// Print a session's log, one envelope a line.
    Log(LogArgs),
    /// Verify session logs.
    ///
    /// Checks the integrity and the consistency of each log, its outputs and its checkpoint.
    Verify(VerifyArgs),
    /// Replay a session's decisions and report differences.
    Replay(ReplayArgs),
    /// Export a session's log to standard output.
    Export(ExportArgs),
    /// Import an exported log into a store.
    Import(ImportArgs),
    /// Copy sessions from one store to another.
    ///
    /// Copies facts byte for byte, with their outputs.
    Copy(CopyArgs),
    /// Fork a session at a position of its log into a new session.
    ///
    /// The original session is unchanged.
    Fork(ForkArgs),
    /// Rewind a session to an earlier point of its conversation.
    ///
    /// The log stays whole, and files are not changed back. Waiting inputs are held.
    Rewind(RewindArgs),
    /// Restore the files that a turn changed.
    ///
    /// Files that somebody changed since are left. Changes by commands are not recorded.
    Undo(UndoArgs),
    /// Print what a session changed in files.
    ///
    /// A unified diff of the changes by the file tools. Changes by commands are not recorded.
    Diff(DiffArgs),
    /// Repair a damaged store (file store only).
    ///
    /// Truncates a damaged log after a valid position, or accepts the loss of damage that belongs to no
    /// known session. Both are permanent.
    Repair(RepairArgs),
    /// Erase a session: its log, its outputs and its checkpoint.
    Erase(EraseArgs),
    /// Summarize the conversation of a session, so that less of it is sent.
    ///
    /// A summary by the model takes the place of all but the latest parts. The log stays complete.
    Compact(CompactArgs),
    /// List, edit, move or withdraw the inputs that no turn has accepted yet.
    Inputs(InputsArgs),
    /// List or stop the processes of a session that run beyond their calls.
    ///
    /// Those that windlass started on this machine for a session of this store.
    Processes(ProcessesArgs),
    /// Merge settled sessions and reclaim disk space (file store only).
    Vacuum(VacuumArgs),
    /// Encrypt the keys of all sessions with another master key (encrypted stores only).
    ///
    /// Logs and outputs stay as they are.
    Rekey(RekeyArgs),
    /// Run a command confined, as tools run theirs.
    Sandbox(SandboxArgs),
    /// Trust the instructions of a folder (its AGENTS.md files and skills) and its MCP servers
    /// (.mcp.json).
    ///
    /// They are used only while they are trusted. A change of one ends the trust in it.
    Trust(TrustArgs),
    /// List the skills of a folder and your own, or check some.
    ///
    /// Skills of a project are used only while they are trusted: windlass trust.
    Skills(SkillsArgs),
    /// List or revoke approvals that you gave for a session or for good.
    Approvals(ApprovalsArgs),
    /// Add, list, show or remove MCP servers, whose tools sessions get.
    Mcp(McpArgs),
    /// Check this machine, the workspace, the store and the provider.
    Doctor(DoctorArgs),
    /// Print the settings in force and their sources.
    ///
    /// They come from flags, from variables and from config.toml in your configuration folder.
    Config(Box<ConfigArgs>),
    /// Write a first config.toml with your provider and model, and check them.
    Init(InitArgs),
    /// Print completions for a shell.
    ///
    /// For bash, for example: windlass completions bash > ~/.local/share/bash-completion/completions/windlass
    Completions(CompletionsArgs),
    /// Print the page of the manual, or write a page of each command into a folder.
    Man(ManArgs),
    /// Attach this terminal to a session of a server.
    ///
    /// Shows the session and asks its questions here.
    Attach(AttachArgs),
}

/// Arguments of `windlass sessions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SessionsArgs {
    /// List the sessions of every workspace.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass export`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ExportArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Include long outputs and images.
    #[arg(long)]
    pub(crate) with_outputs: bool,
    /// Include the sessions of its agents, and of theirs.
    #[arg(long)]
    pub(crate) with_agents: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass show`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Print only the whole output of this call.
    ///
    /// `windlass show SESSION` lists the numbers of calls.
    #[arg(long, value_name = "CALL")]
    pub(crate) output: Option<u64>,
    /// Show the provider's cache hits of each request, and the causes of misses.
    #[arg(long, conflicts_with = "output")]
    pub(crate) cache: bool,
    /// Show each cycle of its turns: the model's answer, the program, the calls and their results.
    #[arg(long, conflicts_with_all = ["output", "cache"])]
    pub(crate) turns: bool,
    /// Print each cycle as one JSON object a line.
    #[arg(long, requires = "turns")]
    pub(crate) json: bool,
    /// Show the session as of this position: nothing that followed.
    #[arg(long, value_name = "SEQ", conflicts_with = "output")]
    pub(crate) at: Option<u64>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass log`.
#[derive(Debug, ClapArgs)]
pub(crate) struct LogArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Start after this position.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    /// Print new facts until interrupted.
    #[arg(long)]
    pub(crate) follow: bool,
    /// End with this position.
    #[arg(long, value_name = "SEQ", conflicts_with = "follow")]
    pub(crate) at: Option<u64>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass verify`.
#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    /// Id of the session, the unique beginning of it, or last [default: all sessions].
    pub(crate) session: Option<SessionRef>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass replay`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReplayArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Only verify: ask no model, run no tool, write nothing.
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass import`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// Exported file [default: standard input].
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass fork`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ForkArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Last position to copy; nothing may be in progress there.
    ///
    /// `windlass log` shows positions.
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: u64,
    /// Id of the new session [default: a new one].
    #[arg(long = "as", value_name = "ID", value_parser = session)]
    pub(crate) id: Option<SessionId>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass repair`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RepairArgs {
    /// Id of the session, the unique beginning of it, or last.
    #[arg(requires = "truncate_at", required_unless_present = "lost")]
    pub(crate) session: Option<SessionRef>,
    /// Truncate the log after this position.
    ///
    /// `windlass verify` names the last valid position.
    #[arg(
        long,
        value_name = "SEQ",
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "session"
    )]
    pub(crate) truncate_at: Option<u64>,
    /// Accept the loss of damage that belongs to no known session.
    ///
    /// `windlass verify` names the damage.
    #[arg(long, value_name = "LANE/SEGMENT@OFFSET", conflicts_with = "session")]
    pub(crate) lost: Option<DamageLocation>,
    /// File for the removed facts [default: SESSION-after-SEQ.jsonl, or LANE-SEGMENT-OFFSET].
    ///
    /// Receives the facts that can be read. Damaged bytes go into a file beside it that ends in
    /// .damaged.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass erase`.
#[derive(Debug, ClapArgs)]
pub(crate) struct EraseArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Erase the sessions of its agents, and of theirs, too.
    #[arg(long)]
    pub(crate) with_agents: bool,
    /// Confirm the permanent erasure.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass doctor`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
}

/// Arguments of `windlass attach`.
#[derive(Debug, ClapArgs)]
pub(crate) struct AttachArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: String,
    /// URL of the server, for example http://127.0.0.1:8620.
    ///
    /// Set its token in the variable WINDLASS_TOKEN, or use --token-file.
    #[arg(long, value_name = "URL", env = "WINDLASS_SERVER")]
    pub(crate) server: String,
    /// File with the token.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Start after this position [default: the running turn, or the next events].
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
    /// End with the running or next turn, and with its exit code.
    #[arg(long)]
    pub(crate) once: bool,
    /// Print one envelope a line and ask no questions.
    #[arg(long)]
    pub(crate) json: bool,
}
