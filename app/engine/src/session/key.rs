//! Command keys: a command is executed once, however often it is sent.

use sha2::{Digest as _, Sha256};
use windlass_core::{Input, Scope, SessionId};
use windlass_ports::{Clock, InvalidMailboxCommandId, MailboxCommandId};

use super::command::SessionCommand;

/// Key of a command, in the log and in the mailbox.
#[derive(Debug, Clone)]
pub(super) struct CommandKey {
    text: String,
    /// Derived from a key of the caller: the command may have been sent before.
    pub(super) from_caller: bool,
}

impl CommandKey {
    /// Derives the key from the caller's own, with the same result each time. It differs between
    /// sessions, kinds of command and principals; other properties of the principal may change.
    pub(super) fn from_caller(
        session: &SessionId,
        scope: &Scope,
        command: &SessionCommand,
        key: &str,
    ) -> Self {
        let (who, tenant, principal) = match scope {
            Scope::Principal { tenant, principal, .. } => {
                ("principal", tenant.as_str(), principal.as_str())
            }
            Scope::System { .. } => ("system", "", ""),
        };
        let parts = [who, tenant, principal, command.kind(), session.as_str(), key];
        Self { text: hash_parts(parts.map(str::as_bytes)), from_caller: true }
    }

    /// Creates a key that was never used.
    pub(super) fn random(session: &SessionId, clock: &dyn Clock) -> Self {
        let (now, one, two) = (clock.now().0, clock.entropy(), clock.entropy());
        let [now, one, two] = [now, one, two].map(u64::to_be_bytes);
        Self {
            text: hash_parts([session.as_str().as_bytes(), &now, &one, &two]),
            from_caller: false,
        }
    }

    /// Returns the key as the log contains it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Names the remote command of a round. A command that was rejected may be sent again, and is
    /// then another remote command, of the next round.
    pub(super) fn name(&self, round: u32) -> Result<MailboxCommandId, InvalidMailboxCommandId> {
        MailboxCommandId::new(&format!("{}.{round}", self.text))
    }
}

/// Wraps an input so that it is executed once under a key. A user input with its caller's own key
/// is unique by that.
pub(crate) fn keyed(key: &str, input: Input) -> Input {
    if let Input::Send { key: Some(_), .. } = &input {
        return input;
    }
    Input::Keyed { key: key.to_owned(), input: Box::new(input) }
}

/// Hashes parts to a name of 160 bits. The boundaries between parts count.
fn hash_parts<const N: usize>(parts: [&[u8]; N]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    let digits = hash.iter().take(20).map(|byte| format!("{byte:02x}"));
    std::iter::once("word-".to_owned()).chain(digits).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn principal(name: &str, claim: &str) -> Scope {
        Scope::Principal {
            tenant: "acme".to_owned(),
            principal: name.to_owned(),
            claims: BTreeMap::from([("issued".to_owned(), claim.to_owned())]),
        }
    }

    #[test]
    fn a_key_is_the_same_for_the_same_command_only() {
        let (one, other) = (SessionId::new("s").unwrap(), SessionId::new("t").unwrap());
        let resume = SessionCommand::Resume {};
        let goal = SessionCommand::SetGoal { goal: None };
        let of = |session, scope: &Scope, command: &SessionCommand, key: &str| {
            CommandKey::from_caller(session, scope, command, key).text
        };
        let ann = principal("ann", "today");
        let first = of(&one, &ann, &resume, "k");
        assert_eq!(of(&one, &principal("ann", "later"), &resume, "k"), first);
        for another in [
            of(&other, &ann, &resume, "k"),
            of(&one, &principal("bob", "today"), &resume, "k"),
            of(&one, &Scope::system("why"), &resume, "k"),
            of(&one, &ann, &goal, "k"),
            of(&one, &ann, &resume, "kk"),
        ] {
            assert_ne!(another, first);
        }
    }

    #[test]
    fn a_key_names_remote_commands() {
        let session = SessionId::new("s").unwrap();
        let resume = SessionCommand::Resume {};
        let key = CommandKey::from_caller(&session, &Scope::local("ann"), &resume, "k");
        let (first, last) = (key.name(0).unwrap(), key.name(u32::MAX).unwrap());
        assert_ne!(first, last);
        assert!(first.as_str().starts_with(key.text()));
    }
}
