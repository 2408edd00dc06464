//! Doings: what effects, users, clocks and readers do, and what befalls processes.

use windlass_core::{Demand, EffectKey, EffectStart, Fact, Input};

use super::answers::{Answering, late};
use super::breach::{Breach, Promise, breach};
use super::happening::Happening;
use super::people::{Act, Fate};
use super::simulation::{Seat, Simulation};
use super::witness::Reading;

impl Simulation {
    /// An effect says something.
    pub(super) fn effect(&mut self) -> Result<(), Breach> {
        let mut seats = self.seats();
        seats.retain(|(place, seat)| {
            let seat = self.seat(*place, *seat);
            seat.is_ok_and(|seat| !seat.driver.running().is_empty())
        });
        let Some((place, seat)) = self.dice.pick(&seats).copied() else {
            return Ok(());
        };
        let running = self.seat(place, seat)?.driver.running();
        let running: Vec<(EffectKey, Demand)> = running.iter().map(|(k, d)| (*k, *d)).collect();
        let Some((key, demand)) = self.dice.pick(&running).copied() else {
            return Ok(());
        };
        let Some(input) = self.answer(place, seat, key, demand, false)? else {
            return Ok(());
        };
        let calls = |key: &EffectKey| matches!(key, EffectKey::Call { .. });
        let first = running.iter().map(|(key, _)| *key).find(calls);
        if calls(&key) && first != Some(key) {
            self.covered.note(Happening::ToolOvertakes);
        }
        let again = self.dice.chance(self.rates.twice).then(|| input.clone());
        let life = self.seat(place, seat)?.driver.life;
        self.take(place, seat, input, None)?;
        let same = |seat: &Seat| seat.driver.life == life;
        if let Some(input) = again
            && self.seat(place, seat).is_ok_and(same)
        {
            self.covered.note(Happening::AnswerTwice);
            self.take(place, seat, input, None)?;
        }
        Ok(())
    }

    /// What an effect says next.
    pub(super) fn answer(
        &mut self,
        place: usize,
        seat: usize,
        key: EffectKey,
        demand: Demand,
        fair: bool,
    ) -> Result<Option<Input>, Breach> {
        self.at = place;
        let Some(here) = self.places.get_mut(place) else {
            return Ok(None);
        };
        let Some(Seat { driver, works }) = here.drivers.get_mut(seat) else {
            return Ok(None);
        };
        let Some(work) = works.get_mut(&key) else {
            let what = format!("{key} runs, and it never began");
            return Err(Breach::Simulation(what));
        };
        let ran = match driver.fact(key.started()).and_then(Fact::start) {
            Some(EffectStart::Reconcile(fact)) => here.witness.has_run(&fact.idempotency_key),
            Some(_) | None => false,
        };
        let (dice, covered) = (&mut self.dice, &mut self.covered);
        let mut answering = Answering { driver, tools: &self.plan.tools, dice, covered, ran };
        Ok(match fair {
            true => Some(answering.fair(key, demand, work)),
            false => answering.next(key, demand, work),
        })
    }

    pub(super) fn user(&mut self) -> Result<(), Breach> {
        let place = self.dice.below(self.places.len());
        let Some(here) = self.places.get_mut(place) else {
            return Ok(());
        };
        // Now and then somebody still speaks to a driver that is superseded.
        let count = here.drivers.len();
        let seat = match self.dice.chance(200) {
            true => self.dice.below(count),
            false => count.saturating_sub(1),
        };
        let Some(Seat { driver, .. }) = here.drivers.get_mut(seat) else {
            return Ok(());
        };
        let act = here.user.act(&self.plan, driver, &mut self.dice, &mut self.covered)?;
        self.does(place, seat, act)
    }

    /// What a user does comes to a driver.
    pub(super) fn does(&mut self, place: usize, seat: usize, act: Act) -> Result<(), Breach> {
        let process = self.seat(place, seat)?.driver.process;
        let now = self.now(process);
        let driver = &mut self.seat_mut(place, seat)?.driver;
        let closing = driver.machine.is_closing() || driver.machine.is_handing_off();
        match act {
            Act::Takes(Input::Continue) if closing => Ok(()),
            Act::Takes(input) => self.take(place, seat, input, None),
            Act::Says(_, said) if closing => {
                let place = self.places.get_mut(place);
                if let Some(said) = place.and_then(|place| place.user.said.get_mut(said)) {
                    said.fate = Fate::Unsure;
                }
                Ok(())
            }
            Act::Says(input, said) => self.take(place, seat, input, Some(said)),
            Act::Closes => {
                driver.close(now)?;
                self.look(place, seat)
            }
            Act::Nothing => Ok(()),
        }
    }

