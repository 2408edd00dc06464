//! The sweep: classes of faults, each at call after call, and their lines.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use windlass_testkit::faults::{CallFault, CallPlan, FaultTally, LifeEnd, StoreCall};

use crate::life::{Fault, files, ran, served};
use crate::stores::{self, Kept};

/// Calls of a class at which no fault struck, after which the class ends.
const MISSES: u64 = 2;
/// Most calls of a class.
const MOST: u64 = 400;
/// Calls at which a sample of a class fails: of those that are made often, and of others.
const SAMPLE: [u64; 1] = [4];
const SELDOM: [u64; 1] = [2];
/// Faults of the sample: each method has one of them in each store, and another in the next store.
const SAMPLED: [CallFault; 3] = [CallFault::Io, CallFault::Full, CallFault::KillBefore];

/// A fault at a system call.
struct SystemCall {
    name: &'static str,
    inject: &'static str,
    /// True if the process dies.
    kills: bool,
    /// True for calls on the store's files; false for those on sockets.
    of_files: bool,
    /// Number in the sample: the first one of those that are seldom made, 0 for none.
    sample: u64,
    /// The same for SQLite, which makes more calls while it is opened.
    sample_of_sqlite: u64,
}

const fn on_files(
    name: &'static str,
    inject: &'static str,
    [sample, sample_of_sqlite]: [u64; 2],
) -> SystemCall {
    SystemCall { name, inject, kills: false, of_files: true, sample, sample_of_sqlite }
}

const fn on_sockets(name: &'static str, inject: &'static str, sample: u64) -> SystemCall {
    SystemCall { of_files: false, ..on_files(name, inject, [sample; 2]) }
}

/// System calls that fail, or at which the process dies. Numbers count by thread. Of our stores
/// SQLite alone maps a file into memory; what renames and removes files is swept with the maintenance
/// commands.
const SYSTEM_CALLS: [SystemCall; 13] = [
    on_files("pwrite64", "error=EIO", [4, 30]),
    on_files("pwrite64", "error=ENOSPC", [4, 30]),
    on_files("fdatasync", "error=EIO", [4; 2]),
    on_files("fsync", "error=EIO", [1, 6]),
    on_files("pread64", "error=EIO", [4; 2]),
    on_files("openat", "error=EMFILE", [4, 12]),
    SystemCall { kills: true, ..on_files("pwrite64", "signal=KILL", [4, 30]) },
    SystemCall { kills: true, ..on_files("fsync", "signal=KILL", [1, 6]) },
    SystemCall { kills: true, ..on_files("fdatasync", "signal=KILL", [4; 2]) },
    on_files("ftruncate", "error=ENOSPC", [1; 2]),
    on_files("mmap", "error=ENOMEM", [0; 2]),
    on_sockets("recvfrom", "error=ECONNRESET", 4),
    on_sockets("sendto", "error=ECONNRESET", 1),
];

/// How a life is lived.
pub(crate) type Life = fn(&Kept, &Fault) -> Option<LifeEnd>;

/// Faults of one kind at call after call.
pub(crate) struct Class<'a> {
    pub(crate) kept: &'a Kept,
    pub(crate) name: String,
    pub(crate) life: Life,
    /// True if the fault passes without a restart.
    pub(crate) transient: bool,
    pub(crate) sample: [u64; 1],
    pub(crate) fault: &'a (dyn Fn(u64) -> Fault + Sync),
}

pub(crate) fn is_full() -> bool {
    std::env::var("WINDLASS_FAULTS").is_ok_and(|extent| extent == "full")
}

/// The first call of a full sweep, and the distance to the next one.
fn first_and_step() -> (u64, u64) {
    let number = |name| {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(1_u64).max(1)
    };
    (number("WINDLASS_FAULTS_FROM"), number("WINDLASS_FAULTS_EVERY"))
}

/// The faults of a method: all, or the one that a sample takes of it in this store.
fn faults(kept: &Kept, method: usize) -> Vec<CallFault> {
    match is_full() {
        true => CallFault::ALL.to_vec(),
        false => vec![SAMPLED[(method + kept.number()) % SAMPLED.len()]],
    }
}

