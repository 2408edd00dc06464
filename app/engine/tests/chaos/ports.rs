//! The store that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_engine::core::Seq;
use windlass_engine::ports::StoreErrorKind;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};

use crate::luck::Luck;
use crate::world::{Time, opening};

/// A store that fails, waits, loses answers and turns writers away.
pub(crate) fn store(time: Time, luck: Luck, fair: Arc<AtomicBool>) -> FaultyStore {
    FaultyStore::responding(move |operation, _| {
        if fair.load(Ordering::SeqCst) {
            return Vec::new();
        }
        match operation {
            Operation::Append => append(time, &luck),
            Operation::Claim if luck.percent(10) => vec![Fault::Fail(StoreErrorKind::Io)],
            Operation::Claim if luck.percent(3) => vec![Fault::FailAfter(StoreErrorKind::Io)],
            Operation::Read if luck.percent(4) => vec![Fault::Fail(StoreErrorKind::Io)],
            Operation::Release if luck.percent(10) => vec![Fault::Fail(StoreErrorKind::Io)],
            Operation::Claim | Operation::Read | Operation::Release | Operation::Probe => {
                if luck.percent(30) {
                    vec![Fault::Wait(opening(time, luck.below(20)))]
                } else {
                    Vec::new()
                }
            }
        }
    })
}

fn append(time: Time, luck: &Luck) -> Vec<Fault> {
    match luck.below(200) {
        0 => vec![Fault::Fail(StoreErrorKind::Full)],
        1 => vec![Fault::FailAfter(StoreErrorKind::Io)],
        2 => vec![Fault::Fail(StoreErrorKind::Conflict { last: Seq(1) })],
        3 => vec![Fault::Wait(opening(time, 3_000))],
        4..60 => vec![Fault::Wait(opening(time, luck.below(60)))],
        60..100 => vec![Fault::WaitAfter(opening(time, luck.below(60)))],
        _ => Vec::new(),
    }
}
