//! Each rule by example, and what holds for any answer.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::clean::clean;
use super::{ANSWER_BYTES, ExtractError, MissingProgram, ProgramMarker, extract, without_prose};

/// The program and where it was found.
fn found(answer: &str) -> (String, ProgramMarker) {
    let found = extract(answer).unwrap_or_else(|error| panic!("{answer:?}: {error}"));
    (found.program, found.marker)
}

fn missing(answer: &str) -> MissingProgram {
    match extract(answer) {
        Err(ExtractError::Missing(missing)) => missing,
        other => panic!("{answer:?}: {other:?}"),
    }
}

fn several(answer: &str) -> usize {
    match extract(answer) {
        Err(ExtractError::Several { count }) => count,
        other => panic!("{answer:?}: {other:?}"),
    }
}

#[test]
fn the_tagged_block_is_the_program_whatever_it_holds() {
    let answer = "See:\n```\n(other)\n```\nand\n  ```lisp\t\n  :done\n\n  ``` \nSo.";
    assert_eq!(found(answer), (":done".into(), ProgramMarker::Tagged));
    assert_eq!(found("```clojure\n```"), (String::new(), ProgramMarker::Tagged));
}

#[test]
fn the_span_is_where_the_program_stands() {
    let answer = "Tea.\r\n```clojure\r\n\r\n(sip\r\n \u{201c}tea\u{201d})\r\n```\r\n";
    let found = extract(answer).unwrap();
    assert_eq!(found.program, "(sip\n \"tea\")");
    assert_eq!(&answer[found.span], "(sip\r\n \u{201c}tea\u{201d})");
    assert_eq!(found.changes.quotes, 2);
}

#[test]
fn without_a_tagged_block_one_that_begins_with_a_parenthesis_is_the_program() {
    let answer = "```json\n{}\n```\n```clj\n(pour)\n```";
    assert_eq!(found(answer), ("(pour)".into(), ProgramMarker::Fenced));
    assert_eq!(several("```a\n(a)\n```\n```b\n(b)\n```\n```\n[c]\n```"), 2);
}

#[test]
fn several_tagged_blocks_are_refused_and_untagged_ones_do_not_count() {
    let answer = "```lisp\n(a)\n```\n```\n(b)\n```\n```clojure\n(c)\n```";
    assert_eq!(several(answer), 2);
}

#[test]
fn a_closing_element_closes_a_block() {
    let answer = "```clojure\n(pour)\n</lisp>\nand ```";
    assert_eq!(found(answer), ("(pour)".into(), ProgramMarker::Tagged));
}

#[test]
fn a_fence_within_a_line_is_none() {
    let answer = "```clojure\n(say \"```\")\n```";
    assert_eq!(found(answer).0, "(say \"```\")");
    assert_eq!(missing("Use ```clojure (a) ``` here."), MissingProgram::Prose);
    assert_eq!(missing("```clojure (a)\n(b)\n```"), MissingProgram::Unclosed);
}

#[test]
fn elements_count_where_no_block_does() {
    let answer = "<lisp> (pour) </clojure> or <clojure>tea</clojure>";
    assert_eq!(found(answer), ("(pour)".into(), ProgramMarker::Element));
    assert_eq!(several("<lisp>(a)</lisp><clojure>\n(b)</lisp>"), 2);
    assert_eq!(missing("<lisp>tea</lisp>"), MissingProgram::OtherBlocks);
    let open = "<lisp>(pour)";
    assert_eq!(missing(open), MissingProgram::Prose);
}

#[test]
fn the_whole_answer_is_a_program_if_it_begins_like_one() {
    let unbalanced = "(pour (tea)\nThat is it.";
    assert_eq!(found(unbalanced), (unbalanced.into(), ProgramMarker::WholeAnswer));
    assert_eq!(found("\u{feff}(pour)").0, "(pour)");
    assert_eq!(missing("[1 2]"), MissingProgram::Prose);
    assert_eq!(missing("```\n[1]\n```"), MissingProgram::OtherBlocks);
    assert_eq!(missing(" \n\t"), MissingProgram::Empty);
}