/// Fails the calls of the port.
pub(crate) fn calls(kept: &Kept) {
    let mut wrong = Vec::new();
    let modes: [(&str, Life); 2] = [("serve", served), ("run", ran)];
    for (mode, life) in modes {
        for (at, call) in StoreCall::ALL.into_iter().enumerate() {
            // In the sample, all but appends are left to the server, and of SQLite's to the other stores.
            let is_left = mode == "run" || matches!(kept, Kept::Sqlite);
            if !is_full() && is_left && call != StoreCall::Append {
                continue;
            }
            for fault in faults(kept, at) {
                let class = Class {
                    kept,
                    name: format!("{} {mode} {} {}", kept.name(), call.name(), fault.name()),
                    life,
                    transient: mode == "serve" && !fault.kills(),
                    sample: match call {
                        StoreCall::Append | StoreCall::Read => SAMPLE,
                        StoreCall::Claim | StoreCall::List | StoreCall::Release => SELDOM,
                    },
                    fault: &|number| Fault::Call(CallPlan { call, fault, number }),
                };
                wrong.extend(class.sweep().wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Fails the system calls of a store in files.
pub(crate) fn system_calls(kept: &Kept) {
    // Where it is installed, it may still not be allowed to trace, as in some containers.
    let traces = Command::new("strace").args(["-f", "-qq", "true"]).output();
    if !traces.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "{} system calls: SKIPPED, strace is not installed or may not trace",
            kept.name()
        );
        return;
    }
    let files = files(kept);
    let mut wrong = Vec::new();
    // Only the classes of some calls, where they are named.
    let only = std::env::var("WINDLASS_FAULTS_CALLS").ok();
    let modes: [(&str, Life); 2] = [("serve", served), ("run", ran)];
    for (mode, life) in modes {
        for (at, call) in SYSTEM_CALLS.iter().enumerate() {
            let named = |only: &String| only.split(',').any(|name| name == call.name);
            // In the sample, each store has every third class, under the server.
            let has_turn = (at + kept.number()).is_multiple_of(3);
            let sampled = mode == "serve" && has_turn && call.sample > 0;
            let made = call.name != "mmap" || matches!(kept, Kept::Sqlite);
            if !made || !only.as_ref().is_none_or(named) || !(is_full() || sampled) {
                continue;
            }
            let class = Class {
                kept,
                name: format!("{} {mode} {} {}", kept.name(), call.name, call.inject),
                life,
                transient: mode == "serve" && !call.kills,
                sample: match kept {
                    Kept::Sqlite => [call.sample_of_sqlite],
                    Kept::File | Kept::Sled | Kept::Postgres(_) | Kept::Nats(_) => [call.sample],
                },
                fault: &|number| Fault::SystemCall {
                    calls: call.name,
                    inject: format!("{}:{}:when={number}", call.name, call.inject),
                    files: if call.of_files { files.clone() } else { Vec::new() },
                },
            };
            wrong.extend(class.sweep().wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub(crate) fn postgres() {
    if let Some((kept, _server)) = stores::postgres() {
        calls(&kept);
    }
}

pub(crate) fn nats() {
    if let Some((kept, _server)) = stores::nats() {
        calls(&kept);
    }
}

impl Class<'_> {
    /// Lives once, under the fault without a number, and prints the line.
    pub(crate) fn once(&self) -> FaultTally {
        let tally = Mutex::new(FaultTally::new(&self.name));
        self.at(0, &tally);
        let tally = tally.into_inner().unwrap();
        println!("{tally}");
        tally
    }

    /// Sweeps the class and prints its line.
    pub(crate) fn sweep(&self) -> FaultTally {
        let tally = Mutex::new(FaultTally::new(&self.name));
        match is_full() {
            true => self.sweep_all(&tally),
            false => self.sample.into_iter().for_each(|number| {
                self.at(number, &tally);
            }),
        }
        let tally = tally.into_inner().unwrap();
        println!("{tally}");
        tally
    }

    /// Sweeps call after call until the program makes no further ones.
    fn sweep_all(&self, tally: &Mutex<FaultTally>) {
        let (first, step) = first_and_step();
        let (next, misses, over) =
            (AtomicU64::new(first), AtomicU64::new(0), AtomicBool::new(false));
        let workers = thread::available_parallelism().map_or(2, usize::from);
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while !over.load(Ordering::SeqCst) {
                        let number = next.fetch_add(step, Ordering::SeqCst);
                        let struck = self.at(number, tally);
                        let missed = match struck {
                            true => 0,
                            false => misses.fetch_add(1, Ordering::SeqCst) + 1,
                        };
                        if struck {
                            misses.store(0, Ordering::SeqCst);
                        }
                        if missed >= MISSES || number >= MOST {
                            over.store(true, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
    }

    /// Lives once. Returns false if no fault struck.
    fn at(&self, number: u64, tally: &Mutex<FaultTally>) -> bool {
        let fault = (self.fault)(number);
        match (self.life)(self.kept, &fault) {
            Some(end) => {
                let struck = end.injected;
                let name = format!("{}: {}", self.name, fault.name());
                tally.lock().unwrap().add(&name, self.transient, end);
                struck
            }
            // The program did not start, so nothing was acknowledged.
            None => true,
        }
    }
}
