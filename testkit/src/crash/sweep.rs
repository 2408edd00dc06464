//! The sweep: every fault at every sync of an undisturbed run, and faults while it recovers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::Value;
use windlass_core::RecordedFact;
use windlass_ports::Durability;
use windlass_ports::sync::Mutex;

use super::judge::{Effect, Scene, judge};
use super::plan::{Fault, Plan};

/// A run that is disturbed has at most so many syncs more than an undisturbed one has, twice over:
/// where faults strike beyond that, it does not come to an end.
const SLACK: u64 = 64;

/// A program whose turns can be killed.
pub trait Subject: Sync {
    /// What the store that it runs on declares.
    fn durability(&self) -> Durability;

    /// Runs one turn in a place of its own, to its end: a process under each plan in turn, as long
    /// as plans strike, then processes without a plan until the turn has settled.
    ///
    /// # Errors
    /// In words, when the turn cannot be run or does not come to an end: that is a violation too.
    fn live(&self, plans: &[Plan]) -> Result<Life, String>;
}

/// What is left of a turn and its processes.
#[derive(Debug, Clone, Default)]
pub struct Life {
    /// How many of the plans struck, counted from the first.
    pub struck: usize,
    /// How many syncs the last process had.
    pub syncs: u64,
    /// The log, as the store gives it back.
    pub log: Vec<RecordedFact>,
    /// The facts that the processes have told their user.
    pub acknowledged: Vec<RecordedFact>,
    /// The runs of tools, as the tools have noted them.
    pub effects: Vec<Effect>,
    /// The bodies of the requests that the model got.
    pub requests: Vec<Value>,
    /// What else is wrong, in words: an exit code, a message, a check of the store.
    pub wrong: Vec<String>,
}

/// How far a sweep goes.
#[derive(Debug, Clone)]
pub struct Extent {
    /// The faults, each at every sync.
    pub faults: Vec<Fault>,
    /// Of the pairs of a kill and a kill while it recovers, every so many; 0 for none, 1 for all.
    pub doubles: u64,
    /// How many lives are lived at the same time.
    pub workers: usize,
}

/// The sweep was refused: what lives no longer than its process cannot be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the store declares Durability::Memory: it is not durable, so nothing can be promised of a \
     process that dies; sweep a store that declares Durability::Process or Durability::Power"
)]
pub struct NotDurable;

/// What a sweep covered and found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The syncs of the undisturbed run.
    pub syncs: u64,
    /// How often each fault struck.
    pub struck: BTreeMap<Fault, u64>,
    /// How many pairs of a kill and a kill in the recovery struck.
    pub doubles: u64,
    /// What was wrong.
    pub wrong: Vec<Wrong>,
}

/// Something wrong, with the plans that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The plans of the life; none for the undisturbed one.
    pub plans: Vec<Plan>,
    /// What was wrong, in words.
    pub what: String,
}

/// Has a subject live through every fault at every sync.
///
/// How many syncs a run has may vary by what waits for what, so the sweep of a fault ends with the
/// first sync that a run does not reach, and not before the last of the undisturbed run.
///
/// # Errors
/// [`NotDurable`] when the subject's store declares that it dies with its process.
pub fn sweep(subject: &dyn Subject, extent: &Extent) -> Result<Report, NotDurable> {
    if subject.durability() == Durability::Memory {
        return Err(NotDurable);
    }
    let sweep = Sweep { subject, found: Mutex::default() };
    let Some(undisturbed) = sweep.undisturbed() else {
        return Ok(sweep.report());
    };
    for fault in &extent.faults {
        in_parallel(extent.workers, &undisturbed, |sync| {
            let plan = Plan { fault: *fault, sync };
            let struck = sweep.life(&[plan], &undisturbed.requests);
            if struck == 1 {
                *sweep.found().struck.entry(*fault).or_default() += 1;
            }
            struck == 1
        });
    }
    let kills = extent.faults.iter().filter(|fault| fault.kills());
    for fault in kills.filter(|_| extent.doubles > 0) {
        in_parallel(extent.workers, &undisturbed, |sync| {
            sweep.doubles(*fault, sync, extent.doubles, &undisturbed)
        });
    }
    Ok(sweep.report())
}

/// A sweep under way.
struct Sweep<'a> {
    subject: &'a dyn Subject,
    found: Mutex<Report>,
}

