//! Law: a promise about a session, with its check. Users write their own beside those of the kit.

use std::fmt;

use super::{Broken, Evidence, Held, Tally};

/// A promise about a session, and its check.
///
/// The kit's own are [`ALL`](super::ALL). A law of yours returns the number of occasions that it applied
/// to, or the reason for which it does not hold. A run over many worlds fails if a law of yours never
/// applied, because nothing is known of it then.
///
/// ```
/// use windlass_testkit::laws::{self, Law};
/// use windlass_testkit::world::{Transitions, check_all};
///
/// const ONCE: Law = Law::new("writes_once", "a session writes at most once", |it| {
///     match it.calls().filter(|call| call.name == "write" && call.started > 0).count() {
///         writes @ (0 | 1) => Ok(u64::try_from(writes).unwrap_or(1)),
///         writes => Err(format!("{writes} calls of write started")),
///     }
/// });
///
/// let laws = [laws::ALL, &[ONCE]].concat();
/// let one = "send hello\ncall write {}\nend stop".parse()?;
/// let world = check_all(Transitions::CORE, &laws, &one).map_err(|broken| broken.to_string())?;
/// assert_eq!(world.applied().times("writes_once"), 1);
///
/// let two = "send hello\ncall write {}\ncall write {}\nend stop".parse()?;
/// let broken = check_all(Transitions::CORE, &laws, &two).unwrap_err().to_string();
/// assert!(broken.contains("law writes_once is broken: 2 calls of write started"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy)]
pub struct Law {
    id: LawId,
    says: &'static str,
    moment: LawMoment,
    check: Check,
}

/// Names a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LawId {
    /// A law of the kit, by its number in `docs/laws.md`.
    Kit(u8),
    /// A law of a user, by its name.
    Own(&'static str),
}

/// The moments at which a law is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LawMoment {
    /// After each step.
    Step,
    /// Before each crash and at the end: for checks that look at all prefixes of the log.
    End,
}

/// A check of a moment.
#[derive(Clone, Copy)]
enum Check {
    /// Of the kit: its mutants show that it applies.
    Kit(KitCheck),
    /// Of a user.
    Own(OwnCheck),
}

/// A check of the kit.
pub(super) type KitCheck = for<'a> fn(&Evidence<'a>) -> Held;

/// Check of a user's law: returns the number of occasions that the law applied to.
///
/// # Errors
/// The reason for which the law does not hold.
pub type OwnCheck = for<'a> fn(&Evidence<'a>) -> Result<u64, String>;

impl Law {
    /// Creates a law that is checked after each step.
    ///
    /// `says` is its promise, in words of a report. `check` sees the whole session each time, and
    /// returns the number of occasions so far.
    #[must_use]
    pub const fn new(name: &'static str, says: &'static str, check: OwnCheck) -> Self {
        Self { id: LawId::Own(name), says, moment: LawMoment::Step, check: Check::Own(check) }
    }

    /// Checks it only before each crash and at the end.
    #[must_use]
    pub const fn at_the_end(mut self) -> Self {
        self.moment = LawMoment::End;
        self
    }

    /// Creates a law of the kit.
    pub(super) const fn kit(
        number: u8,
        moment: LawMoment,
        says: &'static str,
        check: KitCheck,
    ) -> Self {
        Self { id: LawId::Kit(number), says, moment, check: Check::Kit(check) }
    }

    /// Returns its number or name.
    #[must_use]
    pub const fn id(&self) -> LawId {
        self.id
    }

    /// Returns its promise in words.
    #[must_use]
    pub const fn says(&self) -> &'static str {
        self.says
    }

    /// Returns the moments at which it is checked.
    #[must_use]
    pub const fn moment(&self) -> LawMoment {
        self.moment
    }

    /// Checks it, and counts the occasions of a user's law.
    ///
    /// # Errors
    /// [`Broken`] if it does not hold.
    pub(super) fn check(&self, evidence: &Evidence<'_>, tally: &mut Tally) -> Held {
        match (self.check, self.id) {
            (Check::Kit(check), _) => check(evidence),
            (Check::Own(check), LawId::Own(name)) => {
                let times = check(evidence).map_err(|why| Broken {
                    law: self.id,
                    what: format!("{why}; it says: {}", self.says),
                })?;
                tally.note(name, times);
                Ok(())
            }
            (Check::Own(_), LawId::Kit(_)) => Ok(()),
        }
    }
}

impl fmt::Debug for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, says, moment, check: _ } = self;
        let mut told = f.debug_struct("Law");
        told.field("id", id).field("says", says).field("moment", moment).finish_non_exhaustive()
    }
}

impl fmt::Display for LawId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kit(number) => number.fmt(f),
            Self::Own(name) => name.fmt(f),
        }
    }
}

impl PartialEq<u8> for LawId {
    fn eq(&self, number: &u8) -> bool {
        *self == Self::Kit(*number)
    }
}
