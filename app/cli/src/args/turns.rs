//! Arguments of the commands that run turns.

use clap::Args as ClapArgs;
use windlass_engine::core::SessionId;

use super::parse::{session, words};
use super::{InputArgs, LocationArgs, ProgramSharingArgs, RecordingArgs, SettingsArgs};
use crate::command::TurnRequest;
use crate::exit::Failure;
use crate::wiring::SessionRef;

/// Arguments of `windlass run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// Task for the model; - reads it from standard input.
    pub(crate) prompt: Option<String>,
    /// Id of the session, which is created if it does not exist [default: a new one].
    #[arg(long, value_name = "ID", value_parser = session)]
    pub(crate) session: Option<SessionId>,
    /// Continue the session of this workspace that changed last.
    #[arg(long = "continue", short = 'c', conflicts_with = "session")]
    pub(crate) continues: bool,
    /// Plan only: report what effectful tools would do without running them.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) sharing: ProgramSharingArgs,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass resume`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ResumeArgs {
    /// Id of the session, the unique beginning of it, or last.
    #[arg(required_unless_present = "last")]
    session: Option<String>,
    /// Next prompt; - reads it from standard input.
    prompt: Option<String>,
    /// Continue the session of this workspace that changed last: the only argument is the prompt.
    #[arg(long)]
    last: bool,
    /// Send the prompt of the last turn again, which failed or was stopped.
    ///
    /// If that turn ran no call, it leaves the conversation; else the model sees what it did.
    #[arg(long, conflicts_with = "image")]
    retry: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) sharing: ProgramSharingArgs,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

impl ResumeArgs {
    /// Takes the session, and the prompt or the request to retry.
    ///
    /// # Errors
    /// [`Failure`] when the session's name is invalid, it is named twice, or a retry has a prompt.
    pub(crate) fn take_target(&mut self) -> Result<(SessionRef, TurnRequest), Failure> {
        let (session, prompt) = match (self.session.take(), self.prompt.take()) {
            (prompt, None) if self.last => (SessionRef::last()?, prompt),
            (Some(session), prompt) if !self.last => {
                let named = session.parse().map_err(|error| {
                    Failure::usage(format!("cannot resume {session:?}: it is {error}"))
                })?;
                (named, prompt)
            }
            _ => {
                let words = "--last takes the place of the session's id: leave it out";
                return Err(Failure::usage(words));
            }
        };
        match (self.retry, prompt) {
            (false, prompt) => Ok((session, TurnRequest::Prompt(prompt))),
            (true, None) => Ok((session, TurnRequest::Retry)),
            (true, Some(_)) => {
                Err(Failure::usage("--retry sends the last prompt again: leave the prompt out"))
            }
        }
    }
}

/// Arguments of `windlass compact`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CompactArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// What the summary must keep in every detail.
    #[arg(value_parser = words)]
    pub(crate) focus: Option<String>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}
