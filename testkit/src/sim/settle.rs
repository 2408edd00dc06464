//! Settling: the faults are over, whoever is asked answers, and everything must come to rest within
//! bounded steps, with nothing lost.

use windlass_core::{CallId, Demand, EffectKey, Fact, Hold, Input, QueuedInput, RecordedFact, Seq};

use super::breach::{Breach, Promise, breach, keep};
use super::driver::encode;
use super::faults::Rates;
use super::happening::Happening;
use super::simulation::Simulation;
use super::witness::Reading;
use crate::laws::LawMoment;
use crate::world::fair::child_ended;

/// More steps than a session needs to come to rest.
const STEPS: usize = 1_500;

/// Facts of a log up to which all its prefixes are looked at in the end.
const PREFIX: usize = 90;

/// What is to be done next.
enum Next {
    /// A request goes on.
    Request(usize),
    /// An effect answers.
    Effect { place: usize, seat: usize, key: EffectKey, demand: Demand },
    /// A session is taken up.
    Start(usize),
    /// A user sends again what was not acknowledged.
    Again(usize),
    /// A user has what waits go on.
    Continue(usize),
    /// A detached child of a session ends.
    ChildEnded(usize, CallId),
    /// Time passes until a session wants to be looked at.
    Wait(usize),
}

impl Simulation {
    pub(super) fn settle(&mut self) -> Result<(), Breach> {
        self.rates = Rates::default();
        let bound = STEPS * self.places.len();
        for _ in 0..bound {
            match self.next() {
                Some(next) => self.follow(next)?,
                None => return self.judge(),
            }
        }
        self.at = (0..self.places.len()).find(|place| !self.rested(*place)).unwrap_or(0);
        let what = format!("{bound} steps after the last fault it still does not rest");
        Err(breach(Promise::Settles, what))
    }

    fn next(&mut self) -> Option<Next> {
        let effects = self.seats().into_iter().flat_map(|(place, seat)| {
            let here = self.places.get(place).and_then(|here| here.drivers.get(seat));
            let running = here.map(|seat| seat.driver.running().iter());
            running.into_iter().flatten().map(move |(key, demand)| Next::Effect {
                place,
                seat,
                key: *key,
                demand: *demand,
            })
        });
        let mut all: Vec<Next> = effects.collect();
        all.extend((0..self.requests.len()).map(Next::Request));
        if !all.is_empty() {
            let next = self.dice.below(all.len());
            return all.into_iter().nth(next);
        }
        for (at, here) in self.places.iter().enumerate() {
            let Some(driver) = here.driver() else {
                return Some(Next::Start(at));
            };
            // One that lets the session go takes nothing more; the next one does.
            let open = !driver.machine.is_closing() && !driver.machine.is_handing_off();
            if open && here.user.is_unsure() {
                return Some(Next::Again(at));
            }
            let session = driver.session();
            let held = session.hold == Hold::Held && !session.queue.is_empty();
            if open && held && session.turn().is_none() {
                return Some(Next::Continue(at));
            }
            if let (true, Some(child)) = (open, session.detached.first()) {
                return Some(Next::ChildEnded(at, child.call));
            }
            if driver.deadline().is_some() {
                return Some(Next::Wait(at));
            }
        }
        None
    }

    fn follow(&mut self, next: Next) -> Result<(), Breach> {
        match next {
            Next::Request(number) => self.advance(number),
            Next::Effect { place, seat, key, demand } => {
                match self.answer(place, seat, key, demand, true)? {
                    Some(input) => self.take(place, seat, input, None),
                    None => Ok(()),
                }
            }
            Next::Start(place) => self.start(place, 0),
            Next::Again(place) => {
                let Some(here) = self.places.get_mut(place) else {
                    return Ok(());
                };
                let Some((seat, last)) = here.drivers.iter().enumerate().next_back() else {
                    return Ok(());
                };
                let act = here.user.say_again(last.driver.life, &mut self.covered);
                self.does(place, seat, act)
            }
            Next::ChildEnded(place, call) => self.take_last(place, child_ended(call)),
            Next::Continue(place) => self.take_last(place, Input::Continue),
            Next::Wait(place) => {
                let seat = self.places.get(place).and_then(|here| here.drivers.last());
                if let Some((process, Some(deadline))) =
                    seat.map(|seat| (seat.driver.process, seat.driver.deadline()))
                {
                    let ms = deadline.since_ms(self.now(process));
                    self.say(place, &format!("{ms} ms pass"));
                    self.pass(ms);
                }
                self.take_last(place, Input::Tick)
            }
        }
    }

    fn take_last(&mut self, place: usize, input: Input) -> Result<(), Breach> {
        let count = self.places.get(place).map_or(0, |here| here.drivers.len());
        self.take(place, count.saturating_sub(1), input, None)
    }

    /// Returns true if the session rests. The result of a detached child may wait for a later turn.
    fn rested(&self, place: usize) -> bool {
        let driver = self.places.get(place).and_then(|here| here.driver());
        driver.is_some_and(|driver| {
            driver.machine.is_at_rest()
                && driver.running().is_empty()
                && !driver.session().queue.iter().any(QueuedInput::opens_turn)
        })
    }

    /// Holds the end of every session to what was promised.
    fn judge(&mut self) -> Result<(), Breach> {
        for place in 0..self.places.len() {
            self.at = place;
            keep(Promise::Settles, self.rested(place), || {
                String::from("nothing runs, no tick will come, and it does not rest")
            })?;
            let texts = self.store.read(place).map_err(|error| {
                let what = format!("the log cannot be read in the end: {error}");
                breach(Promise::Kept, what)
            })?;
            let Some(here) = self.places.get_mut(place) else {
                continue;
            };
            here.witness.reads(Reading::Look, &texts)?;
            keep(Promise::Published, here.witness.known() == texts.len(), || {
                let known = here.witness.known();
                format!("the log has {} facts, and {known} were published", texts.len())
            })?;
            let Some(driver) = here.driver() else {
                continue;
            };
            let log = &driver.log;
            let mut same = log.len() == texts.len();
            for (recorded, text) in log.iter().zip(&texts) {
                same &= encode(recorded)? == *text;
            }
            keep(Promise::Kept, same, || {
                String::from("the driver and the store do not have the same log")
            })?;
            let heard = here.user.judges(log)?;
            self.covered.count(Happening::Heard, heard);
            let settled =
                log.iter().filter(|recorded| matches!(recorded.fact, Fact::TurnSettled(_)));
            self.covered.count(Happening::Settled, settled.count() as u64);
            self.covered.count(Happening::Fact, log.len() as u64);
            let lent = log.iter().filter(|recorded| is_lent(recorded)).count();
            self.covered.count(Happening::AgentLent, lent as u64);
            let (length, seat) = (log.len(), here.drivers.len().saturating_sub(1));
            self.check(place, seat, LawMoment::Step)?;
            if length <= PREFIX {
                self.check(place, seat, LawMoment::End)?;
            }
            let last = Seq(length as u64);
            self.say(place, &format!("at rest at {last}"));
        }
        Ok(())
    }
}

/// Returns true if an agent begins, which is lent a budget.
fn is_lent(recorded: &RecordedFact) -> bool {
    matches!(&recorded.fact, Fact::CallStarted(fact) if fact.grant.is_some() && fact.attempt == 1)
}
