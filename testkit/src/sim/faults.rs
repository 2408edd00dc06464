//! Faults: which of them a run has, and how often. Each run has a few, so that one does not hide
//! what another would show.

use super::dice::Dice;
use super::store::Fault;

/// How often faults come, in a thousand times that they could.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rates {
    pub(super) write: u32,
    pub(super) full: u32,
    pub(super) sync: u32,
    pub(super) read: u32,
    pub(super) claim: u32,
    pub(super) release: u32,
    pub(super) ack_lost: u32,
    pub(super) ack_twice: u32,
    pub(super) append_twice: u32,
    pub(super) takeover: u32,
    pub(super) kill: u32,
    pub(super) hand_off: u32,
    pub(super) power: u32,
    pub(super) power_in_recovery: u32,
    pub(super) clock: u32,
    pub(super) late: u32,
    pub(super) twice: u32,
    /// How long the store takes: the share of steps in which it does something.
    pub(super) pace: u32,
    /// The store call of this number fails like this.
    pub(super) nth: Option<(u64, Fault)>,
}

impl Rates {
    /// Those of a run.
    pub(super) fn of(dice: &mut Dice) -> Self {
        let mut rate = |most: u32| match dice.below(5) {
            0..2 => 0,
            2 => most / 10,
            3 => most / 3,
            _ => most,
        };
        let mut rates = Self {
            write: rate(60),
            full: rate(60),
            sync: rate(60),
            read: rate(150),
            claim: rate(150),
            release: rate(200),
            ack_lost: rate(80),
            ack_twice: rate(200),
            append_twice: rate(200),
            takeover: rate(30),
            kill: rate(30),
            hand_off: rate(60),
            power: rate(30),
            power_in_recovery: rate(150),
            clock: rate(30),
            late: rate(80),
            twice: rate(120),
            pace: 0,
            nth: None,
        };
        rates.pace = [80, 250, 500].get(dice.below(3)).copied().unwrap_or(250);
        if dice.chance(300) {
            let faults = [Fault::Write, Fault::Full, Fault::Sync, Fault::Read];
            let fault = dice.pick(&faults).copied();
            rates.nth = fault.map(|fault| (dice.between(1, 60), fault));
        }
        rates
    }
}
