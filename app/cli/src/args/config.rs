//! Arguments of `windlass config`.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args as ClapArgs, Subcommand};

use super::{Command, LocationArgs, McpCommand, ProgramSharingArgs, SettingsArgs};
use crate::config::{self, Config, KeyInForce};
use crate::secrets;

/// Arguments of `windlass config`.
#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    mut_arg("json", |arg| arg.help("Print one JSON object").long_help("Print one JSON object."))
)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
    #[command(flatten)]
    pub(crate) sharing: ProgramSharingArgs,
    /// Keys with their values in force.
    #[arg(skip)]
    pub(crate) keys: Vec<KeyInForce>,
}

/// Arguments of `windlass init`.
#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// Provider, as in windlass run --help [default: asked at the terminal].
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Name of the model [default: the provider's own].
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// Base URL of the provider, if it is not its own.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Store the key of the provider in the system's keyring, which is secret-tool on Linux.
    ///
    /// It is asked for at the terminal, or read from standard input.
    #[arg(long)]
    pub(crate) keyring: bool,
    /// Replace the file that is there.
    #[arg(long)]
    pub(crate) force: bool,
}

/// What to do with the file.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the path of the file, which need not exist.
    Path,
    /// Report every problem of the file.
    Check,
}

impl Command {
    /// Adds the user's defaults to the arguments of a command that runs turns. `doctor` and `config` work
    /// without an invalid configuration; a server has its own.
    pub(super) fn configure(&mut self, given: &ArgMatches) -> Result<(), clap::Error> {
        let leaf = leaf(given);
        let works_without = matches!(self, Self::Doctor(_) | Self::Config(_));
        let mut no_sharing = ProgramSharingArgs::default();
        let mut look = None;
        let (place, shape, sharing, keys) = match self {
            Self::Chat(args) => {
                look = Some(&mut args.terminal);
                (&mut args.place, &mut args.shape, &mut args.sharing, None)
            }
            Self::Run(args) => (&mut args.place, &mut args.shape, &mut args.sharing, None),
            Self::Resume(args) => (&mut args.place, &mut args.shape, &mut args.sharing, None),
            Self::Compact(args) => (&mut args.place, &mut args.shape, &mut no_sharing, None),
            Self::Doctor(args) => (&mut args.place, &mut args.shape, &mut no_sharing, None),
            Self::Config(args) if args.command.is_none() => {
                (&mut args.place, &mut args.shape, &mut args.sharing, Some(&mut args.keys))
            }
            Self::Mcp(args) => match &mut args.command {
                McpCommand::Serve(args) => {
                    (&mut args.place, &mut args.shape, &mut args.sharing, None)
                }
                McpCommand::Add(_)
                | McpCommand::List(_)
                | McpCommand::Get(_)
                | McpCommand::Login(_)
                | McpCommand::Logout(_)
                | McpCommand::Prompts(_)
                | McpCommand::Resources(_)
                | McpCommand::Remove { .. } => return Ok(()),
            },
            Self::Serve(_)
            | Self::Sessions(_)
            | Self::Show(_)
            | Self::Log(_)
            | Self::Verify(_)
            | Self::Replay(_)
            | Self::Export(_)
            | Self::Import(_)
            | Self::Copy(_)
            | Self::Fork(_)
            | Self::Rewind(_)
            | Self::Undo(_)
            | Self::Diff(_)
            | Self::Repair(_)
            | Self::Erase(_)
            | Self::Inputs(_)
            | Self::Processes(_)
            | Self::Vacuum(_)
            | Self::Rekey(_)
            | Self::Sandbox(_)
            | Self::Trust(_)
            | Self::Skills(_)
            | Self::Approvals(_)
            | Self::Config(_)
            | Self::Init(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Attach(_) => return Ok(()),
        };
        let profile = place.config_profile.as_deref();
        let loaded = Config::load(profile).and_then(|config| {
            let applied = config.as_ref().map(|it| config::apply(it, leaf, shape, sharing));
            applied.transpose()?;
            config.iter().for_each(|config| secrets::place(config.key_places()));
            Ok(config)
        });
        let config = match loaded {
            Ok(config) => config,
            Err(failure) => {
                place.config_fault = Some(failure.message);
                None
            }
        };
        if let (Some(look), Some(config)) = (look, &config) {
            look.clone_from(config.terminal());
        }
        if let Some(keys) = keys {
            *keys = config::in_force(config.as_ref(), leaf);
        }
        match place.config_fault.as_ref().filter(|_| !works_without) {
            None => Ok(()),
            Some(words) => Err(clap::Error::raw(ErrorKind::ValueValidation, words)),
        }
    }
}

/// Returns the arguments of the innermost command.
fn leaf(given: &ArgMatches) -> &ArgMatches {
    match given.subcommand() {
        Some((_, inner)) => leaf(inner),
        None => given,
    }
}
