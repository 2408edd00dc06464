//! The simulation: sessions, processes, one store, and who acts next. One number decides all of it.

use std::sync::Arc;

use windlass_core::{Checkpoint, EffectClass, EffectKey, Input, Limits, Timestamp};

use super::answers::{Work, Works};
use super::breach::{Breach, Failure};
use super::dice::Dice;
use super::driver::{Done, Driver, Moment};
use super::faults::Rates;
use super::happening::{Covered, Happening};
use super::people::{Fate, User};
use super::request::Request;
use super::store::{Store, session_id};
use super::witness::Witness;
use super::{Plan, Ran};
use crate::laws::{Begun, Law, LawMoment, Loss, Tally};
use crate::world::{Posture, random};

/// A simulated world.
pub(super) struct Simulation {
    pub(super) plan: Plan,
    pub(super) laws: Arc<[Law]>,
    seed: u64,
    pub(super) dice: Dice,
    pub(super) covered: Covered,
    pub(super) store: Store,
    pub(super) rates: Rates,
    /// How many calls the store had.
    pub(super) calls: u64,
    pub(super) requests: Vec<Request>,
    pub(super) places: Vec<Place>,
    /// What each process's clock shows.
    pub(super) clocks: Vec<u64>,
    pub(super) step: u64,
    /// The session that something happens to now.
    pub(super) at: usize,
}

/// One session, in all of its lives.
pub(super) struct Place {
    pub(super) posture: Posture,
    pub(super) ceiling: Limits,
    /// Those that live, the latest last. One before it does not know yet that it is superseded.
    pub(super) drivers: Vec<Seat>,
    pub(super) begun: Vec<Begun>,
    pub(super) losses: Vec<Loss>,
    pub(super) lives: u32,
    /// Runs that have ended, for answers that come late.
    pub(super) past: Vec<EffectKey>,
    pub(super) witness: Witness,
    /// The latest checkpoint beside its log.
    pub(super) checkpoint: Option<Box<Checkpoint>>,
    pub(super) user: User,
    pub(super) lines: Vec<String>,
    /// How often users' laws applied.
    pub(super) applied: Tally,
}

impl Place {
    /// Its driver, if one has the latest claim. Those before it do not know yet that they have not.
    pub(super) fn driver(&self) -> Option<&Driver> {
        let seat = self.drivers.last()?;
        let latest = self.witness.is_latest(seat.driver.epoch);
        latest.then_some(&seat.driver)
    }
}

/// A driver, and what runs for it.
pub(super) struct Seat {
    pub(super) driver: Driver,
    pub(super) works: Works,
}

/// When simulations begin, on every clock.
const EPOCH: u64 = 1_000_000_000;

/// Lines of a transcript that a failure tells.
const TAIL: usize = 60;

#[derive(Clone, Copy)]
enum Turn {
    Effect,
    Store,
    User,
    Clock,
    Start,
    Late,
    Watch,
    Fault,
}

impl Simulation {
    pub(super) fn new(plan: Plan, laws: &[Law], seed: u64) -> Result<Self, Breach> {
        let mut dice = Dice::new(seed);
        let sessions = 1 + dice.below(4);
        let processes = 2 + dice.below(2);
        let rates = Rates::of(&mut dice);
        let mut places = Vec::new();
        for place in 0..sessions {
            let ceiling = match dice.chance(250) {
                true => dice.draw(&random::limits())?,
                false => Limits::default(),
            };
            let mut posture = plan.settle(dice.draw(&random::posture())?);
            // More of them than random postures have.
            if plan.posture.is_none() && seed % 3 == place as u64 {
                posture.agent = Some(1 + place as u32);
            }
            places.push(Place {
                posture,
                ceiling,
                drivers: Vec::new(),
                begun: Vec::new(),
                losses: Vec::new(),
                lives: 0,
                past: Vec::new(),
                witness: Witness::default(),
                checkpoint: None,
                user: User { place, said: Vec::new() },
                lines: Vec::new(),
                applied: Tally::default(),
            });
        }
        Ok(Self {
            store: Store::new(sessions, plan.flaw),
            plan,
            laws: laws.into(),
            seed,
            dice,
            covered: Covered::default(),
            rates,
            calls: 0,
            requests: Vec::new(),
            places,
            clocks: vec![EPOCH; processes],
            step: 0,
            at: 0,
        })
    }

