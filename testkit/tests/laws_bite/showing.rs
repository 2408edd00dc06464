//! What kills a request without a result that nobody has seen: law 18.

use std::sync::Arc;

use windlass_core::{
    CompactionPlan, CutPoint, Fact, History, InvalidFact, RecordedFact, ResultForm,
};
use windlass_testkit::laws::law_01_live_equals_fold::fold;
use windlass_testkit::laws::law_18_results_are_shown;

use super::{find, log};

/// Results that do not fit into the window together.
const RESULTS: &str = "open window=1500\nsend look at it\ncall read {}\ncall read {}\ncall read {}\n\
    call read {}\ncall read {}\nend stop\ndone 0 a*900\ndone 0 b*900\ndone 0 c*900\ndone 0 d*900\n\
    done 0 e*900\ncompacted\ntext seen\nend stop";

fn form(max_bytes: u64) -> Option<ResultForm> {
    Some(ResultForm { max_bytes, at_once: 0, readable: false })
}

/// Replaces the compaction of a log, and checks what follows.
fn compacted(script: &str, cut: CutPoint) -> String {
    let mut log = log(script);
    law_18_results_are_shown::check(History::apply, &log).unwrap();
    let at = find(&log, "Compacted", 0);
    let (_, history) = fold(&log[..at]).unwrap();
    let turn = log[at].turn.unwrap();
    let plan = CompactionPlan { cut_point: cut, summary_prompt: None, summary_bytes: 0 };
    let other = plan.finish(&history, turn, None);
    let Fact::Compacted(fact) = &mut log[at].fact else {
        panic!("it is the compaction");
    };
    (fact.cut, fact.visible) = (other.cut, other.visible);
    let broken = law_18_results_are_shown::check(History::apply, &log).unwrap_err();
    broken.what
}

#[test]
fn law_18_kills_a_compaction_that_clears_what_nobody_has_seen() {
    for results in [None, form(0)] {
        let cut = CutPoint { clear_before: u64::MAX, results, ..CutPoint::default() };
        let what = compacted(RESULTS, cut);
        assert!(what.contains("were cleared"), "{what}");
    }
}

fn without_tail(history: &mut History, recorded: &RecordedFact) -> Result<(), InvalidFact> {
    other_output(history, recorded, |output| output.truncate(output.len() - 1))
}

fn without_length(history: &mut History, recorded: &RecordedFact) -> Result<(), InvalidFact> {
    other_output(history, recorded, |output| output.replace_range(900..1_100, "[cut]"))
}

fn other_output(
    history: &mut History,
    recorded: &RecordedFact,
    change: fn(&mut String),
) -> Result<(), InvalidFact> {
    let mut recorded = recorded.clone();
    if let Fact::CallObserved(fact) = &mut recorded.fact {
        change(&mut Arc::make_mut(&mut fact.observation).output);
    }
    history.apply(&recorded)
}

#[test]
fn law_18_kills_an_output_without_its_tail_or_without_its_length() {
    let log = log("send look at it\ncall read {}\nend stop\ndone 0 a*2000\ntext seen\nend stop");
    law_18_results_are_shown::check(History::apply, &log).unwrap();
    for remember in [without_tail, without_length] {
        law_18_results_are_shown::check(remember, &log).unwrap_err();
    }
}
