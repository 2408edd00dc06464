//! Arguments of `windlass inputs`.

use std::path::PathBuf;

use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args as ClapArgs, Subcommand};

use super::shared::LocationArgs;
use crate::wiring::SessionRef;

/// Arguments of `windlass inputs`.
#[derive(Debug, ClapArgs)]
#[command(
    mut_arg("workspace", |arg| arg.global(true)),
    mut_arg("store", |arg| arg.global(true))
)]
pub(crate) struct InputsArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Print the inputs that wait, as one JSON object.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// URL of the server of the session, in place of a store.
    ///
    /// Set its token in the variable WINDLASS_TOKEN, or use --token-file. A store on the command line
    /// precedes the variable of the server.
    #[arg(long, value_name = "URL", global = true, env = "WINDLASS_SERVER")]
    pub(crate) server: Option<String>,
    /// File with the token.
    #[arg(long, value_name = "FILE", requires = "server", global = true)]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(subcommand)]
    pub(crate) command: Option<InputsCommand>,
}

impl InputsArgs {
    /// Decides between a server and a store: arguments precede variables, and arguments of both are
    /// rejected.
    pub(super) fn choose_place(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let given = |names: [&'static str; 2]| {
            let mut names = names.into_iter();
            names.find(|name| matches.value_source(name) == Some(ValueSource::CommandLine))
        };
        let server = given(["server", "token_file"]);
        let Some(store) = given(["store", "workspace"]) else {
            return Ok(());
        };
        self.server = None;
        match server {
            Some(server) => {
                let server = server.replace('_', "-");
                let words = format!("--{server} cannot be used with --{store}: name one place");
                Err(Error::raw(ErrorKind::ArgumentConflict, words))
            }
            None => Ok(()),
        }
    }
}

/// What to do with the inputs.
#[derive(Debug, Subcommand)]
pub(crate) enum InputsCommand {
    /// List the inputs (the default).
    List,
    /// Replace the text of an input. Hooks are asked about the new text.
    Edit {
        /// Id of the input.
        input: u64,
        /// New text; - reads it from standard input.
        text: String,
    },
    /// Move an input within the queue [default: to its end].
    ///
    /// Steering inputs and follow-ups still precede the others.
    Move {
        /// Id of the input.
        input: u64,
        /// Waiting input that it is to precede.
        #[arg(long, value_name = "INPUT")]
        before: Option<u64>,
    },
    /// Withdraw an input: the model never receives it.
    Withdraw {
        /// Id of the input.
        input: u64,
    },
}
