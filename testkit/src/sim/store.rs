//! The simulated log store: a file a session, one claim, and a step for each thing that can be
//! interrupted. It keeps the laws of `LogStore` unless a [`Flaw`] says otherwise.
//!
//! The appends of a session are done one after the other; a claim waits for the one that is being
//! done. An append is a write, which may be interrupted in its middle, then a sync.

use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{StoreError, StoreErrorKind};

use super::dice::Dice;
use super::disk::File;
use super::flaw::Flaw;
use super::frame::{self, Checking, Scan, Tail};

/// What goes wrong with one call of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// A write fails.
    Write,
    /// The disk is full.
    Full,
    /// A sync fails.
    Sync,
    /// A read fails.
    Read,
}

/// The logs of all sessions.
#[derive(Debug)]
pub(super) struct Store {
    logs: Vec<Log>,
    epochs: u64,
    flaw: Option<Flaw>,
}

#[derive(Debug)]
struct Log {
    file: File,
    claim: Option<Epoch>,
    /// After a write or a sync that failed, this claim writes nothing more.
    broken: bool,
    last: Seq,
    end: usize,
    /// The append that is being done.
    busy: Option<Writing>,
}

/// An append that is being done.
#[derive(Debug, Clone)]
struct Writing {
    unit: Vec<u8>,
    written: usize,
    facts: usize,
}

/// How far an append has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// There is more to do.
    Goes,
    /// It is durable, as far as the store knows.
    Done,
}

/// What a claim found.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) epoch: Epoch,
    /// The texts of the log.
    pub(super) texts: Vec<Vec<u8>>,
    /// True if a torn tail was cut off.
    pub(super) repaired: bool,
}

/// How a claim went.
pub(super) enum Claiming {
    /// It is given.
    Given(Claimed),
    /// It failed.
    Failed(StoreError),
    /// The power went while the log was being mended.
    PowerLost,
}

impl Store {
    pub(super) fn new(sessions: usize, flaw: Option<Flaw>) -> Self {
        Self { logs: (0..sessions).map(|_| Log::new()).collect(), epochs: 0, flaw }
    }

    fn log(&mut self, place: usize) -> Result<&mut Log, StoreError> {
        let unknown = || refused(StoreErrorKind::Unknown, "there is no such session");
        self.logs.get_mut(place).ok_or_else(unknown)
    }

    /// Returns true if an append of this session is being done.
    pub(super) fn is_busy(&self, place: usize) -> bool {
        self.logs.get(place).is_some_and(|log| log.busy.is_some())
    }

    /// Returns true if a loss of power could lose something.
    pub(super) fn is_dirty(&self) -> bool {
        self.logs.iter().any(|log| log.file.is_dirty())
    }

    /// Claims a session: cuts off a torn tail, writes the last unit again because nobody knows
    /// whether the sync before succeeded, syncs, and reads.
    pub(super) fn claim(
        &mut self,
        place: usize,
        fault: Option<Fault>,
        power_goes: bool,
    ) -> Claiming {
        let flaw = self.flaw;
        self.epochs += 1;
        let epoch = Epoch(self.epochs);
        let log = match self.log(place) {
            Ok(log) => log,
            Err(error) => return Claiming::Failed(error),
        };
        if flaw != Some(Flaw::KeepsOldClaims) {
            log.claim = None;
        }
        if fault == Some(Fault::Read) {
            return Claiming::Failed(failed("the log could not be read"));
        }
        let scan = log.scan(flaw);
        if scan.tail == Tail::Corrupt {
            let context = format!("the log does not read behind byte {}", scan.end);
            return Claiming::Failed(refused(corrupt(&scan), &context));
        }
        let repaired = scan.tail == Tail::Torn;
        if repaired {
            log.file.truncate(scan.end);
        }
        if let Some(unit) = scan.units.last()
            && flaw != Some(Flaw::TrustsTheCache)
        {
            let bytes = frame::encode(unit.offset, &unit.texts);
            log.file.write(unit.offset, &bytes);
        }
        if power_goes {
            return Claiming::PowerLost;
        }
        if fault.is_some() {
            // What could not be synced is written again by the next claim.
            return Claiming::Failed(failed("the log could not be synced"));
        }
        log.file.sync();
        log.claim = Some(epoch);
        log.broken = false;
        log.busy = None;
        log.end = scan.end;
        log.last = Seq(count(&scan) as u64);
        Claiming::Given(Claimed { epoch, texts: texts(scan), repaired })
    }

    /// Reads a log without a claim.
    pub(super) fn read(&self, place: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        let Some(log) = self.logs.get(place) else {
            return Err(refused(StoreErrorKind::Unknown, "there is no such session"));
        };
        let scan = log.scan(self.flaw);
        match scan.tail {
            Tail::Clean | Tail::Torn => Ok(texts(scan)),
            Tail::Corrupt => {
                let context = "the log does not read to its end";
                Err(refused(corrupt(&scan), context))
            }
        }
    }