impl Sweep<'_> {
    /// Lives without a fault. What is wrong then is wrong with everything.
    fn undisturbed(&self) -> Option<Life> {
        match self.subject.live(&[]) {
            Ok(life) => {
                self.judge(&[], &life, &life.requests);
                let mut found = self.found();
                found.syncs = life.syncs;
                let mute = life.mute().into_iter();
                found
                    .wrong
                    .extend(mute.map(|what| Wrong { plans: Vec::new(), what: what.to_owned() }));
                found.wrong.is_empty().then_some(life)
            }
            Err(what) => {
                let plans = Vec::new();
                self.found().wrong.push(Wrong { plans, what });
                None
            }
        }
    }

    /// Lives under these plans and judges it. Answers how many of them struck.
    fn life(&self, plans: &[Plan], undisturbed: &[Value]) -> usize {
        match self.subject.live(plans) {
            Ok(life) => {
                self.judge(plans, &life, undisturbed);
                life.struck
            }
            Err(what) => {
                let plans = plans.to_vec();
                self.found().wrong.push(Wrong { plans, what });
                0
            }
        }
    }

    /// Kills at one sync, then at every `step`-th of those of the recovery. Answers whether the
    /// first kill struck.
    fn doubles(&self, fault: Fault, sync: u64, step: u64, undisturbed: &Life) -> bool {
        let mut any = false;
        // Each sync of the run begins with another one of the recovery.
        let seconds =
            (1..=undisturbed.most_syncs()).filter(|second| (second + sync).is_multiple_of(step));
        for second in seconds {
            let plans = [sync, second].map(|sync| Plan { fault, sync });
            let struck = self.life(&plans, &undisturbed.requests);
            any |= struck > 0;
            if struck < 2 {
                return any;
            }
            self.found().doubles += 1;
        }
        any
    }

    fn judge(&self, plans: &[Plan], life: &Life, undisturbed: &[Value]) {
        let scene = Scene {
            log: &life.log,
            acknowledged: &life.acknowledged,
            effects: &life.effects,
            requests: &life.requests,
            undisturbed,
        };
        let violations = judge(&scene).into_iter();
        let violations = violations.map(|violation| violation.to_string());
        let wrong = violations.chain(life.wrong.iter().cloned());
        self.found().wrong.extend(wrong.map(|what| Wrong { plans: plans.to_vec(), what }));
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Report> {
        self.found.lock()
    }

    fn report(self) -> Report {
        self.found.into_inner()
    }
}

impl Life {
    /// Which witnesses say nothing of an undisturbed life: what they would have seen is not judged.
    fn mute(&self) -> Vec<&'static str> {
        let witnesses = [
            (self.syncs == 0, "no sync was counted, so none can be disturbed"),
            (self.acknowledged.is_empty(), "no fact was told to the user"),
            (self.effects.is_empty(), "no tool has noted a run"),
            (self.requests.is_empty(), "no model was asked"),
        ];
        let mute = witnesses.into_iter().filter(|(mute, _)| *mute);
        mute.map(|(_, what)| what).collect()
    }

    /// The most syncs that are tried.
    fn most_syncs(&self) -> u64 {
        self.syncs.saturating_mul(2).saturating_add(SLACK)
    }
}

/// Does this for each sync of an undisturbed life, and on until it answers `false`.
fn in_parallel(workers: usize, undisturbed: &Life, act: impl Fn(u64) -> bool + Sync) {
    let least = undisturbed.syncs;
    let (next, end) = (AtomicU64::new(1), AtomicU64::new(undisturbed.most_syncs()));
    thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number > end.load(Ordering::SeqCst) {
                        return;
                    }
                    if !act(number) {
                        end.fetch_min(least.max(number), Ordering::SeqCst);
                    }
                }
            });
        }
    });
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} syncs undisturbed; struck:", self.syncs)?;
        for (fault, times) in &self.struck {
            write!(f, " {} {times},", fault.name())?;
        }
        write!(f, " kills while it recovered {}", self.doubles)?;
        write!(f, "; {} violations", self.wrong.len())?;
        for wrong in &self.wrong {
            write!(f, "\n  {wrong}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plans: Vec<String> = self.plans.iter().map(Plan::to_string).collect();
        match plans.is_empty() {
            true => write!(f, "undisturbed: {}", self.what),
            false => write!(f, "{}: {}", plans.join(" then "), self.what),
        }
    }
}
