//! Words: what is said once, however often it is asked for, with the key that it is known by.

use sha2::{Digest as _, Sha256};
use windlass_core::{Input, Scope, SessionId};
use windlass_ports::{Clock, InvalidLetterId, LetterId};

use super::said::Said;

/// Something that is said to a session.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// Who says it.
    pub(crate) scope: Scope,
    pub(crate) said: Said,
    /// What it is known by, in the log and as a letter.
    pub(crate) key: WordKey,
}

/// What a word is known by.
#[derive(Debug, Clone)]
pub(crate) struct WordKey {
    text: String,
    /// Whether it is made of the caller's own: then it may have been said before.
    pub(crate) callers: bool,
}

impl WordKey {
    /// Made of the caller's own key: the same each time. One key is another one for another session,
    /// another kind of word and another principal; what else is known of the principal may change.
    pub(crate) fn of(session: &SessionId, scope: &Scope, said: &Said, key: &str) -> Self {
        let (who, tenant, principal) = match scope {
            Scope::Principal {
                tenant, principal, ..
            } => ("principal", tenant.as_str(), principal.as_str()),
            Scope::System { .. } => ("system", "", ""),
        };
        let parts = [who, tenant, principal, said.kind(), session.as_str(), key];
        Self {
            text: named(parts.map(str::as_bytes)),
            callers: true,
        }
    }

    /// One that nobody had before.
    pub(crate) fn fresh(session: &SessionId, clock: &dyn Clock) -> Self {
        let (now, one, two) = (clock.now().0, clock.entropy(), clock.entropy());
        let [now, one, two] = [now, one, two].map(u64::to_be_bytes);
        Self {
            text: named([session.as_str().as_bytes(), &now, &one, &two]),
            callers: false,
        }
    }

    /// As the log keeps it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The name of the letter that says it. What was refused may be asked for once more, and then it
    /// is another letter, of the next round.
    pub(crate) fn letter(&self, round: u32) -> Result<LetterId, InvalidLetterId> {
        LetterId::new(&format!("{}.{round}", self.text))
    }
}

impl Word {
    /// The input that a driver takes for it.
    pub(crate) fn input(&self) -> Input {
        keyed(self.key.text(), self.said.clone().input(self.scope.clone()))
    }
}

/// An input that is done once by its key. One for the model that has its caller's own key is so by
/// that.
pub(crate) fn keyed(key: &str, input: Input) -> Input {
    if let Input::Send { key: Some(_), .. } = &input {
        return input;
    }
    Input::Keyed {
        key: key.to_owned(),
        input: Box::new(input),
    }
}

/// A name of 160 bits of these parts. Where one ends and the next begins makes a difference.
fn named<const N: usize>(parts: [&[u8]; N]) -> String {
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
    fn a_key_is_the_same_for_the_same_word_only() {
        let (one, other) = (SessionId::new("s").unwrap(), SessionId::new("t").unwrap());
        let goal = Said::SetGoal { goal: None };
        let of = |session, scope: &Scope, said: &Said, key: &str| {
            WordKey::of(session, scope, said, key).text
        };
        let ann = principal("ann", "today");
        let first = of(&one, &ann, &Said::GoOn {}, "k");
        assert_eq!(
            of(&one, &principal("ann", "later"), &Said::GoOn {}, "k"),
            first
        );
        for another in [
            of(&other, &ann, &Said::GoOn {}, "k"),
            of(&one, &principal("bob", "today"), &Said::GoOn {}, "k"),
            of(&one, &Scope::system("why"), &Said::GoOn {}, "k"),
            of(&one, &ann, &goal, "k"),
            of(&one, &ann, &Said::GoOn {}, "kk"),
        ] {
            assert_ne!(another, first);
        }
    }

    #[test]
    fn a_key_names_letters() {
        let session = SessionId::new("s").unwrap();
        let key = WordKey::of(&session, &Scope::local("ann"), &Said::GoOn {}, "k");
        let (first, last) = (key.letter(0).unwrap(), key.letter(u32::MAX).unwrap());
        assert_ne!(first, last);
        assert!(first.as_str().starts_with(key.text()));
    }
}
