//! Reads and writes of a store in files that move fewer bytes than asked. A short count is no error: the
//! program goes on, and its user sees nothing of it.

use tempfile::TempDir;
use windlass_testkit::faults::{FaultTally, ShortCalls, ShortLibrary, ShortPart, ShortPlan};

use crate::life::{Fault, ran, served};
use crate::stores::Kept;
use crate::sweep::{Class, Life, is_full};

/// Most calls at which a short count is taken for a whole one, until one is found in a sample.
const MOST_TAKEN: u64 = 40;

/// Shortens each call at once, in a full sweep also call after call.
pub(crate) fn swept(kept: &Kept) {
    let Some((library, _folder)) = library(kept) else { return };
    let mut wrong = Vec::new();
    let modes: [(&str, Life); 2] = [("run", ran), ("serve", served)];
    for (mode, life) in modes {
        let class = |calls, part, name: &str| {
            let name = format!("{} {mode} {name}", kept.name());
            (name, ShortPlan { calls, part, number: None, taken_for_whole: false })
        };
        if is_full() || mode == "run" {
            let (name, plan) =
                class(ShortCalls::Both, ShortPart::Half, "each read and write short");
            let once = |it: &Class<'_>| {
                let tally = it.once();
                assert!(tally.injected > 0, "nothing was shortened: {tally}");
                tally
            };
            wrong.extend(swept_class(kept, &library, life, name, plan, once));
        }
        let single = [(ShortCalls::Reads, "short read"), (ShortCalls::Writes, "short write")];
        for (calls, words) in single.into_iter().filter(|_| is_full()) {
            for part in ShortPart::ALL {
                let (name, plan) = class(calls, part, &format!("{words} {part:?}"));
                wrong.extend(swept_class(kept, &library, life, name, plan, |it| it.sweep()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if is_full() || matches!(kept, Kept::File) {
        caught(kept, &library);
    }
}

/// Sweeps a class by `sweep`. A numbered call takes the place of each call there.
fn swept_class(
    kept: &Kept,
    library: &ShortLibrary,
    life: Life,
    name: String,
    plan: ShortPlan,
    sweep: fn(&Class<'_>) -> FaultTally,
) -> Vec<String> {
    let class = Class {
        kept,
        name,
        life,
        transient: true,
        sample: [1],
        fault: &|number| {
            let number = (number > 0).then_some(number);
            Fault::Short(library.clone(), ShortPlan { number, ..plan })
        },
    };
    let tally = sweep(&class);
    tally.wrong
}

/// Proves that the sweep finds a store that takes a short count for a whole one.
fn caught(kept: &Kept, library: &ShortLibrary) {
    for (calls, words) in [(ShortCalls::Writes, "writes"), (ShortCalls::Reads, "reads")] {
        let name = format!("defect: {} run takes short {words} for whole", kept.name());
        let mut tally = FaultTally::new(&name);
        // A full sweep goes on where a sample has found it, to say how much it finds.
        for number in 1..=MOST_TAKEN {
            let plan = ShortPlan {
                calls,
                part: ShortPart::Half,
                number: Some(number),
                taken_for_whole: true,
            };
            let fault = Fault::Short(library.clone(), plan);
            let Some(end) = ran(kept, &fault) else { continue };
            let struck = end.injected;
            tally.add(&fault.name(), true, end);
            if !struck || (!is_full() && !tally.wrong.is_empty()) {
                break;
            }
        }
        let first = tally.wrong.first().map_or("nothing", String::as_str);
        println!("{tally}; found {}, first: {first}", tally.wrong.len());
        // A run on a new store of files may read nothing, and then shows nothing of reads.
        let may_read_nothing = calls == ShortCalls::Reads && tally.injected == 0;
        let found = !tally.wrong.is_empty() || may_read_nothing;
        assert!(found, "the sweep does not find it: {tally}");
        // The sample has writes alone.
        if !is_full() {
            break;
        }
    }
}

/// The library, in a folder that it needs. Without it the store is named as skipped.
fn library(kept: &Kept) -> Option<(ShortLibrary, TempDir)> {
    let folder = TempDir::new().unwrap();
    match ShortLibrary::build(folder.path()) {
        Ok(library) => Some((library, folder)),
        Err(error) => {
            eprintln!("{} short counts: SKIPPED, {error}", kept.name());
            None
        }
    }
}
