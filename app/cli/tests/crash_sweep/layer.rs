//! The sweep by the layer of the kit, over each store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use windlass_engine::ports::{Durability, LogStore};
use windlass_file::FileStore;
use windlass_memory::MemoryStore;
use windlass_sled::SledStore;
use windlass_testkit::crash::{
    Extent, Fault, Invariant, Life, NotDurable, Plan, Report, Subject, sweep,
};

use crate::task::{Language, Stood, Task};
use crate::turn::{Kept, Program, SESSION, Turn, finished};

/// Of the pairs of kills, every so many; all of them with `WINDLASS_CRASH=full`.
const SAMPLE: u64 = 9;

const KILLS: [Fault; 2] = [Fault::KillBefore, Fault::KillAfter];

/// The command on a store.
struct Windlass {
    kept: Kept,
    program: Program,
    task: Task,
    /// Where programs stood when their processes were killed.
    stood: Mutex<BTreeMap<Stood, u64>>,
}

impl Windlass {
    fn new(kept: Kept, program: Program, task: Task) -> Self {
        let stood = Mutex::default();
        Self { kept, program, task, stood }
    }
}

impl Subject for Windlass {
    fn durability(&self) -> Durability {
        // Asked of the store itself, in a place of its own.
        let place = tempfile::TempDir::new().unwrap();
        let path = place.path().join("store");
        let store: Arc<dyn LogStore> = match self.kept {
            Kept::File => Arc::new(FileStore::open(path).unwrap()),
            Kept::Sled => Arc::new(SledStore::open(path).unwrap()),
            Kept::Sqlite => Arc::new(windlass::sqlite::SqliteStore::open(path).unwrap()),
            Kept::Memory => Arc::new(MemoryStore::new()),
        };
        store.capabilities().durability
    }

    fn live(&self, plans: &[Plan]) -> Result<Life, String> {
        let mut turn = Turn::new(self.kept, self.task)?;
        let mut struck = 0;
        for plan in plans {
            let ended = turn.planned(Some(plan), self.program)?;
            let strikes = match plan.fault.kills() {
                true => ended.signal == Some(9),
                false => ended.code == Some(5),
            };
            if !strikes && ended.code == Some(0) {
                break;
            }
            struck += 1;
            if let Some(stood) = turn.stood()? {
                *self.stood.lock().unwrap().entry(stood).or_default() += 1;
            }
            if !strikes {
                turn.wrong.push(format!("{plan} ended it so: {ended:?}"));
            }
            if !plan.fault.kills()
                && let Err(wrong) = ended.is_store_failure()
            {
                turn.wrong.push(wrong);
            }
        }
        turn.finish(struck, self.program)
    }
}

/// Whether nothing is left to a sample.
pub(crate) fn is_full() -> bool {
    std::env::var("WINDLASS_CRASH").is_ok_and(|extent| extent == "full")
}

fn extent() -> Extent {
    Extent {
        faults: Fault::ALL.to_vec(),
        doubles: if is_full() { 1 } else { SAMPLE },
        workers: std::thread::available_parallelism().map_or(2, usize::from),
    }
}

fn swept(kept: Kept) {
    let subject = Windlass::new(kept, Program::Sound, Task::Calls);
    let report = sweep(&subject, &extent()).unwrap();
    println!("{kept:?}: {report}");
    assert_eq!(report.wrong, [], "{report}");
    // A sweep that struck nothing would have shown nothing. What waits for what decides how many
    // syncs a run has, so a fault may strike somewhat less often than there are.
    for fault in Fault::ALL {
        let struck = report.struck.get(&fault).copied().unwrap_or(0);
        assert!(struck * 2 > report.syncs, "{fault:?} struck {struck} times");
    }
    assert!(report.doubles > 0, "no recovery was killed");
}

pub(crate) fn file() {
    swept(Kept::File);
}

pub(crate) fn sled() {
    swept(Kept::Sled);
}

/// The layer is above the store, so a sample leaves this one to the others.
pub(crate) fn sqlite() {
    swept(Kept::Sqlite);
}

/// Kills a turn whose answer is one program. What else may fail of a disk is the same as for any turn.
/// Of the pairs of kills every `doubles`-th is tried, none for 0.
fn swept_program(language: Language, doubles: u64) {
    let subject = Windlass::new(Kept::File, Program::Sound, Task::Program(language));
    let extent =
        Extent { faults: KILLS.to_vec(), doubles: if is_full() { 1 } else { doubles }, ..extent() };
    let report = sweep(&subject, &extent).unwrap();
    let stood = subject.stood.into_inner().unwrap();
    println!(
        "{language:?} on File: {report}; the program stood {stood:?}; every {}th pair of kills (0: none)",
        extent.doubles
    );
    assert_eq!(report.wrong, [], "{report}");
    // What changes something waits for its start to be durable, and its end is made durable at once: so
    // there is a moment after it, wherever other facts are made durable together.
    let between = stood.get(&Stood::Between).copied().unwrap_or(0);
    assert!(between >= 3, "{between} kills came between two calls");
    // Its end is mostly durable together with the answer to it: seldom does a kill come between.
    for place in [Stood::Before, Stood::Within] {
        assert!(stood.contains_key(&place), "no kill came {place:?}");
    }
}

pub(crate) fn program_ptclisp() {
    swept_program(Language::PtcLisp, 29);
}

pub(crate) fn program_javascript() {
    swept_program(Language::JavaScript, 0);
}

pub(crate) fn memory_is_refused() {
    let subject = Windlass::new(Kept::Memory, Program::Sound, Task::Calls);
    let refused = sweep(&subject, &extent()).unwrap_err();
    assert_eq!(refused, NotDurable);
    println!("Memory: refused: {refused}");
}

pub(crate) fn resume_from_memory() {
    let turn = Turn::new(Kept::Memory, Task::Calls).unwrap();
    let resumed = finished(turn.windlass(&["resume", SESSION])).unwrap();
    assert_eq!(resumed.code, Some(2), "{resumed:?}");
    let why = "a memory store is lost when its process ends";
    assert!(resumed.err.contains(why), "{}", resumed.err);
}

/// A store that acknowledges before it keeps is sound as long as nobody dies. The sweep is of use
/// only if it tells.
pub(crate) fn a_store_that_lags_is_caught() {
    let subject = Windlass::new(Kept::File, Program::Lagging, Task::Calls);
    let extent = Extent { faults: vec![Fault::KillBefore], doubles: 0, ..extent() };
    let report: Report = sweep(&subject, &extent).unwrap();
    println!("a store that lags: {report}");
    assert!(report.wrong.iter().all(|wrong| !wrong.plans.is_empty()), "{report}");
    for invariant in [Invariant::NothingLost, Invariant::AtMostOnce] {
        let name = invariant.to_string();
        let told = report.wrong.iter().any(|wrong| wrong.what.starts_with(&name));
        assert!(told, "nobody says that {name} is broken: {report}");
    }
}
