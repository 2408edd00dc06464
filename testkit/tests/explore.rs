//! The search through bounded worlds: it finds mutants of the core by their law.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "it is all test code, also what its tests share"
)]

use windlass_core::{Owed, Seq, Session, Timestamp, owed};
use windlass_testkit::explore::{Bounded, Coverage, Covered, Extent, Failure, explore};
use windlass_testkit::world::{Machine, Script, check_all};

/// A world that is small enough to be gone through whole.
const TINY: &str = "world tiny\nopen lazy samples=1 attempts=2 restarts=1 queue=0\nitems 1\n\
                    send hello\ninterrupt person\ncall write {}\nend stop\nfail server soon\n\
                    done 0 ok\ndue\nsync\ncrash\ncrash lose=1000\nlate 0\nnever 0";

fn tiny() -> Bounded {
    Bounded::read(TINY).unwrap().remove(0)
}

fn search(machine: Machine) -> Result<Covered, Box<Failure>> {
    explore(
        machine,
        &tiny(),
        Extent::default(),
        &mut Coverage::default(),
    )
}

/// Checks that a search finds a mutant by this law, and that the script it prints shows it.
#[track_caller]
fn finds(law: u8, mutant: Machine) {
    let failure = search(mutant).unwrap_err();
    let Failure::Law { broken, script } = &*failure else {
        panic!("{failure}");
    };
    assert_eq!(broken.law, law, "{failure}");
    let printed = failure.to_string();
    assert!(
        printed.contains(&format!("law {law} is broken")),
        "{printed}"
    );
    assert!(printed.contains(&script.to_string()), "{printed}");
    let script: Script = script.to_string().parse().unwrap();
    check_all(Machine::CORE, &script).unwrap();
    assert_eq!(check_all(mutant, &script).unwrap_err().law, law);
}

#[test]
fn a_driver_that_starts_a_call_before_its_fact_is_durable_is_found() {
    fn needs_nothing(session: &Session) -> Vec<Owed> {
        let owed = owed(session).into_iter();
        owed.map(|one| Owed {
            needs: Seq::ZERO,
            ..one
        })
        .collect()
    }
    let owed = needs_nothing;
    finds(
        16,
        Machine {
            owed,
            ..Machine::CORE
        },
    );
}

#[test]
fn a_deadline_that_is_forgotten_is_found() {
    fn never(_: &Session) -> Option<Timestamp> {
        None
    }
    let deadline = never;
    finds(
        2,
        Machine {
            deadline,
            ..Machine::CORE
        },
    );
}