#[test]
fn discarded_forms_are_left_out_and_counted() {
    let cleaned = |text: &str| {
        let (kept, cleaned) = clean(text);
        (kept, cleaned.discarded)
    };
    assert_eq!(cleaned("(a #_(b [c) d] e)"), ("(a  d] e)".into(), 1));
    assert_eq!(cleaned("(a #_ [b (] c)"), ("(a  c)".into(), 1));
    assert_eq!(cleaned("(a #_(b (c) {d}) e)"), ("(a  e)".into(), 1));
    assert_eq!(cleaned("(a #_ #_ :b 2)"), ("(a  2)".into(), 1));
    assert_eq!(cleaned(r#"(a #_"b \" c" d)"#), ("(a  d)".into(), 1));
    assert_eq!(cleaned("#_a #_b (c)"), ("(c)".into(), 2));
    assert_eq!(cleaned("##_(a)_(b) (c)"), ("(c)".into(), 2));
    assert_eq!(cleaned("(a) #_(b"), ("(a) #_(b".into(), 0));
    assert_eq!(cleaned("(a #_) #_b"), ("(a #_) #_b".into(), 0));
    assert_eq!(cleaned("(\u{e9}t\u{e9} #_x 1)"), ("(\u{e9}t\u{e9}  1)".into(), 1));
}

#[test]
fn an_answer_that_is_too_long_is_refused_with_its_length() {
    let answer = format!("({}", " ".repeat(ANSWER_BYTES));
    let bytes = ANSWER_BYTES + 1;
    assert_eq!(extract(&answer), Err(ExtractError::TooLong { bytes }));
    assert!(extract(&answer[..ANSWER_BYTES]).is_ok());
}

#[test]
fn errors_say_what_to_write() {
    let error = extract("```clojure\n(a)\n```\n```lisp\n(b)\n```").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the answer has 2 programs, but one is run. Write all of it in one ```clojure block: blocks do \
         not share definitions."
    );
    assert_eq!(error.name(), "multiple_code_blocks");
}

#[test]
fn the_history_keeps_the_one_tagged_block_as_it_was_written() {
    let answer = "I think.\n ```lisp\n (a #_b)\u{200b}\n ```\nDone.";
    assert_eq!(without_prose(answer), "```lisp\n (a #_b)\u{200b}\n```");
    for whole in ["No.", "Ah.\n```\n(a)\n```", "```lisp\n1\n```\n```lisp\n2\n```"] {
        assert_eq!(without_prose(whole), whole);
    }
}

#[test]
fn time_does_not_grow_faster_than_the_answer() {
    for part in [
        "#_",
        "#_(",
        "#_[]",
        "#_\"",
        "#_\\",
        "##_()_()",
        "#_ ",
        "```\n",
        "```\n(\n```\n",
        "\n```clojure",
        "<clojure>",
        "<clojure>(</lisp>",
        "</lisp><",
        "<",
        "\r",
        "\u{3000}",
        "\u{200b}",
        "\u{201c}",
    ] {
        for (before, after) in [("", ""), ("(", ""), ("```clojure\n", "\n```")] {
            let times = (ANSWER_BYTES / 8) / part.len();
            let answer = format!("{before}{}{after}", part.repeat(times));
            let begun = Instant::now();
            let program = extract(&answer).map_or(0, |found| found.program.len());
            assert!(program <= answer.len());
            // It takes some milliseconds; quadratic time takes minutes.
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(60), "{before:?} {part:?}: {took:?}");
        }
    }
}

/// Texts of the parts that the rules look for.
fn answers() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "```",
        "``",
        "clojure",
        "lisp",
        "clj",
        "<clojure>",
        "</clojure>",
        "<lisp>",
        "</lisp>",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "\\",
        "#_",
        "#",
        "_",
        " ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "a",
        "1",
        "\u{e9}",
        "\u{200b}",
        "\u{a0}",
        "\u{3000}",
        "\u{201c}",
        "\u{2019}",
        "\u{1f375}",
    ]);
    prop::collection::vec(parts, 0..60).prop_map(|parts| parts.concat())
}

/// Programs that cleaning leaves as they are, without a line that is a fence.
fn programs() -> impl Strategy<Value = String> {
    "\\([a-z0-9 \n()\\[\\]{}\":+*-]{0,60}[a-z)]"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn any_answer_has_a_program_or_a_reason(answer in prop_oneof![answers(), any::<String>()]) {
        match extract(&answer) {
            Ok(found) => {
                let source = &answer[found.span];
                prop_assert!(found.program.len() <= source.len());
                let unclean = found.program.contains(['\r', '\u{200b}', '\u{a0}', '\u{201c}']);
                prop_assert!(!unclean);
                prop_assert_eq!(found.program.trim(), &found.program);
                prop_assert_eq!(clean(source), (found.program, found.changes));
            }
            Err(error) => prop_assert!(!error.hint().is_empty()),
        }
        // What the history keeps has the same program, unless a lone carriage return ends a line.
        if !answer.replace("\r\n", "\n").contains('\r') {
            let kept = without_prose(&answer);
            let program = |answer: &str| extract(answer).map(|found| (found.program, found.marker));
            prop_assert_eq!(program(&kept), program(&answer));
        }
    }

    #[test]
    fn a_clean_text_stays_as_it_is(text in answers()) {
        let (once, _) = clean(&text);
        let (again, cleaned) = clean(&once);
        prop_assert_eq!(&again, &once);
        prop_assert_eq!(cleaned, super::TextChanges::default());
    }

    #[test]
    fn a_program_is_found_wherever_it_stands(
        program in programs(),
        before in "[a-z .(\n]{0,40}",
        after in "[a-z .(\n]{0,40}",
    ) {
        let tagged = format!("{before}\n```clojure\n{program}\n```\n{after}");
        prop_assert_eq!(found(&tagged), (program.clone(), ProgramMarker::Tagged));
        let fenced = format!("{before}\n```\n{program}\n```\n{after}");
        prop_assert_eq!(found(&fenced), (program.clone(), ProgramMarker::Fenced));
        let element = format!("{before}<lisp>{program}</lisp>{after}");
        prop_assert_eq!(found(&element), (program.clone(), ProgramMarker::Element));
        prop_assert_eq!(found(&program), (program.clone(), ProgramMarker::WholeAnswer));
    }
}
