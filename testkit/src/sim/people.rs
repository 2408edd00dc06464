//! People: what the user of a session does. They send again, under their key, what was not
//! acknowledged, and they remember what was.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::{
    ApprovalAnswer, ArgumentsDigest, CallProgress, CallState, ContextPart, Delivery, Fact, Goal,
    Input, InputId, InterruptSource, RecordedFact, Reject, Scope, Seq, StopTiming, Widening,
};

use super::Plan;
use super::breach::{Breach, Promise, keep};
use super::dice::Dice;
use super::driver::Driver;
use super::happening::{Covered, Happening};
use crate::world::random;

/// The user of one session.
#[derive(Debug, Default)]
pub(super) struct User {
    /// Which session it is, so that no two users say the same.
    pub(super) place: usize,
    pub(super) said: Vec<Said>,
}

/// Something that a user said.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) text: String,
    key: Option<String>,
    delivery: Delivery,
    pub(super) fate: Fate,
}

/// What a user knows of what they said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The driver of this life has it.
    Waits(u32),
    /// It was acknowledged at this position.
    Acknowledged(Seq),
    /// It was refused.
    Refused,
    /// The driver ended first.
    Unsure,
}

/// What a user does.
pub(super) enum Act {
    /// An input.
    Takes(Input),
    /// Something said; the number is its place in [`User::said`].
    Says(Input, usize),
    /// They ask for the session to be let go.
    Closes,
    /// Nothing that means anything here.
    Nothing,
}

#[derive(Clone, Copy)]
enum Kind {
    Say,
    SayAgain,
    Answer,
    Interrupt,
    Configure,
    Goal,
    Continue,
    Close,
}

impl User {
    /// What a user does next.
    pub(super) fn act(
        &mut self,
        plan: &Plan,
        driver: &Driver,
        dice: &mut Dice,
        covered: &mut Covered,
    ) -> Result<Act, Breach> {
        let kinds = [
            (40, Kind::Say),
            (20, Kind::SayAgain),
            (14, Kind::Answer),
            (7, Kind::Interrupt),
            (5, Kind::Configure),
            (5, Kind::Goal),
            (6, Kind::Continue),
            (3, Kind::Close),
        ];
        Ok(match dice.weigh(&kinds).unwrap_or(Kind::Say) {
            Kind::Say => {
                let (input, place) = self.say(driver.life, dice, covered);
                Act::Says(input, place)
            }
            Kind::SayAgain => self.say_again(driver.life, covered),
            Kind::Answer => answer(driver, dice, covered),
            Kind::Interrupt => {
                covered.note(Happening::Interrupted);
                Act::Takes(interrupt(dice))
            }
            Kind::Configure => {
                covered.note(Happening::Configured);
                let settings = plan.settle(dice.draw(&random::posture())?).settings();
                let widening = match dice.chance(500) {
                    true => Widening::Allowed,
                    false => Widening::Forbidden,
                };
                Act::Takes(Input::Configure { scope: somebody(), settings, widening })
            }
            Kind::Goal => {
                covered.note(Happening::GoalSet);
                let turns = u32::try_from(dice.below(4)).unwrap_or(0);
                let text: Arc<str> = "all is well".into();
                let goal = dice.chance(750).then_some(Goal { text, turns });
                Act::Takes(Input::SetGoal { scope: somebody(), goal })
            }
            Kind::Continue => {
                covered.note(Happening::Continued);
                Act::Takes(Input::Continue)
            }
            Kind::Close => Act::Closes,
        })
    }

    fn say(&mut self, life: u32, dice: &mut Dice, covered: &mut Covered) -> (Input, usize) {
        let place = self.said.len();
        let mut text = format!("words {place} of user {}", self.place);
        if dice.chance(80) {
            text.push_str(&"z".repeat(dice.below(900)));
        }
        let deliveries = [(5, Delivery::Turn), (3, Delivery::Steer), (2, Delivery::FollowUp)];
        let delivery = dice.weigh(&deliveries).unwrap_or(Delivery::Turn);
        covered.note(match delivery {
            Delivery::Turn => Happening::Sent,
            Delivery::Steer => Happening::Steered,
            Delivery::FollowUp => Happening::FollowedUp,
        });
        let key = dice.chance(600).then(|| format!("key-{place}"));
        let said = Said { text, key, delivery, fate: Fate::Waits(life) };
        let mut input = said.input();
        if let Input::Send { context, dry_run, .. } = &mut input {
            *dry_run = dice.chance(80);
            if dice.chance(150) {
                context.push(ContextPart { from: String::from("editor"), text: "line 7".into() });
            }
        }
        self.said.push(said);
        (input, place)
    }

