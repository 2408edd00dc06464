//! Failures of a call, in words for the model.

use rustix::io::Errno;
use windlass_core::{Observation, ObservationStatus};

use crate::capture::OutputCapture;
use crate::config::LEAST;
use crate::full_output::StorageResult;
use crate::stop::HaltReason;

/// Failure of a call.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// It could not be done; the text says why and what to do.
    Message(String),
    /// It was told to stop.
    Halted(HaltReason),
}

impl From<HaltReason> for CallFailure {
    fn from(halt: HaltReason) -> Self {
        Self::Halted(halt)
    }
}

impl CallFailure {
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
            _ => return Self::Message(format!("cannot {doing} `{path}`: {errno}")),
        };
        Self::Message(format!("cannot {doing} `{path}`: {help}"))
    }

    /// The observation that says so.
    pub(crate) fn observation(self) -> Observation {
        match self {
            Self::Message(text) => message(ObservationStatus::Failed, text),
            Self::Halted(halt) => halt.observation(String::new()),
        }
    }
}

/// An observation of a few words. A path or a pattern in them may be long; then its middle is
/// left out.
pub(crate) fn message(status: ObservationStatus, text: String) -> Observation {
    if text.len() <= LEAST {
        return Observation::new(status, text);
    }
    bounded(status, &text, LEAST / 2)
}

/// An observation that shows at most `room` bytes of a text, beside the remark on the rest.
pub(crate) fn bounded(status: ObservationStatus, text: &str, room: usize) -> Observation {
    let mut capture = OutputCapture::new(room);
    capture.push(text.as_bytes());
    let shown = capture.show(&StorageResult::NotStored);
    Observation {
        output_bytes: shown.total,
        omitted_bytes: shown.omitted,
        ..Observation::new(status, shown.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_keeps_its_ends() {
        let fault = CallFailure::os("read", &"x".repeat(4_000), Errno::NOENT);
        let seen = fault.observation();
        assert!(seen.output.len() <= LEAST, "{}", seen.output.len());
        assert!(seen.output.starts_with("cannot read `xxx"), "{seen:?}");
        assert!(seen.output.ends_with("what there is"), "{seen:?}");
        assert!(seen.omitted_bytes > 3_000, "{seen:?}");
    }
}
