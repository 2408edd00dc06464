//! Rewinds: a session returns to an earlier point of its conversation; the log stays whole, and so
//! does the outside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use expect_test::expect;
use windlass_core::PromptItem;
use windlass_testkit::world::{Script, Transitions, World, run};

use super::check;

#[test]
fn a_session_returns_to_before_an_input_and_goes_on() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text hi => item 6
        > end stop => completed at 8
        > send more => turn, sample@12
        > text and more => item 13
        > end stop => completed at 15
        > rewind 8
          16 SessionRewound to 8
        > send otherwise => turn, sample@20
        > text so => item 21
        > end stop => completed at 23
    "#]]);
}

#[test]
fn a_session_returns_into_a_turn_and_says_that_effects_remain() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > done 0 ok => call 6 observed at 10, sample 2@11
        > call write {} => permitted call 12@14
        > end stop => sample ended at 15
        > done 0 ok => call 12 observed at 16
          17 SampleStarted sample 3 attempt 1 because tool results => runs
        > text done => item 18
        > end stop => completed at 20
        > rewind 10
          21 SessionRewound to 10: The user went back to this point of the conversation. Effects of calls after this point remain: files and other things may have changed.
        > send otherwise => turn, sample@25
        > text so => item 26
        > end stop => completed at 28
    "#]]);
}

#[test]
fn a_session_returns_nowhere_while_a_turn_runs_or_where_something_was_under_way() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > rewind 1
             rejected: turn 3 is running: interrupt it or let it end first
        > text hi => item 6
        > end stop => completed at 8
        > rewind 5
             rejected: cannot rewind to 5: something is in progress there, or it is not part of the conversation. The nearest possible positions are 2 and 7
        > rewind 0
             rejected: cannot rewind to 0: something is in progress there, or it is not part of the conversation. The nearest possible position is 1
        > rewind 99
             rejected: cannot rewind to 99: something is in progress there, or it is not part of the conversation. The nearest possible position is 8
        > rewind 8
        > send more => turn, sample@12
        > text more => item 13
        > end stop => completed at 15
        > rewind 2
          16 SessionRewound to 2
        > rewind 10
             rejected: cannot rewind to 10: something is in progress there, or it is not part of the conversation. The nearest possible positions are 2 and 16
    "#]]);
}

#[test]
fn inputs_that_wait_are_held_and_others_open_no_turn() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text hi => item 6
        > send more => input 7
        > interrupt person => request 8, wind sample@5
        > fail cancelled never
           9 SampleCut cancelled, what it said stands, stopped by person, about 128 tokens, no further attempt
          10 TurnSettled interrupted by person, waiting: 7
        > rewind 1
          11 SessionRewound to 1
        > continue
          12 TurnOpened because opened by input 7 => sample@14
        > text so => item 15
        > end stop => completed at 17
    "#]]);
}

#[test]
fn a_session_does_not_return_behind_a_compaction() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text hi => item 6
        > end stop => completed at 8
        > compact
           9 CompactionRequested
          10 TurnOpened because compaction requested at 9
          11 CompactionStarted 1 attempt 1: manual, summary to 3 bytes => runs
        > compacted They spoke.
          12 Compacted cleared before 0, left out before 0, leaves 7 bytes in 2 items
          13 TurnSettled completed
        > rewind 8
             rejected: cannot rewind to 8: the earliest position that can be restored in place is 13, since the conversation was compacted or is too large; fork the session at 8 instead
        > send more => turn, sample@17
        > text more => item 18
        > end stop => completed at 20
        > rewind 13
          21 SessionRewound to 13
    "#]]);
}

#[test]
fn a_repeated_rewind_is_done_once() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text hi => item 6
        > end stop => completed at 8
        > keyed k rewind 1
           9 SessionRewound to 1, keyed k
        > send more => turn, sample@13
        > text more => item 14
        > end stop => completed at 16
        > keyed k rewind 1
             rejected: an input with this key was taken at 9 already
    "#]]);
}

fn world(script: &str) -> World {
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap()
}

