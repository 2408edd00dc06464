//! Failures of a call, in words for the model.

use rustix::io::Errno;
use windlass_core::{Observation, ObservationStatus};

use crate::capture::Capture;
use crate::config::LEAST;
use crate::stop::Halt;
use crate::whole::Fate;

/// Failure of a call.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It could not be done; the text says why and what to do.
    Said(String),
    /// It was told to stop.
    Halted(Halt),
}

impl From<Halt> for Fault {
    fn from(halt: Halt) -> Self {
        Self::Halted(halt)
    }
}

impl Fault {
    /// A refusal by the operating system, with what helps against it.
    pub(crate) fn os(doing: &str, path: &str, errno: Errno) -> Self {
        let help = match errno {
            Errno::NOENT => "there is no such file or folder; list_dir shows what there is",
            Errno::NOTDIR => "a part of the path is not a folder; list_dir shows what there is",
            Errno::ISDIR => "it is a folder; name a file in it",
            Errno::ACCESS | Errno::PERM => "permission denied; leave it or ask the user",
            Errno::ROFS => "the file system is read-only; nothing was changed",
            Errno::NOSPC | Errno::DQUOT => "the disk is full; nothing was changed",
            Errno::NAMETOOLONG => "the name is too long",
            Errno::LOOP => "it is a symbolic link that changed meanwhile, or one of too many",
            Errno::MFILE | Errno::NFILE => "too many files are open; try again later",
            _ => return Self::Said(format!("cannot {doing} `{path}`: {errno}")),
        };
        Self::Said(format!("cannot {doing} `{path}`: {help}"))
    }

    /// The observation that says so.
    pub(crate) fn observation(self) -> Observation {
        match self {
            Self::Said(text) => said(ObservationStatus::Failed, text),
            Self::Halted(halt) => halt.observation(String::new()),
        }
    }
}

/// An observation of a few words. A path or a pattern in them may be long; then its middle is
/// left out.
pub(crate) fn said(status: ObservationStatus, text: String) -> Observation {
    if text.len() <= LEAST {
        return Observation::new(status, text);
    }
    let mut capture = Capture::new(LEAST / 2);
    capture.push(text.as_bytes());
    let shown = capture.show(&Fate::Unkept);
    Observation {
        status,
        output: shown.text,
        output_bytes: shown.total,
        omitted_bytes: shown.omitted,
        kept: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_keeps_its_ends() {
        let fault = Fault::os("read", &"x".repeat(4_000), Errno::NOENT);
        let seen = fault.observation();
        assert!(seen.output.len() <= LEAST, "{}", seen.output.len());
        assert!(seen.output.starts_with("cannot read `xxx"), "{seen:?}");
        assert!(seen.output.ends_with("what there is"), "{seen:?}");
        assert!(seen.omitted_bytes > 3_000, "{seen:?}");
    }
}
