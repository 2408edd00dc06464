//! Whole turns that were recorded of another implementation of program mode, made again here: its
//! scripted answers, through the engine, the PTC-Lisp runtime and scripted tools.
//!
//! The recordings are not part of this project: `WINDLASS_PTC_LISP` names their folder, or they are at
//! `shared/ptc_lisp` beside the checkout. Without them each test that reads them says that it was
//! skipped. They tell what the other implementation did, its defects among it; whatever comes to
//! something else here is in `known`, with what it comes to and whose the difference is, and in the
//! table of the runtime's README, with the reason.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    reason = "a test fails by panicking, says what it skips, and takes some kinds of JSON apart"
)]

mod case;
mod compare;
mod known;
mod promised;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use windlass_engine::core::EffectClass;

use known::{DESIGN, THEIRS};

/// Differences by release and turn, then by field: what it comes to here.
type Differing = BTreeMap<(String, String), BTreeMap<String, String>>;

/// Where the differences are explained.
const README: &str = include_str!("../../../../adapters/ptclisp/README.md");
/// The heading of the part that does.
const SECTION: &str = "## What differs from the turns that were recorded";

#[tokio::test]
async fn what_was_recorded_comes_to_the_same_or_to_what_is_known() {
    let Some(cases) = case::all() else { return };
    let (mut found, mut told) = (Differing::new(), String::new());
    for case in &cases {
        let run = run::run(case, &case.responses(), EffectClass::Effectful).await;
        for differs in compare::differences(case, &run) {
            told.push_str(&format!("{} {}: {differs}\n", case.release, case.id));
            let at = (case.release.to_owned(), case.id.clone());
            let fields = found.entry(at).or_default();
            fields.insert(differs.field, differs.here);
        }
    }
    // Of other recordings it is not known which turns differ. Those are told, and each is to differ in what
    // others are known to differ in.
    let all_are_known = case::written_with(&cases);
    let there = |(release, id): &(String, String)| {
        let mut cases = cases.iter();
        cases.any(|case| case.release == release && case.id == *id)
    };
    let mut known = known();
    let kinds = |fields: &BTreeMap<String, String>| -> BTreeSet<String> {
        let names = fields.keys().filter_map(|field| field.split(' ').next());
        names.map(str::to_owned).collect()
    };
    let explained: BTreeSet<String> = known.values().flat_map(kinds).collect();
    known.retain(|at, _| there(at));
    let ids: BTreeSet<_> = found.keys().chain(known.keys()).collect();
    let otherwise = |id: &&(String, String)| found.get(*id) != known.get(*id);
    let judged = |id: &&(String, String)| all_are_known || known.contains_key(*id);
    let unlike = |id: &&(String, String)| !kinds(&found[*id]).is_subset(&explained);
    let wrong = ids.into_iter().filter(otherwise);
    let wrong: Vec<_> = wrong.filter(|id| judged(id) || unlike(id)).collect();
    let unjudged = found.keys().filter(|id| !judged(id)).count();
    let theirs = THEIRS.iter().flat_map(|known| known.turns);
    let theirs: BTreeSet<_> = theirs.map(|(_, id, _)| *id).collect();
    let defects = found.keys().filter(|(_, id)| theirs.contains(&**id));
    println!(
        "{} recorded turns: {} as recorded, {} differ where the recording has a defect, {} by design \
         alone, {unjudged} that nobody has judged, {} not as known",
        cases.len(),
        cases.len() - found.len(),
        defects.clone().count(),
        found.len() - defects.count() - unjudged,
        wrong.len()
    );
    if unjudged > 0 {
        println!("all that differs:\n{told}");
    }
    assert!(wrong.is_empty(), "not as known: {wrong:#?}\nall that differs:\n{told}");
}

fn known() -> Differing {
    let mut all = Differing::new();
    let turns = known::known().flat_map(|known| known.turns);
    for (releases, id, here) in turns {
        for release in *releases {
            let at = ((*release).to_owned(), (*id).to_owned());
            let fields = all.entry(at).or_default();
            for (field, here) in *here {
                let twice = fields.insert((*field).to_owned(), (*here).to_owned());
                assert_eq!(twice, None, "{id} {field} stands there twice");
            }
        }
    }
    all
}

#[test]
fn the_readme_explains_each_difference() {
    let (_, section) = README.split_once(SECTION).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let mut explained = BTreeMap::new();
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [what, recorded, here, whose, turns] = cells[..] else {
            panic!("{row} has {} cells", cells.len())
        };
        assert!(!recorded.is_empty() && !here.is_empty(), "{row}");
        let turns: BTreeSet<&str> = turns.split(", ").map(|id| id.trim_matches('`')).collect();
        let whose = whose.split(':').next().unwrap();
        assert_eq!(explained.insert(what, (whose, turns)), None, "{what}");
    }
    let mut known = BTreeMap::new();
    for (whose, all) in [("theirs", THEIRS), ("design", DESIGN)] {
        for one in all {
            let turns = one.turns.iter().map(|(_, id, _)| *id);
            known.insert(one.what, (whose, turns.collect()));
        }
    }
    assert_eq!(explained, known);
}