#[test]
fn the_context_that_was_told_after_the_point_is_told_again() {
    let first = "open workspace=/work\nsend hello\ntext hi\nend stop";
    let texts = |script: &str| -> Vec<PromptItem> {
        world(script).history().items().iter().cloned().collect()
    };
    let rewound = texts(&format!("{first}\nrewind 1\nsend hello"));
    assert_eq!(rewound, texts("open workspace=/work\nsend hello"));
    let context = |item: &PromptItem| matches!(item, PromptItem::Context { .. });
    assert!(rewound.iter().any(context), "{rewound:?}");
}

#[test]
fn programs_find_the_memory_of_the_point() {
    let first = "open program=5\nsend hello\ncall run_program {\"source\":\"x\"}\nend stop\n\
                 program 0 return retains=a:1,b:1 1\nsend more\n\
                 call run_program {\"source\":\"y\"}\nend stop\nprogram 0 return retains=a:2,-b,c:1 2";
    let memory = |world: &World| -> String {
        let definitions = world.history().memory().clone();
        let definitions = definitions.definitions().map(|(name, value)| format!("{name}:{value}"));
        definitions.collect::<Vec<_>>().join(",")
    };
    let before = world(first);
    assert_eq!(memory(&before), "a:2,c:1");
    let opened = before.log().iter().rfind(|fact| fact.fact.kind() == "TurnOpened").unwrap();
    let rewound = world(&format!("{first}\nrewind {}", opened.seq.0 - 1));
    assert_eq!(memory(&rewound), "a:1,b:1");
    assert!(world(&format!("{first}\nrewind 1")).history().memory().is_empty());
    // An earlier version recorded the memory whole: changes apply over it, and a rewind restores it.
    let whole = first.replace("retains=a:1,b:1", "keeps=one");
    assert_eq!(world(&whole).history().memory().base.as_deref(), Some("one"));
    let rewound = world(&format!("{whole}\nrewind {}", opened.seq.0 - 1));
    assert_eq!((memory(&rewound).as_str(), rewound.history().memory().entries.len()), ("", 0));
    assert_eq!(rewound.history().memory().base.as_deref(), Some("one"));
}

/// A request that comes again under its key is refused, also if the first one changed nothing.
#[test]
fn a_rewind_to_where_the_session_is_leaves_its_key() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text hi => item 6
        > end stop => completed at 8
        > keyed k rewind 8
           9 SessionRewound to 8, keyed k
        > send more => turn, sample@13
        > text and more => item 14
        > end stop => completed at 16
        > keyed k rewind 8
             rejected: an input with this key was taken at 9 already
    "#]]);
}

/// An answer that hooks may still reject, and one that was cut off, are no place to go back to.
#[test]
fn a_session_returns_to_no_answer_that_hooks_have_not_heard() {
    check(expect![[r#"
        > open hooks=after_answer
        > send hello => first turn, sample@5
        > text hi => item 6
        > end stop => sample ended at 7, hook 0@8 sees the answer of 5
        > hook 0 pass => passed at 9
          10 TurnSettled completed
        > rewind 7
             rejected: cannot rewind to 7: something is in progress there, or it is not part of the conversation. The nearest possible positions are 2 and 9
        > rewind 8
             rejected: cannot rewind to 8: something is in progress there, or it is not part of the conversation. The nearest possible positions are 2 and 9
        > rewind 9
    "#]]);
}

#[test]
fn the_model_learns_of_restored_files_and_a_rewind_says_that_they_remain() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text hi => item 6
        > restored 3 a.txt
             rejected: turn 3 is running: interrupt it or let it end first
        > end stop => completed at 8
        > restored 3 a.txt
           9 FilesRestored of turn 3
        > send more => turn, sample@13
        > text and more => item 14
        > end stop => completed at 16
        > rewind 8
          17 SessionRewound to 8: The user went back to this point of the conversation. Effects of calls after this point remain: files and other things may have changed.
    "#]]);
}

#[test]
fn a_name_stays_when_the_session_is_rewound() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > rename first words
           6 SessionRenamed first words
        > text hi => item 7
        > end stop => completed at 9
        > rename first words
        > keyed k rename  second words
          10 SessionRenamed second words, keyed k
        > rename a	b
             rejected: a title is one line of 1 to 200 characters
        > rewind 2
          11 SessionRewound to 2
        > rename second words
        > rename
          12 SessionRenamed
    "#]]);
}
