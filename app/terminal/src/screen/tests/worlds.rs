//! Random courses of a screen with resizes: each finished line is in the scrollback or on the screen once,
//! and the live area is on the screen once.

use proptest::prelude::*;

use super::{Scene, area};
use crate::screen::Size;
use crate::text::Line;

#[derive(Debug, Clone)]
enum Step {
    Commit(String, bool),
    Live(Vec<String>, Option<(usize, usize)>),
    Resize(usize, u16),
    Frame,
}

/// Widths that a live area of four rows can be broken at without filling 24 rows of a screen.
const WIDTHS: [u16; 6] = [20, 33, 40, 57, 80, 200];

fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof!["[a-z]{1,12}", "[a-z]{30,90}", "[漢字]{1,9}", "(👩‍👩‍👧|e\u{301}|\t){1,3}"];
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

fn live_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof!["[A-Z]{1,12}", "[漢字]{1,9}", "👩‍👩‍👧|❤️"], 0..20)
        .prop_map(|words| words.join(" "))
}

fn step() -> impl Strategy<Value = Step> {
    let cursor = prop::option::of((0..4_usize, 0..100_usize));
    prop_oneof![
        (text(), any::<bool>()).prop_map(|(text, words)| Step::Commit(text, words)),
        (prop::collection::vec(live_text(), 0..4), cursor).prop_map(|(a, b)| Step::Live(a, b)),
        (0..WIDTHS.len(), 14_u16..40).prop_map(|(width, rows)| Step::Resize(width, rows)),
        Just(Step::Frame),
        Just(Step::Frame),
    ]
}

fn letters(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Runs a course, and compares all that the terminal has with what it was given.
fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut scene = Scene::new(80, 24);
    let mut finished = String::new();
    let mut width = 4;
    for step in steps {
        match step {
            Step::Commit(text, words) => {
                let line = Line::plain(text.clone());
                scene.screen.commit([if words { line.wrapped(3) } else { line }]);
                finished.push_str(&letters(&text));
            }
            Step::Live(lines, cursor) => {
                let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
                scene.screen.set_live(area(&lines, cursor));
            }
            // A live area that is taller than the screen once it is broken cannot be kept out of the
            // scrollback, so a course narrows by two steps at a time.
            Step::Resize(to, rows) => {
                width = to.max(width - width.min(2));
                scene.resize(WIDTHS[width], rows);
            }
            Step::Frame => {
                scene.frame();
            }
        }
    }
    // The live area is drawn in full only where a whole one stands at the end.
    scene.settle();
    scene.screen.set_live(area(&["END"], None));
    scene.settle();
    prop_assert_eq!(scene.terminal.letters(), finished + "END");
    let scrolled = scene.terminal.scrollback();
    prop_assert!(!scrolled.iter().any(|row| row.contains(|c: char| c.is_ascii_uppercase())));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 5, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_doubled_or_left_behind(steps in prop::collection::vec(step(), 1..40)) {
        run(steps)?;
    }
}

#[test]
fn a_stream_survives_shrinking_and_growing_at_all_widths() {
    for columns in [20, 40, 80, 200] {
        let mut scene = Scene::new(columns, 24);
        let mut finished = String::new();
        for n in 0..60_u16 {
            let text = format!("{n}: {}", "some words of a line ".repeat(usize::from(n % 5)));
            finished.push_str(&letters(&text));
            let line = Line::plain(text);
            scene.screen.commit([if n % 2 == 0 { line.wrapped(3) } else { line }]);
            let status = "LIVE ".repeat(usize::from(n % 9));
            scene.screen.set_live(area(&[&status, "STATUS", "> INPUT"], Some((2, 7))));
            if n % 7 == 3 {
                let size =
                    [columns / 2, columns * 2, columns + 13, columns][usize::from(n / 7 % 4)];
                scene.resize(size, 20 + n % 9);
            }
            scene.settle();
            let live = letters(&format!("{status}STATUS> INPUT"));
            assert!(scene.terminal.letters().starts_with(&finished), "{columns} {n}");
            assert!(
                live.starts_with(&scene.terminal.letters()[finished.len()..][..4.min(live.len())])
            );
        }
        let scrolled = scene.terminal.scrollback().concat();
        assert!(!scrolled.contains("LIVE") && !scrolled.contains("STATUS"), "{scrolled}");
        let shown = scene.terminal.letters();
        assert_eq!((shown.matches("STATUS").count(), shown.matches("INPUT").count()), (1, 1));
    }
}

#[test]
fn a_frame_for_a_width_that_is_gone_clears_no_finished_line() {
    for (columns, narrow, commits) in
        [(80, 40, true), (80, 40, false), (200, 33, true), (57, 20, false)]
    {
        let mut scene = Scene::new(columns, 24);
        scene.screen.commit((0..30).map(|n| Line::plain(format!("<{n}>"))));
        let live = |n: usize| {
            let wide = ["A", "B", "C"][n].repeat(190);
            area(&[&wide, &"S".repeat(190), "> I"], Some((2, 3)))
        };
        let mut expected: String = (0..30).map(|n| format!("<{n}>")).collect();
        for n in 0..3 {
            scene.screen.set_live(live(n));
            if commits {
                scene.screen.commit([Line::plain(format!("<<{n}>>"))]);
                expected.push_str(&format!("<<{n}>>"));
            }
            if n == 1 {
                scene.terminal.resize(Size { columns: narrow, rows: 24 });
            }
            scene.frame();
        }
        scene.screen.resize(Size { columns: narrow, rows: 24 });
        scene.settle();
        let finished: String = scene.terminal.letters().replace(">I", "");
        assert_eq!(finished.replace(char::is_alphabetic, ""), expected, "{columns} {narrow}");
    }
}
