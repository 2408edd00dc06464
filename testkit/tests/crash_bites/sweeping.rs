//! The sweep leaves no sync out, ends, and refuses what cannot be resumed.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

use windlass_core::RecordedFact;
use windlass_ports::Durability;
use windlass_testkit::crash::{
    Extent, Fault, Invariant, Life, NotDurable, Plan, Report, Subject, sweep,
};

use super::{TURN, effects, log, requests};

const SYNCS: u64 = 5;

static LOG: OnceLock<Vec<RecordedFact>> = OnceLock::new();

/// A program that only pretends to run: its syncs are numbers.
struct Pretender {
    durability: Durability,
    /// How far plans strike.
    strikes: u64,
    /// The plans after which an effect has come twice.
    twice: Vec<Plan>,
    /// The plans after which it does not come to an end.
    stuck: Vec<Plan>,
    /// Whether nobody but the log says anything.
    mute: bool,
    lived: Mutex<Vec<Vec<Plan>>>,
}

impl Pretender {
    fn sound() -> Self {
        Self {
            durability: Durability::Process,
            strikes: SYNCS,
            twice: Vec::new(),
            stuck: Vec::new(),
            mute: false,
            lived: Mutex::default(),
        }
    }

    fn swept(&self, doubles: u64) -> Report {
        let extent = Extent { faults: Fault::ALL.to_vec(), doubles, workers: 3 };
        sweep(self, &extent).unwrap()
    }

    fn lived(&self) -> BTreeSet<Vec<Plan>> {
        self.lived.lock().unwrap().iter().cloned().collect()
    }
}

impl Subject for Pretender {
    fn durability(&self) -> Durability {
        self.durability
    }

    fn live(&self, plans: &[Plan]) -> Result<Life, String> {
        self.lived.lock().unwrap().push(plans.to_vec());
        if plans == self.stuck && !plans.is_empty() {
            return Err("it does not come to an end".to_owned());
        }
        if self.mute {
            let log = LOG.get_or_init(|| log(TURN)).clone();
            return Ok(Life { log, ..Life::default() });
        }
        let log = LOG.get_or_init(|| log(TURN)).clone();
        let mut effects = effects(&log);
        if plans == self.twice && !plans.is_empty() {
            effects.extend(effects.clone());
        }
        Ok(Life {
            struck: plans.iter().take_while(|plan| plan.sync <= self.strikes).count(),
            syncs: SYNCS,
            acknowledged: log.clone(),
            log,
            effects,
            requests: requests(&["looked", "kept", "paid"]),
            wrong: Vec::new(),
        })
    }
}

#[test]
fn every_fault_strikes_every_sync_and_every_recovery() {
    let subject = Pretender::sound();
    let report = subject.swept(1);
    assert_eq!(report.wrong, [], "{report}");
    assert_eq!(report.syncs, SYNCS);
    let lived = subject.lived();
    for fault in Fault::ALL {
        assert_eq!(report.struck[&fault], SYNCS, "{fault:?}");
        for sync in 1..=SYNCS {
            assert!(lived.contains(&vec![Plan { fault, sync }]));
            for second in 1..=SYNCS {
                let plans = [sync, second].map(|sync| Plan { fault, sync }).to_vec();
                assert_eq!(lived.contains(&plans), fault.kills(), "{plans:?}");
            }
        }
    }
    assert_eq!(report.doubles, 2 * SYNCS * SYNCS);
}

#[test]
fn a_sample_of_the_recoveries_is_spread_over_all_syncs() {
    let subject = Pretender::sound();
    let report = subject.swept(5);
    assert_eq!(report.doubles, 2 * SYNCS * SYNCS / 5);
    let lived = subject.lived();
    let firsts = lived.iter().filter(|plans| plans.len() == 2);
    let firsts: BTreeSet<u64> = firsts.map(|plans| plans[0].sync).collect();
    assert!(firsts.into_iter().filter(|sync| *sync <= SYNCS).eq(1..=SYNCS));
}

#[test]
fn what_dies_with_its_process_is_refused_before_anything_runs() {
    let subject = Pretender { durability: Durability::Memory, ..Pretender::sound() };
    let extent = Extent { faults: Fault::ALL.to_vec(), doubles: 1, workers: 1 };
    assert_eq!(sweep(&subject, &extent).unwrap_err(), NotDurable);
    assert_eq!(subject.lived(), BTreeSet::new());
}

#[test]
fn one_bad_life_is_told_with_its_plans() {
    let plans = vec!["kill-after:2".parse().unwrap(), "kill-after:4".parse().unwrap()];
    let subject = Pretender { twice: plans.clone(), ..Pretender::sound() };
    let report = subject.swept(1);
    assert!(report.wrong.iter().all(|wrong| wrong.plans == plans), "{report}");
    let name = Invariant::AtMostOnce.to_string();
    assert!(report.wrong.iter().any(|wrong| wrong.what.starts_with(&name)));
    assert!(report.to_string().contains("kill-after:2 then kill-after:4: "), "{report}");
}

#[test]
fn a_life_that_does_not_end_is_told() {
    let subject = Pretender { stuck: vec!["io:3".parse().unwrap()], ..Pretender::sound() };
    let report = subject.swept(0);
    assert_eq!(report.wrong.len(), 1, "{report}");
    assert_eq!(report.struck[&Fault::Io], SYNCS - 1);
}

#[test]
fn faults_that_never_stop_striking_are_not_followed_for_ever() {
    let subject = Pretender { strikes: u64::MAX, ..Pretender::sound() };
    let report = subject.swept(0);
    assert!(report.struck.values().all(|times| *times < 100), "{report}");
}

#[test]
fn witnesses_that_say_nothing_are_told() {
    let subject = Pretender { mute: true, ..Pretender::sound() };
    let told = subject.swept(0).to_string();
    for what in
        ["no sync was counted", "no fact was told", "no tool has noted", "no model was asked"]
    {
        assert!(told.contains(what), "{told}");
    }
}