    /// Runs to the end.
    pub(super) fn run(mut self) -> Result<Ran, Box<Failure>> {
        let done = self.live().and_then(|()| self.settle());
        match done {
            Ok(()) => {
                let mut applied = Tally::default();
                self.places.iter().for_each(|place| applied.add(&place.applied));
                let lines = self.places.into_iter().map(|place| place.lines).collect();
                Ok(Ran { covered: self.covered, lines, applied })
            }
            Err(breach) => Err(Box::new(self.failure(breach))),
        }
    }

    fn failure(mut self, breach: Breach) -> Failure {
        let place = self.at;
        let lines = self.places.get_mut(place).map(|place| {
            let last = place.drivers.iter_mut().flat_map(|seat| {
                let done = std::mem::take(&mut seat.driver.done).into_iter();
                done.filter_map(|done| match done {
                    Done::Line(line) => Some(line),
                    Done::Began { .. }
                    | Done::Sends(_)
                    | Done::Publishes { .. }
                    | Done::Acknowledges(_)
                    | Done::Checkpoint(_)
                    | Done::Knows => None,
                })
            });
            let last: Vec<String> = last.collect();
            place.lines.extend(last);
            std::mem::take(&mut place.lines)
        });
        let mut tail = lines.unwrap_or_default();
        tail.drain(..tail.len().saturating_sub(TAIL));
        Failure {
            seed: self.seed,
            breach,
            session: session_id(place).map_or_else(|_| String::new(), |id| id.to_string()),
            tail,
        }
    }

    /// The time of faults.
    fn live(&mut self) -> Result<(), Breach> {
        let sessions = self.places.len() as u64;
        self.covered.count(Happening::Session, sessions);
        let steps = 60 * sessions + self.dice.between(0, 60 * sessions);
        for _ in 0..steps {
            self.step += 1;
            self.act()?;
        }
        Ok(())
    }

    fn act(&mut self) -> Result<(), Breach> {
        if self.dice.chance(self.rates.pace) && !self.requests.is_empty() {
            let request = self.dice.below(self.requests.len());
            return self.advance(request);
        }
        let turns = [
            (46, Turn::Effect),
            (10, Turn::Store),
            (14, Turn::User),
            (8, Turn::Clock),
            (8, Turn::Start),
            (4, Turn::Late),
            (2, Turn::Watch),
            (8, Turn::Fault),
        ];
        match self.dice.weigh(&turns).unwrap_or(Turn::Effect) {
            Turn::Effect => self.effect(),
            Turn::Store if self.requests.is_empty() => Ok(()),
            Turn::Store => {
                let request = self.dice.below(self.requests.len());
                self.advance(request)
            }
            Turn::User => self.user(),
            Turn::Clock => self.clock(),
            Turn::Start => self.start_somewhere(),
            Turn::Late => self.late(),
            Turn::Watch => self.watch(),
            Turn::Fault => self.fault(),
        }
    }

    /// Writes a line into the transcript of a session.
    pub(super) fn say(&mut self, place: usize, line: &str) {
        let step = self.step;
        if let Some(place) = self.places.get_mut(place) {
            place.lines.push(format!("{step:>5} {line}"));
        }
    }

    pub(super) fn now(&self, process: usize) -> Timestamp {
        Timestamp(self.clocks.get(process).copied().unwrap_or(EPOCH))
    }

    pub(super) fn moment(&mut self, process: usize) -> Moment {
        Moment { at: self.now(process), entropy: self.dice.word() }
    }

    pub(super) fn seat(&self, place: usize, seat: usize) -> Result<&Seat, Breach> {
        let drivers = self.places.get(place).map(|place| &place.drivers);
        let seat = drivers.and_then(|drivers| drivers.get(seat));
        seat.ok_or_else(|| Breach::Simulation(String::from("nobody drives here")))
    }

    pub(super) fn seat_mut(&mut self, place: usize, seat: usize) -> Result<&mut Seat, Breach> {
        let drivers = self.places.get_mut(place).map(|place| &mut place.drivers);
        let seat = drivers.and_then(|drivers| drivers.get_mut(seat));
        seat.ok_or_else(|| Breach::Simulation(String::from("nobody drives here")))
    }

    /// All drivers that live: their session, and their place there.
    pub(super) fn seats(&self) -> Vec<(usize, usize)> {
        let places = self.places.iter().enumerate();
        let all =
            places.flat_map(|(at, place)| (0..place.drivers.len()).map(move |seat| (at, seat)));
        all.collect()
    }