    /// Begins an append.
    pub(super) fn begin(
        &mut self,
        place: usize,
        epoch: Epoch,
        after: Seq,
        texts: &[Vec<u8>],
    ) -> Result<(), StoreError> {
        let flaw = self.flaw;
        let log = self.log(place)?;
        if log.claim != Some(epoch) && flaw != Some(Flaw::KeepsOldClaims) {
            return Err(refused(StoreErrorKind::NotClaimed, "somebody claimed it since"));
        }
        if log.broken {
            return Err(failed("a write of this claim failed: claim it anew"));
        }
        if after != log.last && flaw != Some(Flaw::AppendsAnywhere) {
            let last = log.last;
            return Err(refused(StoreErrorKind::Conflict { last }, "the log ends elsewhere"));
        }
        log.busy =
            Some(Writing { unit: frame::encode(log.end, texts), written: 0, facts: texts.len() });
        Ok(())
    }

    /// Does the next step of the append that is being done.
    pub(super) fn go_on(
        &mut self,
        place: usize,
        fault: Option<Fault>,
        dice: &mut Dice,
    ) -> Result<Step, StoreError> {
        let flaw = self.flaw;
        let log = self.log(place)?;
        let Some(writing) = log.busy.as_mut() else {
            return Err(failed("nothing is being appended"));
        };
        let left = writing.unit.len() - writing.written;
        if left > 0 {
            let most = match (fault, dice.chance(300)) {
                (Some(Fault::Write | Fault::Full), _) | (None | Some(_), true) => dice.below(left),
                (None | Some(Fault::Sync | Fault::Read), false) => left,
            };
            let part = writing.unit.get(writing.written..writing.written + most);
            let part = part.unwrap_or_default().to_vec();
            log.file.write(log.end + writing.written, &part);
            writing.written += part.len();
            return match fault {
                Some(Fault::Full) => {
                    // What was written is taken back; the next claim makes sure of it.
                    log.file.truncate(log.end);
                    log.give_up();
                    Err(refused(StoreErrorKind::Full, "no room is left"))
                }
                Some(Fault::Write) => {
                    log.give_up();
                    Err(failed("the append could not be written"))
                }
                None | Some(Fault::Sync | Fault::Read) if flaw == Some(Flaw::AnswersBeforeSync) => {
                    let whole = writing.written == writing.unit.len();
                    Ok(if whole { log.finish() } else { Step::Goes })
                }
                None | Some(Fault::Sync | Fault::Read) => Ok(Step::Goes),
            };
        }
        if fault.is_some() {
            log.file.fail_to_sync(dice);
            log.give_up();
            return Err(failed("the append could not be synced"));
        }
        log.file.sync();
        Ok(log.finish())
    }

    /// A claim is given back. One that is not the latest changes nothing.
    pub(super) fn release(&mut self, place: usize, epoch: Epoch) {
        if let Some(log) = self.logs.get_mut(place)
            && log.claim == Some(epoch)
        {
            log.claim = None;
        }
    }

    /// The process that appends is gone, in the middle of it. Answers whether all was written.
    pub(super) fn abandon(&mut self, place: usize) -> bool {
        let busy = self.logs.get_mut(place).and_then(|log| log.busy.take());
        busy.is_some_and(|writing| writing.written == writing.unit.len())
    }

    /// Loses power.
    pub(super) fn lose_power(&mut self, left: super::disk::Left, dice: &mut Dice) {
        for log in &mut self.logs {
            log.file.lose_power(left, dice);
            log.claim = None;
            log.busy = None;
        }
    }
}

impl Log {
    fn new() -> Self {
        Self {
            file: File::default(),
            claim: None,
            broken: false,
            last: Seq::ZERO,
            end: 0,
            busy: None,
        }
    }

    fn scan(&self, flaw: Option<Flaw>) -> Scan {
        let checking = match flaw {
            Some(Flaw::TakesTornForWhole) => Checking::Careless,
            Some(_) | None => Checking::Careful,
        };
        frame::scan(self.file.seen(), checking)
    }

    fn give_up(&mut self) {
        self.broken = true;
        self.busy = None;
    }

    fn finish(&mut self) -> Step {
        if let Some(writing) = self.busy.take() {
            self.end += writing.unit.len();
            self.last = self.last.plus(writing.facts as u64);
        }
        Step::Done
    }
}

fn corrupt(scan: &Scan) -> StoreErrorKind {
    StoreErrorKind::Corrupt { after: Seq(count(scan) as u64), offset: Some(scan.end as u64) }
}

fn count(scan: &Scan) -> usize {
    scan.units.iter().map(|unit| unit.texts.len()).sum()
}

fn texts(scan: Scan) -> Vec<Vec<u8>> {
    scan.units.into_iter().flat_map(|unit| unit.texts).collect()
}

fn failed(context: &str) -> StoreError {
    refused(StoreErrorKind::Io, context)
}

fn refused(kind: StoreErrorKind, context: &str) -> StoreError {
    StoreError::new(kind, context)
}

/// The id of a session by its place.
pub(super) fn session_id(place: usize) -> Result<SessionId, super::breach::Breach> {
    let text = format!("sim-{place}");
    SessionId::new(&text).map_err(|error| super::breach::Breach::Simulation(error.to_string()))
}
