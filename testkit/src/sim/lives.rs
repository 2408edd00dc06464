//! Lives: how processes take sessions up, let them go, supersede one another and die.

use windlass_core::{
    Checkpoint, Epoch, Incoming, Input, Lineage, OpenSession, RecordedFact, Seq, Timestamp,
};

use super::answers::Works;
use super::breach::{Breach, Promise, breach};
use super::disk::Left;
use super::driver::{Driver, Ended, Taken, decode};
use super::flaw::Flaw;
use super::happening::Happening;
use super::people::somebody;
use super::request::Request;
use super::simulation::{Place, Seat, Simulation};
use super::store::{Claiming, Fault, session_id};
use super::witness::Reading;
use crate::laws::{Broken, LawMoment, Loss, broken, law_01_live_equals_fold};

/// Facts of a log up to which all its prefixes are looked at when its driver ends.
const PREFIX: usize = 70;

impl Simulation {
    /// A driver ends by itself.
    pub(super) fn end(&mut self, place: usize, seat: usize, ended: Ended) -> Result<(), Breach> {
        match ended {
            Ended::Superseded => self.covered.note(Happening::Superseded),
            Ended::Store => self.covered.note(Happening::StoreEnded),
            Ended::Closed => self.covered.note(Happening::Closed),
            Ended::HandedOff { complete: true } => self.covered.note(Happening::HandedOff),
            Ended::HandedOff { complete: false } => self.covered.note(Happening::HandedOffInTime),
        }
        self.say(place, &format!("the driver ends: {ended:?}"));
        let epoch = self.remove(place, seat)?;
        if self.dice.chance(self.rates.release) {
            // Nobody else can tell: the next claim takes its place.
            self.covered.note(Happening::ReleaseFails);
        } else {
            self.store.release(place, epoch);
        }
        Ok(())
    }

    /// Takes a driver away. Answers its claim.
    fn remove(&mut self, place: usize, seat: usize) -> Result<Epoch, Breach> {
        self.at = place;
        let driver = &self.seat(place, seat)?.driver;
        if driver.log.len() <= PREFIX && self.step.is_multiple_of(3) {
            self.check(place, seat, LawMoment::End)?;
        }
        let Some(here) = self.places.get_mut(place) else {
            return Err(Breach::Simulation(String::from("there is no such session")));
        };
        let seat = here.drivers.remove(seat);
        here.past.clone_from(&seat.driver.past);
        here.past.extend(seat.driver.running().keys());
        here.user.loses(seat.driver.life);
        Ok(seat.driver.epoch)
    }

    /// A process claims a session and takes it up.
    pub(super) fn start(&mut self, place: usize, process: usize) -> Result<(), Breach> {
        self.at = place;
        if self.store.is_busy(place) {
            return Ok(());
        }
        let fault = self.claim_fault();
        let power_goes = self.dice.chance(self.rates.power_in_recovery);
        let claimed = match self.store.claim(place, fault, power_goes) {
            Claiming::Given(claimed) => claimed,
            Claiming::Failed(error) => {
                self.covered.note(match fault {
                    Some(Fault::Read) => Happening::ReadFails,
                    Some(_) | None => Happening::ClaimFails,
                });
                self.say(place, &format!("p{process} cannot claim it: {error}"));
                return match fault {
                    Some(_) => Ok(()),
                    None => Err(breach(
                        Promise::Kept,
                        format!("the log cannot be claimed any more: {error}"),
                    )),
                };
            }
            Claiming::PowerLost => {
                self.covered.note(Happening::PowerLostInRecovery);
                return self.lose_power();
            }
        };
        if claimed.repaired {
            self.covered.note(Happening::TailCut);
        }
        self.covered.note(Happening::Driver);
        self.say(place, &format!("p{process} claims it at {}", claimed.texts.len()));
        let now = self.now(process);
        let (transitions, flaw) = (self.plan.transitions, self.plan.flaw);
        let Some(here) = self.places.get_mut(place) else {
            return Ok(());
        };
        let reading = Reading::Claim(claimed.epoch);
        if here.witness.reads(reading, &claimed.texts)? > 0 {
            self.covered.note(Happening::KeptUnknown);
        }
        let durable = Seq(claimed.texts.len() as u64);
        let mut log: Vec<RecordedFact> = Vec::new();
        for text in &claimed.texts {
            log.push(decode(text)?);
        }
        if log.is_empty() {
            log.push(here.opening(place, now)?);
        }
        let (session, history) = law_01_live_equals_fold::fold(&log)?;
        if let Some(checkpoint) = &here.checkpoint
            && checkpoint.last() <= durable
        {
            let folded = fold_on(checkpoint, &log)?;
            law_01_live_equals_fold::check(&log, &folded.session, &folded.history)?;
            self.covered.note(Happening::CheckpointUsed);
        }
        if let Some(life) = here.lives.checked_sub(1) {
            here.losses.push(Loss { life, kept: durable });
        }
        here.begun.sort_by_key(|begun| begun.life);
        let mut past = std::mem::take(&mut here.past);
        if let Some(seat) = here.drivers.last() {
            past.extend(seat.driver.running().keys());
        }
        // A position that was lost comes back as something else.
        past.retain(|key| key.started() <= durable);
        let driver = Driver::new(Taken {
            process,
            life: here.lives,
            epoch: claimed.epoch,
            transitions,
            flaw,
            ceiling: here.ceiling,
            log,
            session,
            history,
            durable,
            begun: here.begun.clone(),
            losses: here.losses.clone(),
            past,
        });
        here.lives += 1;
        let seat = here.drivers.len();
        here.drivers.push(Seat { driver, works: Works::new() });
        let input = match flaw {
            Some(Flaw::ForgetsRecovery) => Input::Tick,
            Some(_) | None => Input::Recover,
        };
        self.take(place, seat, input, None)
    }

