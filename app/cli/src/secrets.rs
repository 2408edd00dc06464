//! Secrets of the environment: they leave it before any tool starts.
//!
//! The kernel shows a process's initial environment to every process that may read its memory, for
//! as long as it runs. So this process executes itself once more, without the variables that are
//! secrets; their values pass through an unnamed file in memory. It is not dumpable either, so that
//! other processes of its user read neither its memory nor its environment.

use std::collections::BTreeMap;
use std::env;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::config::KeyPlaces;
use crate::exit::Failure;
use crate::present::print_error;

/// Secrets that were handed over, by the names of their variables.
static RECEIVED: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Places of secrets that are not in the environment.
static PLACES: OnceLock<KeyPlaces> = OnceLock::new();

/// Secrets that were read from their places.
static READ: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());

/// Returns the value of a variable, which may be a secret: of the environment, else of the place that the
/// configuration names.
pub(crate) fn value(name: &str) -> Option<String> {
    received(name).or_else(|| env::var(name).ok()).or_else(|| placed(name))
}

/// Returns the value of a variable whose place the configuration names. It is read once, and a place
/// without it is reported.
fn placed(name: &str) -> Option<String> {
    let place = PLACES.get().and_then(|places| places.get(name))?;
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let value = read.entry(name.to_owned()).or_insert_with(|| {
        let value = place.read(name);
        value.map_err(|why| print_error(&format!("cannot read {name}: {why}"))).ok()
    });
    value.clone()
}

/// Sets the places of secrets that are not in the environment. A process does it once.
pub(crate) fn place(places: &KeyPlaces) {
    let _ = PLACES.set(places.clone());
}

/// Returns the value of a variable that was removed from the environment.
pub(crate) fn received(name: &str) -> Option<String> {
    RECEIVED.get().and_then(|secrets| secrets.get(name)).cloned()
}

/// Takes the secrets that this process has handed over to itself, if it has.
///
/// # Errors
/// [`Failure`] when they cannot be read.
pub(crate) fn receive() -> Result<(), Failure> {
    if let Some(secrets) = handover::receive()? {
        // Set once, before anything reads it.
        let _ = RECEIVED.set(secrets);
    }
    Ok(())
}

/// Removes these variables from the environment, and keeps their values. Returns in a process
/// without them.
///
/// # Errors
/// [`Failure`] when the system does not allow it. Then no tool may start.
pub(crate) fn hide(names: &[String]) -> Result<(), Failure> {
    let set = names.iter().filter_map(|name| Some((name.clone(), env::var(name).ok()?)));
    let set: BTreeMap<String, String> = set.collect();
    if RECEIVED.get().is_none() && !set.is_empty() {
        handover::send(&set)?;
    }
    handover::forbid_dumps()
}

#[cfg(target_os = "linux")]
mod handover {
    //! A file in memory, whose number a variable names to the next program.

    use std::collections::BTreeMap;
    use std::env;
    use std::fs::File;
    use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
    use std::os::fd::{AsRawFd as _, RawFd};
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    use crate::exit::{ExitKind, Failure};

    /// Variable that names the file to the next program.
    const VARIABLE: &str = "WINDLASS_SECRETS_FD";

    pub(super) fn receive() -> Result<Option<BTreeMap<String, String>>, Failure> {
        let number = env::var(VARIABLE).ok().and_then(|number| number.parse().ok());
        match number {
            // The variable may be inherited from another process of this program.
            Some(number) if is_own(number) => {
                read(number).map(Some).map_err(|error| failed(&error))
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the name of this process's file, as the system shows it.
    fn name() -> String {
        format!("windlass-secrets-{}", std::process::id())
    }

    fn path(number: RawFd) -> String {
        format!("/proc/self/fd/{number}")
    }

    fn is_own(number: RawFd) -> bool {
        let shown = std::fs::read_link(path(number));
        shown.is_ok_and(|shown| shown.to_string_lossy() == format!("/memfd:{} (deleted)", name()))
    }

    /// Reads the file and closes it, so that no tool inherits it.
    fn read(number: RawFd) -> io::Result<BTreeMap<String, String>> {
        let mut text = String::new();
        File::open(path(number))?.read_to_string(&mut text)?;
        nix::unistd::close(number)?;
        let mut parts = text.split('\0');
        let pairs =
            std::iter::from_fn(|| Some((parts.next()?.to_owned(), parts.next()?.to_owned())));
        Ok(pairs.collect())
    }

    /// Executes this program again without these variables. Returns only if that fails.
    pub(super) fn send(secrets: &BTreeMap<String, String>) -> Result<(), Failure> {
        let mut file = File::from(
            // It must survive the execution, so it is not closed by it.
            memfd_create(name(), MemfdFlags::empty()).map_err(|error| failed(&error))?,
        );
        let mut write = || {
            for (name, value) in secrets {
                write!(file, "{name}\0{value}\0")?;
            }
            file.seek(SeekFrom::Start(0))
        };
        write().map_err(|error| failed(&error))?;
        if !is_own(file.as_raw_fd()) {
            return Err(failed(&"its file in memory cannot be found"));
        }
        let mut words = env::args_os();
        let mut command = Command::new(env::current_exe().map_err(|error| failed(&error))?);
        if let Some(name) = words.next() {
            command.arg0(name);
        }
        command.args(words).env(VARIABLE, file.as_raw_fd().to_string());
        for name in secrets.keys() {
            command.env_remove(name);
        }
        Err(failed(&command.exec()))
    }

    pub(super) fn forbid_dumps() -> Result<(), Failure> {
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| {
            let words = format!("cannot close this process's memory to other processes: {error}");
            Failure::new(ExitKind::Failed, words)
        })
    }

    fn failed(error: &dyn std::fmt::Display) -> Failure {
        let words = format!(
            "cannot take the keys out of the environment, where tools could read them: {error}; \
             mount /proc, and allow this program to execute itself"
        );
        Failure::new(ExitKind::Failed, words)
    }
}

/// Other systems show a process's environment to no process but those of its user, and have no file
/// in memory. The variables stay there; tools do not inherit them.
#[cfg(not(target_os = "linux"))]
mod handover {
    use std::collections::BTreeMap;

    use crate::exit::Failure;

    pub(super) fn receive() -> Result<Option<BTreeMap<String, String>>, Failure> {
        Ok(None)
    }

    pub(super) fn send(_: &BTreeMap<String, String>) -> Result<(), Failure> {
        Ok(())
    }

    pub(super) fn forbid_dumps() -> Result<(), Failure> {
        Ok(())
    }
}
