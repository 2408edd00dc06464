//! Requests: appends on their way to the store, and answers on their way back.

use windlass_core::Epoch;
use windlass_ports::{StoreError, StoreErrorKind};

use super::breach::Breach;
use super::driver::Sending;
use super::happening::Happening;
use super::simulation::Simulation;
use super::store::{Fault, Step};

/// An append on its way.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) place: usize,
    pub(super) process: usize,
    life: u32,
    epoch: Epoch,
    sending: Sending,
    stage: Stage,
    /// It was delivered twice.
    twice: bool,
}

#[derive(Debug, Clone)]
enum Stage {
    /// It has not come to the store.
    Sent,
    /// The store does it.
    Doing,
    /// The answer is on its way.
    Answered(Result<(), StoreErrorKind>),
}

impl Request {
    pub(super) fn new(
        place: usize,
        process: usize,
        life: u32,
        epoch: Epoch,
        sending: Sending,
        twice: bool,
    ) -> Self {
        Self { place, process, life, epoch, sending, stage: Stage::Sent, twice }
    }

    /// Returns true if the store is doing it.
    pub(super) fn is_being_done(&self) -> bool {
        matches!(self.stage, Stage::Doing)
    }
}

impl Simulation {
    /// Takes a request one step on.
    pub(super) fn advance(&mut self, number: usize) -> Result<(), Breach> {
        let Some(request) = self.requests.get(number).cloned() else {
            return Ok(());
        };
        self.at = request.place;
        let stage = match &request.stage {
            Stage::Sent if self.store.is_busy(request.place) => return Ok(()),
            Stage::Sent => self.arrives(&request)?,
            Stage::Doing => match self.goes_on(&request)? {
                Some(stage) => stage,
                None => return Ok(()),
            },
            Stage::Answered(answer) => {
                self.requests.remove(number);
                return self.answered(&request, answer.clone());
            }
        };
        if let Some(request) = self.requests.get_mut(number) {
            request.stage = stage;
        }
        Ok(())
    }

    /// It comes to the store.
    fn arrives(&mut self, request: &Request) -> Result<Stage, Breach> {
        let Sending { after, texts, .. } = &request.sending;
        let begun = self.store.begin(request.place, request.epoch, *after, texts);
        match begun {
            Ok(()) => {
                if let Some(here) = self.places.get(request.place) {
                    here.witness.begins(request.epoch)?;
                }
                Ok(Stage::Doing)
            }
            Err(error) => {
                if request.twice && matches!(error.kind, StoreErrorKind::Conflict { .. }) {
                    self.covered.note(Happening::AppendTwiceRefused);
                }
                Ok(Stage::Answered(Err(error.kind)))
            }
        }
    }

    /// The store does a step of it.
    fn goes_on(&mut self, request: &Request) -> Result<Option<Stage>, Breach> {
        let fault = self.append_fault();
        let step = self.store.go_on(request.place, fault, &mut self.dice);
        match step {
            Ok(Step::Goes) => Ok(None),
            Ok(Step::Done) => {
                if self.dice.chance(self.rates.ack_lost) {
                    self.covered.note(Happening::AckLost);
                    return Ok(Some(Stage::Answered(Err(StoreErrorKind::Io))));
                }
                let answered = Stage::Answered(Ok(()));
                if self.dice.chance(self.rates.ack_twice) {
                    self.covered.note(Happening::AckTwice);
                    self.requests.push(Request { stage: answered.clone(), ..request.clone() });
                }
                Ok(Some(answered))
            }
            Err(error) => {
                let what = format!("an append after {} fails: {error}", request.sending.after);
                self.say(request.place, &what);
                Ok(Some(Stage::Answered(Err(error.kind))))
            }
        }
    }

    /// The answer comes to the driver, if it still lives.
    fn answered(
        &mut self,
        request: &Request,
        answer: Result<(), StoreErrorKind>,
    ) -> Result<(), Breach> {
        let place = request.place;
        let here = self.places.get(place);
        let drivers = here.map_or(&[][..], |here| here.drivers.as_slice());
        let seat = drivers.iter().position(|seat| seat.driver.life == request.life);
        let Some(seat) = seat else { return Ok(()) };
        let moment = self.moment(request.process);
        let driver = &mut self.seat_mut(place, seat)?.driver;
        let waited = driver.machine.is_appending();
        let late = driver.overtaken > 0;
        let answer = answer.map_err(|kind| StoreError::new(kind, "the store says so"));
        driver.wrote(request.sending.number, &answer, moment)?;
        if answer.is_ok() && waited {
            self.covered.note(Happening::Acknowledged);
            if late {
                self.covered.note(Happening::Late);
            }
        }
        self.look(place, seat)
    }

    fn append_fault(&mut self) -> Option<Fault> {
        self.calls += 1;
        if let Some(fault) = self.nth() {
            return Some(fault);
        }
        let rates = self.rates;
        for (rate, fault, happening) in [
            (rates.write, Fault::Write, Happening::WriteFails),
            (rates.full, Fault::Full, Happening::DiskFull),
            (rates.sync, Fault::Sync, Happening::SyncFails),
        ] {
            if self.dice.chance(rate) {
                self.covered.note(happening);
                return Some(fault);
            }
        }
        None
    }

    pub(super) fn claim_fault(&mut self) -> Option<Fault> {
        self.calls += 1;
        if let Some(fault) = self.nth() {
            return Some(fault);
        }
        if self.dice.chance(self.rates.read) {
            return Some(Fault::Read);
        }
        self.dice.chance(self.rates.claim).then_some(Fault::Sync)
    }

    fn nth(&mut self) -> Option<Fault> {
        let (number, fault) = self.rates.nth?;
        (self.calls == number).then(|| {
            self.covered.note(Happening::NthCallFails);
            fault
        })
    }
}
