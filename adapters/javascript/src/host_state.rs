//! State that a running program shares with the host functions: steps used, calls, prints, result,
//! and the reason to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use windlass_core::{ProgramFault, ProgramLimits};
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{CancelSignal, ProgramCall};

use crate::fault::{at_position, less, no_memory};
use crate::key_ledger::{KeyFault, KeyLedger, KeyPrice};

/// Steps that one check of the engine counts as; the engine checks once in ten thousand of its own
/// operations. Most of those are counted as rounds and calls already; the rest are loops within
/// patterns and the library.
pub(crate) const LOOK: u64 = 3_000;

/// Part of a program's memory that the arguments of the calls that it waits for may take.
const CALLS_SHARE: u64 = 4;

/// State of a program, as the host sees it.
#[derive(Debug)]
pub(crate) struct HostState {
    pub(crate) limits: ProgramLimits,
    stop: CancelSignal,
    steps: AtomicU64,
    /// True if the program has begun: what stands around it costs it nothing.
    begun: AtomicBool,
    over: AtomicBool,
    keys: Mutex<KeyLedger>,
    inner: Mutex<HostStateInner>,
}

#[derive(Debug, Default)]
pub(crate) struct HostStateInner {
    /// Fault that must end it.
    pub(crate) fault: Option<ProgramFault>,
    /// Reason for giving up, as JSON text.
    pub(crate) failed: Option<String>,
    /// The calls that it waits for.
    pub(crate) calls: Vec<ProgramCall>,
    called: u32,
    /// Bytes of the arguments of the calls that it waits for.
    call_bytes: u64,
    pub(crate) prints: Vec<String>,
    printed: u64,
}

impl HostState {
    pub(crate) fn new(limits: ProgramLimits, stop: CancelSignal) -> Self {
        Self {
            limits,
            stop,
            steps: AtomicU64::new(0),
            begun: AtomicBool::new(false),
            over: AtomicBool::new(false),
            keys: Mutex::new(KeyLedger::new(limits.memory_bytes)),
            inner: Mutex::default(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HostStateInner> {
        self.inner.lock()
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Counts steps. Whether the program must end.
    pub(crate) fn spend(&self, steps: u64) -> bool {
        if self.over.load(Ordering::Relaxed) {
            return true;
        }
        if !self.begun.load(Ordering::Relaxed) {
            return false;
        }
        let before = self.steps.fetch_add(steps, Ordering::Relaxed);
        if self.stop.is_cancelled() {
            let words = "the program was told to stop";
            self.end(ProgramFault::new(ProgramFault::STOPPED, words));
            return true;
        }
        let most = self.limits.steps;
        if before.saturating_add(steps) > most {
            let words = format!("the program may take {most} steps and takes more");
            self.end(less("fuel_exceeded", words));
            return true;
        }
        false
    }

    /// Counts the steps that a use of keys costs. Returns true if the program must end.
    pub(crate) fn pay_for_keys(&self, price: impl FnOnce(&mut KeyLedger) -> KeyPrice) -> bool {
        let price = price(&mut self.keys.lock());
        // Before the program has begun, nothing is counted.
        let fault = match price {
            Ok(steps) if steps <= self.limits.steps => return self.spend(steps),
            Ok(_) | Err(KeyFault::LongChain) => {
                let words =
                    "too many keys of the program have one hash, and each lookup takes long";
                less("fuel_exceeded", words)
            }
            Err(KeyFault::NoMemory) => no_memory(self.limits.memory_bytes),
        };
        self.end(fault);
        true
    }

    /// Counts from now on.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Ends the program with a fault. The first one counts.
    pub(crate) fn end(&self, fault: ProgramFault) {
        self.lock().fault.get_or_insert(fault);
        self.over.store(true, Ordering::Relaxed);
    }

    /// Ends the program with a fault at this place of what is compiled, if one is known.
    pub(crate) fn end_at(&self, fault: ProgramFault, place: Option<(u32, u32)>) {
        self.end(at_position(fault, place));
    }

    /// Gives up for this reason: JSON text. The first one counts.
    pub(crate) fn fail(&self, reason: String) {
        self.lock().failed.get_or_insert(reason);
        self.over.store(true, Ordering::Relaxed);
    }

    /// A call: its number, or `None` where there may be no more.
    pub(crate) fn call(&self, name: &str, arguments: String) -> Option<u32> {
        let most = self.limits.calls;
        let mut inner = self.lock();
        if inner.fault.is_some() || inner.failed.is_some() {
            return None;
        }
        if inner.called >= most {
            drop(inner);
            let words = format!("the program may call tools {most} times and calls more");
            self.end(less("tool_call_limit_exceeded", words));
            return None;
        }
        inner.call_bytes = inner.call_bytes.saturating_add(arguments.len() as u64);
        if inner.call_bytes > self.limits.memory_bytes / CALLS_SHARE {
            drop(inner);
            self.end(no_memory(self.limits.memory_bytes));
            return None;
        }
        inner.called += 1;
        inner.calls.push(ProgramCall { name: name.into(), arguments });
        Some(inner.called - 1)
    }

    /// Takes the calls that the program waits for, with the number of the first.
    pub(crate) fn take_calls(&self) -> (u32, Vec<ProgramCall>) {
        let mut inner = self.lock();
        let calls = std::mem::take(&mut inner.calls);
        inner.call_bytes = 0;
        let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        (inner.called.saturating_sub(count), calls)
    }

    /// Prints. Whether there may be more.
    pub(crate) fn print(&self, text: &str) -> bool {
        let most = self.limits.print_bytes;
        let mut inner = self.lock();
        for line in text.split('\n') {
            // An empty line takes room too.
            inner.printed = inner.printed.saturating_add((line.len() as u64).max(1));
            if inner.printed > most {
                drop(inner);
                let words = format!("the program may print {most} bytes and prints more");
                self.end(less("print_limit_exceeded", words));
                return false;
            }
            inner.prints.push(line.to_owned());
        }
        inner.fault.is_none()
    }
}
