//! Configuration file of the user, `config.toml`: defaults of the flags of a turn, profiles, properties of
//! models, and the look of the terminal.
//!
//! It comes from the user's configuration folder, never from a workspace: opening a repository must not
//! change what the user permits. It contains no key.

mod apply;
mod file;
mod in_force;
mod key_store;
mod keys;
mod prices;
mod terminal;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;

use self::file::{ConfigFile, Entry};
use self::keys::Keys;
use crate::exit::{ExitKind, Failure};
use crate::wiring::configured;

pub(crate) use apply::{Usual, apply};
pub(crate) use in_force::{KeyInForce, in_force};
pub(crate) use key_store::{KeyPlace, KeyPlaces, store as store_key};
pub(crate) use keys::nearest;
pub(crate) use prices::list_price;
pub(crate) use terminal::{StatusPart, TerminalConfig, Theme};

/// Name of the file in the user's configuration folder.
pub(crate) const NAME: &str = "config.toml";
/// Lines at the top of a first file.
const FIRST_LINES: &str = "# Defaults of windlass. A key is the long name of a flag: windlass run --help.\n\
                           # windlass config prints what is in force, and from where.\n";
/// Longest file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Configuration of a process.
#[derive(Debug)]
pub(crate) struct Config {
    keys: Keys,
    file: ConfigFile,
    /// Name of the profile in force.
    profile: Option<String>,
}

/// Returns the path of the file.
///
/// # Errors
/// [`Failure`] when the user has no configuration folder.
pub(crate) fn path() -> Result<PathBuf, Failure> {
    configured(NAME).ok_or_else(|| {
        Failure::usage("cannot find your configuration folder: set HOME or XDG_CONFIG_HOME")
    })
}

/// Writes a file with these keys and texts, and perhaps a variable whose key is in the keyring, in the place of the one that is there, for its owner alone.
///
/// # Errors
/// [`Failure`] when a value is invalid, or the file cannot be written.
pub(crate) fn write_first<'a>(
    path: &Path,
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
    in_keyring: Option<&str>,
) -> Result<(), Failure> {
    let mut text = FIRST_LINES.to_owned();
    for (key, value) in pairs {
        text.push_str(&format!("{key} = {}\n", toml::Value::String(value.to_owned())));
    }
    if let Some(variable) = in_keyring {
        text.push_str(&format!("\n[keys]\n{variable} = \"keyring\"\n"));
    }
    Config::parse(&text, path, None).map_err(Failure::usage)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let beside = folder.join(format!("{NAME}.{}.new", std::process::id()));
    let write = || -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // A process of this number that died may have left one.
        let _ = fs::remove_file(&beside);
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| {
        Failure::new(ExitKind::Failed, format!("cannot write {}: {error}", path.display()))
    })
}

/// Returns every problem of the file, one a line. A missing file has none.
///
/// # Errors
/// [`Failure`] when it cannot be read.
pub(crate) fn problems() -> Result<Vec<String>, Failure> {
    let path = path()?;
    let text = read(&path)?.unwrap_or_default();
    Ok(file::parse(&text, &path, &Keys::new()).1)
}

/// Returns the path and the text of a file without problems.
///
/// # Errors
/// [`Failure`] when it cannot be read, or has a problem.
#[cfg(feature = "mcp")]
pub(crate) fn text() -> Result<Option<(PathBuf, String)>, Failure> {
    let Some(path) = configured(NAME) else {
        return Ok(None);
    };
    let Some(text) = read(&path)? else {
        return Ok(None);
    };
    match file::parse(&text, &path, &Keys::new()).1.first() {
        None => Ok(Some((path, text))),
        Some(problem) => Err(Failure::usage(problem.clone())),
    }
}

/// Returns the user's default store.
///
/// # Errors
/// [`Failure`] when the file is invalid.
pub(crate) fn default_store(profile: Option<&str>) -> Result<Option<String>, Failure> {
    Ok(Config::load(profile)?.and_then(|config| config.value("store")))
}

impl Config {
    /// Reads the file, with the profile that the command names. A missing file is `None`.
    ///
    /// # Errors
    /// [`Failure`] when the file is invalid, when others can write it, or when it has no such profile.
    pub(crate) fn load(profile: Option<&str>) -> Result<Option<Self>, Failure> {
        let profile = profile.filter(|name| !name.is_empty());
        let found = configured(NAME).map(|path| (read(&path), path));
        let (text, path) = match found {
            Some((text, path)) => (text?, path),
            None => (None, PathBuf::from(NAME)),
        };
        let Some(text) = text else {
            return match profile {
                None => Ok(None),
                Some(name) => Err(Failure::usage(format!(
                    "there is no profile {name:?}, since there is no {}",
                    path.display()
                ))),
            };
        };
        Self::parse(&text, &path, profile).map(Some).map_err(Failure::usage)
    }

    fn parse(text: &str, path: &Path, profile: Option<&str>) -> Result<Self, String> {
        let keys = Keys::new();
        let (file, problems) = file::parse(text, path, &keys);
        match problems.as_slice() {
            [] => {}
            [one] => return Err(one.clone()),
            [first, more @ ..] => {
                let more = more.len();
                return Err(format!("{first} (and {more} more: windlass config check)"));
            }
        }
        let profile = profile.map(str::to_owned).or_else(|| file.profile.clone());
        if let Some(name) = profile.as_ref().filter(|name| !file.profiles.contains_key(*name)) {
            let words = file::unknown("profile", name, file.profiles.keys().map(String::as_str));
            return Err(format!("{}: {words}", path.display()));
        }
        Ok(Self { keys, file, profile })
    }

    /// Returns the look of the terminal.
    pub(crate) fn terminal(&self) -> &TerminalConfig {
        &self.file.terminal
    }

    /// Returns the places of keys that are not in the environment.
    pub(crate) fn key_places(&self) -> &KeyPlaces {
        &self.file.key_places
    }

    /// Returns the entries of the profile, with its name, and then those of the file.
    fn entries(&self) -> impl Iterator<Item = (&Entry, Option<&str>)> {
        let profile = self.profile.as_deref();
        let own = profile.and_then(|name| self.file.profiles.get(name)).into_iter().flatten();
        let own = own.map(move |entry| (entry, profile));
        own.chain(self.file.keys.iter().map(|entry| (entry, None)))
    }

    /// Returns the value of a key by the profile or the file.
    fn value(&self, name: &str) -> Option<String> {
        let found = self.entries().find(|(entry, _)| entry.name == name);
        found.and_then(|(entry, _)| entry.values.first().cloned())
    }
}

/// Returns true if the command or its environment gives an argument.
fn is_given(matches: &ArgMatches, id: &str) -> bool {
    let known = matches.try_contains_id(id).is_ok();
    let source = known.then(|| matches.value_source(id)).flatten();
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// Reads the file, which only its owner may change. A missing one is `None`.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read the configuration {}: {error}", path.display()))
    };
    let opened = match fs::File::open(path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(&error)),
    };
    let about = opened.metadata().map_err(|error| wrong(&error))?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return Err(wrong(&format!("it is not a file of at most {MAX_BYTES} bytes")));
    }
    let own = [0, rustix::process::geteuid().as_raw()];
    if about.mode() & 0o022 != 0 || !own.contains(&about.uid()) {
        return Err(wrong(&"other users may write it: make it your own, with chmod 600"));
    }
    let mut text = String::new();
    let read: io::Result<usize> = opened.take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(|error| wrong(&error))?;
    Ok(Some(text))
}
