//! Each law is shown to bite: it lets the core pass and kills a mutant of it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "it is all test code, also what its tests share"
)]

mod commanding;
mod deciding;
mod folding;
mod lasting;
mod lending;
mod programs;
mod recording;
mod shaping;
mod showing;
mod speaking;

use windlass_core::{DesiredEffect, Draft, RecordedFact, Reject, Seq, Session, desired_effects};
use windlass_testkit::laws::{self, Held};
use windlass_testkit::world::{Script, Transitions, check_all, run};

type Decided = Result<Vec<Draft>, Reject>;

/// Checks that the core passes a script and that `mutant` breaks this law by it.
#[track_caller]
fn kills(law: u8, mutant: Transitions, script: &str) {
    let script: Script = script.parse().unwrap();
    check_all(Transitions::CORE, laws::ALL, &script).unwrap();
    match check_all(mutant, laws::ALL, &script) {
        Ok(_) => panic!("the mutant lives"),
        Err(broken) => assert_eq!(broken.law, law, "{broken}"),
    }
}

/// Checks that a law lets the log of a script pass, and not what `tamper` makes of it.
#[track_caller]
fn kills_log(script: &str, law: fn(&[RecordedFact]) -> Held, tamper: fn(&mut Vec<RecordedFact>)) {
    let mut log = log(script);
    law(&log).unwrap();
    tamper(&mut log);
    law(&log).unwrap_err();
}

fn log(script: &str) -> Vec<RecordedFact> {
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap().log().to_vec()
}

/// The position in a log of the nth fact of a kind.
fn find(log: &[RecordedFact], kind: &str, nth: usize) -> usize {
    let mut found = (0..log.len()).filter(|at| log[*at].fact.kind() == kind);
    found.nth(nth).unwrap()
}

const ONE_CALL: &str = "send hello\ncall write {}\nend stop\ndone 0 ok\ntext hi\nend stop";

const TWO_CALLS: &str =
    "send hello\ncall read {}\ncall read {}\nend stop\ndone 1 b\ndone 0 a\ntext hi\nend stop";

fn needs_nothing(session: &Session) -> Vec<DesiredEffect> {
    let need = |one| DesiredEffect { requires_durable: Seq::ZERO, ..one };
    desired_effects(session).into_iter().map(need).collect()
}
