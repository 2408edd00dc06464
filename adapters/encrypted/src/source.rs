//! Sources of master keys: an environment variable, a file, or the output of a command.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use zeroize::Zeroizing;

use crate::master::{InvalidMasterKey, MasterKey, MasterKeys};

/// Variable with the keys themselves.
pub const KEY_VARIABLE: &str = "WINDLASS_MASTER_KEY";
/// Variable with the path of a file that has the keys.
pub const FILE_VARIABLE: &str = "WINDLASS_MASTER_KEY_FILE";
/// Variable with a command line that prints the keys.
pub const COMMAND_VARIABLE: &str = "WINDLASS_MASTER_KEY_COMMAND";

/// Most bytes that a command may print.
const MOST_BYTES: usize = 64 * 1024;

/// Error of reading master keys. It contains no key.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// No variable is set.
    #[error(
        "an encrypted store needs a master key: set {KEY_VARIABLE}, {FILE_VARIABLE} or \
         {COMMAND_VARIABLE}"
    )]
    Unset,
    /// Several variables are set.
    #[error("{0} and {1} are both set: set one of them")]
    Several(&'static str, &'static str),
    /// The file cannot be read.
    #[error("cannot read the master keys from {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// The command cannot be run, or failed.
    #[error("the command of {COMMAND_VARIABLE} for the master keys failed: {0}")]
    Command(String),
    /// A text is no master key.
    #[error("{place}: {source}")]
    Invalid {
        /// Place of the text.
        place: String,
        /// Cause of the failure.
        source: InvalidMasterKey,
    },
}

impl MasterKeys {
    /// Parses keys that are separated by white space or commas. The first one encrypts, the others
    /// are earlier ones.
    ///
    /// # Errors
    /// [`InvalidMasterKey`] without any key, and for a text that is none.
    pub fn parse(text: &str) -> Result<Self, InvalidMasterKey> {
        let separated = |c: char| c.is_whitespace() || c == ',';
        let mut keys = text.split(separated).filter(|text| !text.is_empty()).map(MasterKey::parse);
        let current = keys.next().ok_or(InvalidMasterKey)??;
        Ok(Self::new(current, keys.collect::<Result<_, _>>()?))
    }

    /// Reads the keys from the variable, file or command that the environment names. Blocks until
    /// the command has ended.
    ///
    /// # Errors
    /// [`MasterKeyError`] when none or several are named, or the keys cannot be read.
    pub fn from_environment() -> Result<Self, MasterKeyError> {
        Self::from_variables(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// As [`from_environment`](Self::from_environment), with a function that returns the value of a
    /// variable.
    ///
    /// # Errors
    /// As [`from_environment`](Self::from_environment).
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, MasterKeyError> {
        let names = [KEY_VARIABLE, FILE_VARIABLE, COMMAND_VARIABLE];
        let set: Vec<(&'static str, String)> =
            names.into_iter().filter_map(|name| Some((name, variable(name)?))).collect();
        let (name, value) = match &*set {
            [] => return Err(MasterKeyError::Unset),
            [(name, value)] => (*name, value),
            [(one, _), (other, _), ..] => return Err(MasterKeyError::Several(one, other)),
        };
        let (text, place) = match name {
            FILE_VARIABLE => (read(Path::new(value))?, value.clone()),
            COMMAND_VARIABLE => (run(value)?, format!("the output of {COMMAND_VARIABLE}")),
            _ => (Zeroizing::new(value.clone()), name.to_owned()),
        };
        Self::parse(&text).map_err(|source| MasterKeyError::Invalid { place, source })
    }
}

fn read(path: &Path) -> Result<Zeroizing<String>, MasterKeyError> {
    let text = std::fs::read_to_string(path);
    text.map(Zeroizing::new)
        .map_err(|source| MasterKeyError::File { path: path.to_owned(), source })
}

fn run(line: &str) -> Result<Zeroizing<String>, MasterKeyError> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let failed = |why: String| MasterKeyError::Command(why);
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    let text = Zeroizing::new(output.stdout);
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    if text.len() > MOST_BYTES {
        return Err(failed(format!("it prints more than {MOST_BYTES} bytes")));
    }
    let text = str::from_utf8(&text).map_err(|_| failed("it prints no text".to_owned()))?;
    Ok(Zeroizing::new(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    const OLD: &str = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn from(set: &[(&str, &str)]) -> Result<MasterKeys, MasterKeyError> {
        MasterKeys::from_variables(|name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn keys_come_from_a_variable_a_file_or_a_command() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys");
        std::fs::write(&file, format!("{KEY}\n{OLD}\n")).unwrap();
        let file = file.to_str().unwrap();
        let command = format!("cat '{file}'");
        let both = format!("{KEY},{OLD}");
        for set in
            [(KEY_VARIABLE, both.as_str()), (FILE_VARIABLE, file), (COMMAND_VARIABLE, &command)]
        {
            let keys = from(&[set]).unwrap();
            assert_eq!(keys.current.id(), MasterKey::parse(KEY).unwrap().id(), "{set:?}");
            assert_eq!(keys.older.len(), 1);
            assert!(keys.get(MasterKey::parse(OLD).unwrap().id()).is_some());
        }
    }

    #[test]
    fn what_is_no_key_is_told_without_it() {
        for set in [
            &[][..],
            &[(KEY_VARIABLE, KEY), (FILE_VARIABLE, "keys")],
            &[(KEY_VARIABLE, "secret words")],
            &[(FILE_VARIABLE, "/nowhere/secret")],
            &[(COMMAND_VARIABLE, "exit 3")],
            &[(COMMAND_VARIABLE, "echo secret")],
        ] {
            let error = from(set).unwrap_err().to_string();
            assert!(!error.contains("secret words") && !error.contains(KEY), "{error}");
            assert!(error.contains("WINDLASS_MASTER_KEY") || error.contains("/nowhere"), "{error}");
        }
    }
}
