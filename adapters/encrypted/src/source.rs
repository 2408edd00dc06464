//! Sources of master keys: an environment variable, a file, or the output of a command.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

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

/// Source of master keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// Environment variable with the keys themselves, in text `env:NAME`.
    Variable(String),
    /// File that has the keys, in text `file:PATH`.
    File(PathBuf),
    /// Command line that prints the keys, in text `command:LINE`. The shell `sh` runs it.
    Command(String),
}

/// Error for a text that names no source of master keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a master key comes from env:NAME, file:PATH or command:LINE")]
pub struct InvalidKeySource;

impl FromStr for KeySource {
    type Err = InvalidKeySource;

    fn from_str(text: &str) -> Result<Self, InvalidKeySource> {
        match text.split_once(':').filter(|(_, rest)| !rest.trim().is_empty()) {
            Some(("env", name)) => Ok(Self::Variable(name.to_owned())),
            Some(("file", path)) => Ok(Self::File(path.into())),
            Some(("command", line)) => Ok(Self::Command(line.to_owned())),
            Some(_) | None => Err(InvalidKeySource),
        }
    }
}

impl KeySource {
    /// Reads the keys, given a function that returns the value of an environment variable. Blocks
    /// until a command has ended.
    ///
    /// # Errors
    /// [`MasterKeyError`] when the keys cannot be read, or are none.
    pub fn read(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<MasterKeys, MasterKeyError> {
        let (text, place) = match self {
            Self::Variable(name) => {
                let value = variable(name).filter(|value| !value.is_empty());
                let value = value.ok_or_else(|| MasterKeyError::Variable(name.clone()))?;
                (Zeroizing::new(value), name.clone())
            }
            Self::File(path) => (read(path)?, path.display().to_string()),
            Self::Command(line) => (run(line)?, "the output of the command".to_owned()),
        };
        MasterKeys::parse(&text).map_err(|source| MasterKeyError::Invalid { place, source })
    }
}

/// Error of reading master keys. It contains no key.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// No variable is set.
    #[error(
        "an encrypted store needs a master key: set {KEY_VARIABLE}, {FILE_VARIABLE} or \
         {COMMAND_VARIABLE}"
    )]
    Unset,
    /// The variable of a source is not set.
    #[error("the variable {0} for the master keys is not set")]
    Variable(String),
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
    #[error("the command for the master keys failed: {0}")]
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

    /// Returns these keys with others as earlier ones: the current key encrypts, all decrypt.
    #[must_use]
    pub fn with_earlier(mut self, earlier: Self) -> Self {
        self.older.push(earlier.current);
        self.older.extend(earlier.older);
        self
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
        let source = match name {
            FILE_VARIABLE => KeySource::File(value.into()),
            COMMAND_VARIABLE => KeySource::Command(value.clone()),
            _ => KeySource::Variable(name.to_owned()),
        };
        source.read(variable)
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
            let named = ["WINDLASS_MASTER_KEY", "/nowhere", "command"];
            assert!(named.iter().any(|place| error.contains(place)), "{error}");
        }
    }

    #[test]
    fn a_source_is_named_by_its_kind() {
        let value = |name: &str| (name == "KEY").then(|| KEY.to_owned());
        let read = |text: &str| text.parse::<KeySource>().unwrap().read(value);
        let id = MasterKey::parse(KEY).unwrap().id().to_owned();
        assert_eq!(read("env:KEY").unwrap().current.id(), id);
        let keys =
            read(&format!("command:echo {OLD}")).unwrap().with_earlier(read("env:KEY").unwrap());
        assert_ne!(keys.current.id(), id);
        assert!(keys.get(&id).is_some());
        assert!(matches!(read("env:NONE"), Err(MasterKeyError::Variable(name)) if name == "NONE"));
        for wrong in ["", "env:", "file: ", KEY, "KEY", "vault:x"] {
            assert_eq!(wrong.parse::<KeySource>(), Err(InvalidKeySource), "{wrong}");
        }
    }
}
