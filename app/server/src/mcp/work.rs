//! Work: the input or the turn that a call is about, and its name.

use std::fmt;

use windlass_engine::core::{InputId, SessionId, TurnId};

/// Input or turn that a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// An input, whatever turn accepts it.
    Input(InputId),
    /// A turn.
    Turn(TurnId),
}

/// Name of the work of a session, as tasks and retried requests have it: `SESSION:i9` for an input,
/// `SESSION:t10` for a turn. It grants nothing: the caller's access to the session is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkName {
    pub(super) session: SessionId,
    pub(super) work: Work,
}

impl WorkName {
    /// Reads a name; `None` if it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (session, work) = text.split_once(':')?;
        let (kind, number) = work.split_at_checked(1)?;
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        // No log has higher positions.
        let number =
            number.parse::<u64>().ok().filter(|it| digits && i64::try_from(*it).is_ok())?;
        let work = match kind {
            "i" => Work::Input(InputId(number)),
            "t" => Work::Turn(TurnId(number)),
            _ => return None,
        };
        Some(Self { session: SessionId::new(session).ok()?, work })
    }
}

impl fmt::Display for WorkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, number) = match self.work {
            Work::Input(input) => ('i', input.0),
            Work::Turn(turn) => ('t', turn.0),
        };
        write!(f, "{}:{kind}{number}", self.session)
    }
}
