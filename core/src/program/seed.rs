//! Seed of the random numbers of a program. It follows from the record, so that a repeated run draws
//! the same numbers.

use crate::digest::Digest;
use crate::id::{CallId, SessionId};

/// Returns the seed of a program's random numbers: the same for the same call of the same session,
/// in each process and release. It is no secret.
#[must_use]
pub fn program_seed(session: &SessionId, program: CallId) -> u64 {
    let call = program.0.to_le_bytes();
    Digest::EMPTY.part(session.as_str().as_bytes()).part(&call).folded()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_of_a_call_never_changes() {
        let seed = |name, call| program_seed(&SessionId::new(name).unwrap(), CallId(call));
        assert_eq!(seed("s", 7), 10_594_162_414_681_659_303);
        assert_ne!(seed("s", 7), seed("s", 8));
        assert_ne!(seed("s", 7), seed("t", 7));
    }
}