    /// Time passes, or a tick comes.
    pub(super) fn clock(&mut self) -> Result<(), Breach> {
        let seats = self.seats();
        let Some((place, seat)) = self.dice.pick(&seats).copied() else {
            return Ok(());
        };
        let driver = &self.seat(place, seat)?.driver;
        let now = self.now(driver.process);
        if driver.patience.is_some_and(|until| until <= now) {
            self.seat_mut(place, seat)?.driver.end_patience(now)?;
            return self.look(place, seat);
        }
        match driver.deadline() {
            Some(deadline) if deadline <= now => {
                self.covered.note(Happening::Ticked);
                self.take(place, seat, Input::Tick, None)
            }
            Some(_) | None if self.dice.chance(200) => {
                self.covered.note(Happening::TickedEarly);
                self.take(place, seat, Input::Tick, None)
            }
            Some(_) | None => {
                let ms = match self.dice.chance(500) {
                    true => self.dice.between(0, 50),
                    false => self.dice.between(0, 3_000),
                };
                self.pass(ms);
                Ok(())
            }
        }
    }

    /// An answer comes to a run that is over.
    pub(super) fn late(&mut self) -> Result<(), Breach> {
        if !self.dice.chance(self.rates.late.saturating_mul(8)) {
            return Ok(());
        }
        let seats = self.seats();
        let Some((place, seat)) = self.dice.pick(&seats).copied() else {
            return Ok(());
        };
        let past = self.seat(place, seat)?.driver.past.clone();
        let Some(key) = self.dice.pick(&past).copied() else {
            return Ok(());
        };
        let driver = &self.seat(place, seat)?.driver;
        let input = late(key, driver);
        let life = driver.life;
        let here = self.places.get(place);
        let begun = here.and_then(|here| here.begun.iter().rev().find(|begun| begun.key == key));
        self.covered.note(match begun.map(|begun| begun.life == life) {
            Some(true) | None => Happening::LateAnswer,
            Some(false) => Happening::StaleAnswer,
        });
        self.take(place, seat, input, None)
    }

    /// Somebody reads a log without a claim.
    pub(super) fn watch(&mut self) -> Result<(), Breach> {
        let place = self.dice.below(self.places.len());
        self.at = place;
        let texts = self.store.read(place);
        let texts = texts.map_err(|error| {
            let what = format!("the log cannot be read any more: {error}");
            breach(Promise::Kept, what)
        })?;
        self.covered.note(Happening::Watched);
        if let Some(here) = self.places.get_mut(place) {
            here.witness.reads(Reading::Look, &texts)?;
        }
        Ok(())
    }

    /// What befalls processes and clocks.
    pub(super) fn fault(&mut self) -> Result<(), Breach> {
        if self.dice.chance(self.rates.takeover.saturating_mul(10)) {
            self.take_over()?;
        }
        if self.dice.chance(self.rates.hand_off.saturating_mul(10)) {
            self.hand_off()?;
        }
        if self.dice.chance(self.rates.kill.saturating_mul(10)) {
            let process = self.dice.below(self.clocks.len());
            self.covered.note(Happening::Killed);
            self.kill(process)?;
        }
        if self.dice.chance(self.rates.power.saturating_mul(10)) {
            self.lose_power()?;
        }
        if self.dice.chance(self.rates.clock.saturating_mul(10)) {
            let (process, ms) = (self.dice.below(self.clocks.len()), self.dice.between(1, 90_000));
            let forward = self.dice.chance(500);
            let way = if forward { "forward" } else { "back" };
            for place in 0..self.places.len() {
                self.say(place, &format!("the clock of p{process} jumps {way} by {ms} ms"));
            }
            self.covered.note(match forward {
                true => Happening::ClockForward,
                false => Happening::ClockBack,
            });
            if let Some(clock) = self.clocks.get_mut(process) {
                *clock = match forward {
                    true => clock.saturating_add(ms),
                    false => clock.saturating_sub(ms),
                };
            }
        }
        Ok(())
    }
}