    /// Something comes in.
    pub(super) fn take(
        &mut self,
        place: usize,
        seat: usize,
        input: Input,
        said: Option<usize>,
    ) -> Result<(), Breach> {
        self.at = place;
        let process = self.seat(place, seat)?.driver.process;
        let moment = self.moment(process);
        let rejected = self.seat_mut(place, seat)?.driver.take(input, moment, said)?;
        if rejected.is_some() {
            self.covered.note(Happening::Rejected);
        }
        if let (Some(said), Some(place)) = (said, self.places.get_mut(place)) {
            place.user.hears(said, rejected.as_ref(), &mut self.covered);
        }
        self.look(place, seat)
    }

    /// Checks the laws of a moment, on what a driver has.
    pub(super) fn check(
        &mut self,
        place: usize,
        seat: usize,
        moment: LawMoment,
    ) -> Result<(), Breach> {
        let laws = self.laws.clone();
        let Some(here) = self.places.get_mut(place) else {
            return Ok(());
        };
        if let Some(seat) = here.drivers.get(seat) {
            seat.driver.evidence().check(&laws, moment, &mut here.applied)?;
        }
        Ok(())
    }

    /// Looks at what a driver has done, holds it to the laws, and lets it go if it wants to.
    pub(super) fn look(&mut self, place: usize, seat: usize) -> Result<(), Breach> {
        self.at = place;
        let driver = &mut self.seat_mut(place, seat)?.driver;
        let (life, process, epoch) = (driver.life, driver.process, driver.epoch);
        for done in std::mem::take(&mut driver.done) {
            let step = self.step;
            let Some(here) = self.places.get_mut(place) else {
                continue;
            };
            match done {
                Done::Line(line) => {
                    here.lines.push(format!("{step:>5} p{process} life {life} {line}"));
                }
                Done::Began { begun, call } => {
                    here.witness.acts(epoch, "starts an effect")?;
                    if let EffectKey::Call { .. } = begun.key {
                        here.witness.ran(begun.key, begun.class, call.as_ref())?;
                    }
                    self.covered.note(Happening::Effect);
                    if begun.class != EffectClass::ReadOnly {
                        self.covered.note(Happening::Changed);
                    }
                    here.begun.push(begun);
                    let work = Work::begin(begun.key, &mut self.dice, &mut self.covered);
                    if let Some(seat) = here.drivers.get_mut(seat) {
                        seat.works.insert(begun.key, work);
                    }
                }
                Done::Sends(sending) => {
                    here.witness.acts(epoch, "appends")?;
                    here.witness.sends(sending.after, &sending.texts);
                    self.covered.note(Happening::Append);
                    let twice = self.dice.chance(self.rates.append_twice);
                    let request = Request::new(place, process, life, epoch, sending, twice);
                    if twice {
                        self.covered.note(Happening::AppendTwice);
                        self.requests.push(request.clone());
                    }
                    self.requests.push(request);
                }
                Done::Publishes { first, texts } => {
                    here.witness.acts(epoch, "publishes")?;
                    here.witness.published(first, &texts)?;
                }
                Done::Acknowledges(ack) => {
                    here.witness.acts(epoch, "acknowledges")?;
                    if let Some(said) = here.user.said.get_mut(ack.input) {
                        here.witness.acknowledged(ack.first, &said.text)?;
                        said.fate = Fate::Acknowledged(ack.first);
                    }
                }
                Done::Checkpoint(folded) => {
                    here.witness.checkpointed(folded.last())?;
                    self.covered.note(Happening::Checkpoint);
                    here.checkpoint = Some(folded);
                }
                Done::Knows => here.witness.told(epoch),
            }
        }
        let Seat { driver, works } = self.seat_mut(place, seat)?;
        works.retain(|key, _| driver.running().contains_key(key));
        // Of what is being handed off the log alone is held to the laws, by whoever takes it up.
        if !driver.machine.is_handing_off() {
            self.check(place, seat, LawMoment::Step)?;
        }
        let driver = &mut self.seat_mut(place, seat)?.driver;
        if driver.over {
            let Some(ended) = driver.ended.take() else {
                return Ok(());
            };
            return self.end(place, seat, ended);
        }
        if !driver.machine.is_closing() || !driver.machine.is_at_rest() {
            return Ok(());
        }
        self.take(place, seat, Input::Close, None)
    }

    /// Time passes on all clocks.
    pub(super) fn pass(&mut self, ms: u64) {
        for clock in &mut self.clocks {
            *clock = clock.saturating_add(ms);
        }
    }
}
