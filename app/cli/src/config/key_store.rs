//! Keys outside of the environment: in the system's keyring, or printed by a command of the user's.
//!
//! The keyring is reached by the system's own program, which asks for the key itself and unlocks the
//! keyring where that is needed. No key is an argument.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::process::{Command, Stdio};

use crate::exit::{ExitKind, Failure};

/// Name under which the keys are in the keyring.
const SERVICE: &str = "windlass";
/// Prefix of a command line.
const COMMAND: &str = "command:";
/// Word for the keyring.
const KEYRING: &str = "keyring";

/// Place of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// Keyring of the system.
    Keyring,
    /// Command line that prints the key.
    Command(String),
}

/// Places of keys, by the names of their variables.
pub(crate) type KeyPlaces = BTreeMap<String, KeyPlace>;

impl KeyPlace {
    /// Parses `keyring` or `command:LINE`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix(COMMAND) {
            Some(line) => Some(Self::Command(line.to_owned())),
            None => (text == KEYRING).then_some(Self::Keyring),
        }
    }

    /// Reads the key of a variable.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(crate) fn read(&self, variable: &str) -> Result<String, String> {
        let mut command = match self {
            Self::Keyring => keyring(Access::Lookup, variable),
            Self::Command(line) => {
                let mut command = Command::new("sh");
                command.args(["-c", line]);
                command
            }
        };
        let program = command.get_program().to_string_lossy().into_owned();
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| missing(&program, &error))?;
        let key = String::from_utf8(output.stdout).unwrap_or_default().trim().to_owned();
        match output.status.success() && !key.is_empty() {
            true => Ok(key),
            false => {
                let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                Err(format!("{program} has no key for {variable} ({}) {words}", output.status))
            }
        }
    }
}

/// Stores the key of a variable in the keyring. The system's program reads it from standard input, or asks
/// for it at the terminal.
///
/// # Errors
/// [`Failure`] with the alternatives when there is no keyring.
pub(crate) fn store(variable: &str) -> Result<(), Failure> {
    let mut command = keyring(Access::Store, variable);
    let program = command.get_program().to_string_lossy().into_owned();
    let stored = command.stdout(Stdio::null()).status();
    let why = match stored {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => format!("{program} failed ({status})"),
        Err(error) => missing(&program, &error),
    };
    Err(Failure::new(
        ExitKind::Provider,
        format!(
            "cannot store a key in the keyring: {why}; put the key into the environment variable \
             {variable}, or name a command that prints it: {variable} = \"command:LINE\" in the table \
             [keys] of config.toml"
        ),
    ))
}

fn missing(program: &str, error: &io::Error) -> String {
    match error.kind() == ErrorKind::NotFound {
        true => {
            format!("there is no program {program}, which reaches the keyring (libsecret-tools)")
        }
        false => format!("cannot run {program}: {error}"),
    }
}

#[derive(Debug, Clone, Copy)]
enum Access {
    Lookup,
    Store,
}

/// Returns the command of the system that reads or stores a key.
#[cfg(not(target_os = "macos"))]
fn keyring(access: Access, variable: &str) -> Command {
    let mut command = Command::new("secret-tool");
    match access {
        Access::Lookup => command.arg("lookup"),
        Access::Store => command.arg("store").arg(format!("--label={SERVICE} {variable}")),
    };
    command.args(["service", SERVICE, "variable", variable]);
    command
}

/// Returns the command of the system that reads or stores a key. Stored without a value, it asks for it.
#[cfg(target_os = "macos")]
fn keyring(access: Access, variable: &str) -> Command {
    let mut command = Command::new("security");
    match access {
        Access::Lookup => command.arg("find-generic-password"),
        Access::Store => command.args(["add-generic-password", "-U"]),
    };
    command.args(["-s", SERVICE, "-a", variable, "-w"]);
    command
}
