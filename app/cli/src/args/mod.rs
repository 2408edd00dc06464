//! Arguments: the words of the command.

mod parse;
mod serve;
mod shared;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand};
use windlass_engine::core::SessionId;
use windlass_file::DamageLocation;

pub(crate) use parse::{
    CallPattern, amount, duration, mode, pattern, permissions, price, strategy, transport,
};
use parse::{age, session};
pub(crate) use serve::ServeArgs;
pub(crate) use shared::{InputArgs, LocationArgs, RecordingArgs, SettingsArgs};

/// Runs durable agent turns: kill it at any moment, and `windlass resume` goes on where it stood.
///
/// Exit codes: 0 completed, 1 failed, 2 usage, 3 blocked or denied by policy, 4 provider
/// configuration or authentication, 5 store (locked, corrupt, full), 6 exhausted or without an
/// answer (of the shape that is asked for), 130 interrupted, 143 terminated.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, propagate_version = true)]
pub(crate) struct Args {
    /// Command to run.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Commands of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one turn on a prompt and print the answer.
    Run(RunArgs),
    /// Go on with a session: finish its turn, or send it another prompt.
    Resume(ResumeArgs),
    /// Run sessions for any number of clients over HTTP, and serve a page to use them by.
    Serve(ServeArgs),
    /// List the sessions of a store.
    Sessions(SessionsArgs),
    /// Tell a session's story, or print the whole output of one call.
    Show(ShowArgs),
    /// Print a session's log, one envelope a line.
    Log(LogArgs),
    /// Check that logs are what was written and fit together.
    Verify(VerifyArgs),
    /// Decide everything in a session's log anew, and say what would be otherwise today.
    Replay(ReplayArgs),
    /// Write a session's log to standard output, to be imported elsewhere.
    Export(ExportArgs),
    /// Read an exported log into a store.
    Import(ImportArgs),
    /// Copy sessions from one store to another, byte for byte, with their outputs.
    Copy(CopyArgs),
    /// Go on from a point of a session's log in a new session; the old one stays as it is.
    Fork(ForkArgs),
    /// Cut a damaged log off where it is still whole, or give up what is damaged and nobody's, for good:
    /// only in a store of the kind file.
    Repair(RepairArgs),
    /// Erase a session: its log, its outputs, its snapshot.
    Erase(EraseArgs),
    /// Write settled sessions together and free the room of what they leave: only in a store of the kind
    /// file.
    Compact(CompactArgs),
    /// Check this machine, the workspace, the store and the provider.
    Doctor(DoctorArgs),
    /// Watch a session of a server, and answer its questions, in this terminal.
    Attach(AttachArgs),
}

/// Arguments of `windlass run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// Task for the model; - reads it from standard input.
    pub(crate) prompt: Option<String>,
    /// The session's id [default: a new one].
    #[arg(long, value_name = "ID", value_parser = session)]
    pub(crate) session: Option<SessionId>,
    /// Plan only: tools that change something are decided on and say what they would do.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}

/// Arguments of `windlass resume`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ResumeArgs {
    /// Id of the session.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// Next prompt; - reads it from standard input.
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}

/// Arguments of `windlass sessions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SessionsArgs {
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass export`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ExportArgs {
    /// Id of the session.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// Write the long outputs and the images too, behind the log.
    #[arg(long)]
    pub(crate) with_outputs: bool,
    /// Write the sessions of its agents, and of theirs, in front of it.
    #[arg(long)]
    pub(crate) with_agents: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass show`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// Id of the session.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// Print all that this call gave out, and nothing else; the story has the calls' numbers.
    #[arg(long, value_name = "CALL")]
    pub(crate) output: Option<u64>,
    /// Tell of each request what the provider's cache knew of it, and why not more.
    #[arg(long, conflicts_with = "output")]
    pub(crate) cache: bool,
    /// Tell of each cycle of its turns: what the model answered, the program, the calls and what came
    /// of them.
    #[arg(long, conflicts_with_all = ["output", "cache"])]
    pub(crate) turns: bool,
    /// Print each cycle as one JSON object a line.
    #[arg(long, requires = "turns")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass log`.
#[derive(Debug, ClapArgs)]
pub(crate) struct LogArgs {
    /// Id of the session.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// Begin after this position.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    /// Go on printing as facts come, until interrupted.
    #[arg(long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass verify`.
#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    /// The session's id [default: all of them].
    #[arg(value_parser = session)]
    pub(crate) session: Option<SessionId>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass replay`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReplayArgs {
    /// Id of the session.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// Only check: no model is asked, no tool is run, nothing is written.
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print one JSON object instead of the words.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass import`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// The file; standard input when absent.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass copy`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CopyArgs {
    /// The sessions [default: all of them].
    #[arg(value_parser = session)]
    pub(crate) session: Vec<SessionId>,
    /// The store that they are in, as in --store.
    #[arg(
        long,
        value_name = "URL",
        env = "WINDLASS_COPY_FROM",
        hide_env_values = true
    )]
    pub(crate) from: String,
    /// The store that they are copied to, as in --store.
    #[arg(
        long,
        value_name = "URL",
        env = "WINDLASS_COPY_TO",
        hide_env_values = true
    )]
    pub(crate) to: String,
}

/// Arguments of `windlass fork`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ForkArgs {
    /// Id of the session.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// The last position that is taken over; no turn may be open there. `windlass log` has them.
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: u64,
    /// The new session's id [default: a new one].
    #[arg(long = "as", value_name = "ID", value_parser = session)]
    pub(crate) id: Option<SessionId>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass repair`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RepairArgs {
    /// Id of the session.
    #[arg(value_parser = session, requires = "truncate_at", required_unless_present = "lost")]
    pub(crate) session: Option<SessionId>,
    /// The position that the log is to end at; `windlass verify` names the last one that stands.
    #[arg(
        long,
        value_name = "SEQ",
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "session"
    )]
    pub(crate) truncate_at: Option<u64>,
    /// Accept that a damaged stretch is lost of which nobody can say whose it was; `windlass verify`
    /// names it.
    #[arg(long, value_name = "LANE/SEGMENT@OFFSET", conflicts_with = "session")]
    pub(crate) lost: Option<DamageLocation>,
    /// File for the removed facts, as far as they can be read [default: SESSION-after-SEQ.jsonl, or
    /// LANE-SEGMENT-OFFSET]. Damaged bytes go into a file beside it that ends in .damaged.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass erase`.
#[derive(Debug, ClapArgs)]
pub(crate) struct EraseArgs {
    /// Id of the session.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// Erase the sessions of its agents, and of theirs, with it.
    #[arg(long)]
    pub(crate) with_agents: bool,
    /// Confirm that the session is erased for good.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass compact`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CompactArgs {
    /// Erase settled sessions that were last changed so long ago, for example 90days; for good
    /// [default: none].
    #[arg(long, value_name = "DUR", value_parser = age)]
    pub(crate) erase_after: Option<Duration>,
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
    /// Id of the session.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    /// The server, for example http://127.0.0.1:8620. Its token is in the variable WINDLASS_TOKEN, or
    /// in a file.
    #[arg(long, value_name = "URL", env = "WINDLASS_SERVER")]
    pub(crate) server: String,
    /// The file that the token is in.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Begin after this position [default: with the turn that runs, or with what comes].
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
    /// End with the turn that runs, or with the next one, and with its exit code.
    #[arg(long)]
    pub(crate) once: bool,
    /// Print one envelope a line; no question is asked here.
    #[arg(long)]
    pub(crate) json: bool,
}