    /// Sends again what was not acknowledged, and now and then what was.
    pub(super) fn say_again(&mut self, life: u32, covered: &mut Covered) -> Act {
        let places = self.said.iter_mut().enumerate();
        let mut again = places.filter(|(_, said)| said.key.is_some() && said.fate == Fate::Unsure);
        let Some((place, said)) = again.next() else {
            return Act::Nothing;
        };
        covered.note(Happening::SentAgain);
        said.fate = Fate::Waits(life);
        Act::Says(said.input(), place)
    }

    /// Returns true if something is to be sent again.
    pub(super) fn is_unsure(&self) -> bool {
        let mut said = self.said.iter();
        said.any(|said| said.key.is_some() && said.fate == Fate::Unsure)
    }

    /// What became of something said: it was taken, or refused.
    pub(super) fn hears(&mut self, place: usize, rejected: Option<&Reject>, covered: &mut Covered) {
        let Some(said) = self.said.get_mut(place) else {
            return;
        };
        match rejected {
            None => {}
            Some(Reject::Duplicate(_)) => covered.note(Happening::SentTwice),
            Some(_) => said.fate = Fate::Refused,
        }
    }

    /// A driver has ended.
    pub(super) fn loses(&mut self, life: u32) {
        for said in &mut self.said {
            if said.fate == Fate::Waits(life) {
                said.fate = Fate::Unsure;
            }
        }
    }

    /// Holds what was said against the log at the very end, when nothing waits any more.
    pub(super) fn judges(&self, log: &[RecordedFact]) -> Result<u64, Breach> {
        let mut queued = BTreeMap::<&str, Vec<InputId>>::new();
        let mut heard = BTreeMap::<InputId, u32>::new();
        for recorded in log {
            if let Fact::InputQueued(fact) = &recorded.fact {
                let ids = queued.entry(&fact.text).or_default();
                ids.push(InputId(recorded.seq.0));
            }
            if let Fact::InputAccepted(fact) = &recorded.fact {
                *heard.entry(fact.input).or_default() += 1;
            }
            if let Fact::InputBlocked(fact) = &recorded.fact {
                *heard.entry(fact.input).or_default() += 1;
            }
        }
        let mut acknowledged = 0;
        for said in &self.said {
            let ids = queued.get(said.text.as_str()).map_or(&[][..], Vec::as_slice);
            keep(Promise::Heard, ids.len() <= 1, || {
                format!("{:?} was said once, and the log has it at {ids:?}", said.text)
            })?;
            let Fate::Acknowledged(at) = said.fate else {
                continue;
            };
            acknowledged += 1;
            let times = ids.first().and_then(|id| heard.get(id)).copied();
            keep(Promise::Heard, times == Some(1), || {
                format!(
                    "{:?} was acknowledged at {at}, and is heard {} times",
                    said.text,
                    times.unwrap_or(0)
                )
            })?;
        }
        Ok(acknowledged)
    }
}

impl Said {
    fn input(&self) -> Input {
        Input::Send {
            scope: somebody(),
            text: self.text.clone(),
            delivery: self.delivery,
            context: Vec::new(),
            images: Vec::new(),
            key: self.key.clone(),
            dry_run: false,
            turn: None,
        }
    }
}

pub(super) fn somebody() -> Scope {
    Scope::local("somebody")
}

fn interrupt(dice: &mut Dice) -> Input {
    let by = match dice.chance(700) {
        true => InterruptSource::Person,
        false => InterruptSource::Shutdown,
    };
    let when = match dice.chance(700) {
        true => StopTiming::Now,
        false => StopTiming::AfterStep,
    };
    Input::Interrupt { by, scope: somebody(), reason: String::from("enough"), when, turn: None }
}

/// Somebody answers an open question, or speaks of a call that nobody asks about.
fn answer(driver: &Driver, dice: &mut Dice, covered: &mut Covered) -> Act {
    let calls = driver.session().turn().map_or(&[][..], |turn| turn.calls());
    let asking = |call: &&CallState| matches!(call.progress, CallProgress::AwaitingApproval { question } if question.is_some());
    let mut about: Vec<&CallState> = calls.iter().filter(asking).collect();
    if about.is_empty() {
        about = calls.iter().collect();
    }
    let Some(call) = dice.pick(&about).copied() else {
        return Act::Nothing;
    };
    covered.note(Happening::Answered);
    let arguments = match dice.chance(150) {
        true => ArgumentsDigest::without_sha256("other"),
        false => call.arguments_digest(),
    };
    let answer = match dice.chance(700) {
        true => ApprovalAnswer::Allow { edit: None },
        false => ApprovalAnswer::Deny { reason: String::from("not now") },
    };
    Act::Takes(Input::Answer { call: call.id, scope: somebody(), arguments, answer })
}