    pub(super) fn start_somewhere(&mut self) -> Result<(), Breach> {
        let idle = self.places.iter().enumerate();
        let idle = idle.filter(|(_, place)| place.driver().is_none());
        let idle: Vec<usize> = idle.map(|(at, _)| at).collect();
        let Some(place) = self.dice.pick(&idle).copied() else {
            return Ok(());
        };
        let process = self.dice.below(self.clocks.len());
        self.start(place, process)
    }

    /// A second process claims a session that a first one drives.
    pub(super) fn take_over(&mut self) -> Result<(), Breach> {
        let place = self.dice.below(self.places.len());
        let here = self.places.get(place);
        let driven = here.and_then(|here| here.drivers.last());
        let Some(process) = driven.map(|seat| seat.driver.process) else {
            return Ok(());
        };
        let other = (process + 1) % self.clocks.len();
        self.covered.note(Happening::Takeover);
        self.start(place, other)
    }

    /// A process hands a session off.
    pub(super) fn hand_off(&mut self) -> Result<(), Breach> {
        let seats = self.seats();
        let Some((place, seat)) = self.dice.pick(&seats).copied() else {
            return Ok(());
        };
        self.at = place;
        let within_ms = match self.dice.chance(400) {
            true => 0,
            false => self.dice.between(1, 2_000),
        };
        let process = self.seat(place, seat)?.driver.process;
        let now = self.now(process);
        self.covered.note(Happening::HandOff);
        self.say(place, &format!("p{process} hands it off within {within_ms} ms"));
        let driver = &mut self.seat_mut(place, seat)?.driver;
        driver.hand_off(within_ms, now)?;
        self.look(place, seat)
    }

    /// A process is killed: all that it drives, and what it was just doing.
    pub(super) fn kill(&mut self, process: usize) -> Result<(), Breach> {
        for place in 0..self.places.len() {
            let doing = |request: &Request| request.place == place && request.is_being_done();
            let doing = self.requests.iter().find(|request| doing(request));
            if doing.is_some_and(|request| request.process == process) {
                let whole = self.store.abandon(place);
                self.covered.note(match whole {
                    true => Happening::KilledInSync,
                    false => Happening::KilledInAppend,
                });
            }
            let driven = |seat: &Seat| seat.driver.process == process;
            while let Some(here) = self.places.get(place)
                && let Some(seat) = here.drivers.iter().position(driven)
            {
                self.say(place, &format!("p{process} is killed"));
                let epoch = self.remove(place, seat)?;
                self.store.release(place, epoch);
            }
        }
        self.requests.retain(|request| request.process != process);
        Ok(())
    }

    /// The power goes: every process, and any part of what was not synced.
    pub(super) fn lose_power(&mut self) -> Result<(), Breach> {
        self.covered.note(Happening::PowerLost);
        if self.store.is_dirty() {
            self.covered.note(Happening::PowerLostDirty);
        }
        let left = self.dice.pick(&Left::ALL).copied().unwrap_or(Left::None);
        self.covered.note(match left {
            Left::All => Happening::LeftAll,
            Left::None => Happening::LeftNone,
            Left::Start => Happening::LeftStart,
            Left::Sectors => Happening::LeftSectors,
            Left::Bytes => Happening::LeftBytes,
        });
        for place in 0..self.places.len() {
            self.say(place, "the power goes");
            while self.places.get(place).is_some_and(|here| !here.drivers.is_empty()) {
                self.remove(place, 0)?;
            }
        }
        self.requests.clear();
        self.store.lose_power(left, &mut self.dice);
        Ok(())
    }
}

/// A checkpoint with the rest of the log folded on.
fn fold_on(checkpoint: &Checkpoint, log: &[RecordedFact]) -> Result<Checkpoint, Broken> {
    let mut folded = checkpoint.clone();
    let misfit = |misfit| broken(1, format!("a checkpoint does not fit its log: {misfit}"));
    for recorded in log.iter().filter(|fact| fact.seq > checkpoint.last()) {
        folded.apply(recorded).map_err(misfit)?;
    }
    Ok(folded)
}

impl Place {
    /// The fact that opens the session.
    fn opening(&self, place: usize, at: Timestamp) -> Result<RecordedFact, Breach> {
        let draft = windlass_core::decide_open(Incoming {
            at,
            entropy: 0,
            input: OpenSession {
                owner: somebody(),
                workspace: None,
                settings: self.posture.settings(),
                lineage: Lineage::Root,
            },
        });
        Ok(draft.number(&session_id(place)?, Seq::ZERO.next()))
    }
}
