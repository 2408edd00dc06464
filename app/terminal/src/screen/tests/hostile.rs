//! Texts of others: none of them steers the terminal, and none takes more room than is counted.

use unicode_width::UnicodeWidthStr as _;

use super::{Scene, area};
use crate::screen::{ColorSupport, glyph, wrap};
use crate::text::{Line, Span, Style};
use expect_test::expect;

const HOSTILE: &[&str] = &[
    "\x1b[2J\x1b]0;title\x07",
    "a\r\nb\x0bc\x0cd",
    "\u{9b}31m\u{90}q\u{9c}",
    "left\u{202e}right\u{2066}in\u{2069}",
    "a\u{2028}b\u{85}c",
    "\u{8}\u{8}\u{7f}\0",
    "tab\tstop\t.",
];

#[test]
fn controls_and_marks_of_order_are_shown_and_not_sent() {
    let mut scene = Scene::new(80, 20);
    scene.screen.set_live(area(HOSTILE, None));
    scene.screen.commit(HOSTILE.iter().map(|text| Line::plain(*text)));
    scene.screen.commit(HOSTILE.iter().map(|text| Line::plain(*text).wrapped(0)));
    let lines: Vec<Line> = HOSTILE.iter().map(|text| Line::plain(*text)).collect();
    let shown = crate::plain(&lines, ColorSupport::None);
    expect![[r#"
        ␛[2J␛]0;title␇
        a␍␊b␋c␌d
        <U+009B>31m<U+0090>q<U+009C>
        left<U+202E>right<U+2066>in<U+2069>
        a<U+2028>b<U+0085>c
        ␈␈␡␀
        tab     stop    .
    "#]]
    .assert_eq(&shown);
    scene.frame();
    let rows: Vec<&str> = shown.lines().collect();
    let screen = scene.terminal.screen();
    assert_eq!(scene.terminal.scrollback(), rows[..1]);
    assert_eq!(screen[..6], rows[1..]);
    assert_eq!(screen[6..13], rows[..]);
    assert_eq!(screen[13..], rows[..]);
}

#[test]
fn titles_notifications_and_copies_hold_no_command_of_others() {
    let mut scene = Scene::new(80, 5);
    scene.screen.set_title("a\x1b]0;b\x07\u{9c} c\nd\u{202e}");
    scene.screen.notify("done; 4;3\x07\x1b\\now");
    assert!(scene.screen.copy("text\x1b"));
    expect![[r#""\u{1b}]2;a]0;b c d\u{1b}\\\u{1b}]9;done, 4,3\\now\u{1b}\\\u{1b}]777;notify;done, 4,3\\now;\u{1b}\\\u{7}\u{1b}]52;c;dGV4dBs=\u{1b}\\""#]]
    .assert_eq(&format!("{:?}", String::from_utf8(scene.frame()).unwrap()));
    assert!(!scene.screen.copy(&"x".repeat(74_001)));
    assert_eq!(scene.screen.due(), None);
    let mut within = Scene::new(80, 5);
    within.screen = within.screen.within_tmux(true);
    within.screen.copy("x");
    let bytes = String::from_utf8(within.frame()).unwrap();
    assert!(bytes.ends_with("\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\"), "{bytes:?}");
}

#[test]
fn words_are_broken_by_width_and_never_within_a_character() {
    let rows = |text: &str, columns| -> Vec<String> {
        let rows = wrap::rows(&Line::plain(text), columns, 2).into_iter();
        rows.map(|row| row.into_iter().map(|span| span.text).collect()).collect()
    };
    assert_eq!(rows("one two three", 7), ["one two", "  three"]);
    assert_eq!(rows("one  two", 5), ["one", "  two"]);
    assert_eq!(rows("  in a list", 8), ["  in a", "  list"]);
    assert_eq!(rows("abcdefghij", 4), ["abcd", "  ef", "  gh", "  ij"]);
    assert_eq!(rows("漢字漢字漢", 5), ["漢字", "  漢", "  字", "  漢"]);
    assert_eq!(rows("an 漢字 end", 6), ["an 漢", "  字", "  end"]);
    assert_eq!(rows("e\u{301}e\u{301}e\u{301}", 2), ["e\u{301}e\u{301}", " e\u{301}"]);
    assert_eq!(rows("👩‍👩‍👧👩‍👩‍👧", 6), ["👩‍👩‍👧", "  👩‍👩‍👧"]);
    assert_eq!(rows("", 4), [""]);
    assert_eq!(rows("word   ", 4), ["word"]);
    assert_eq!(rows("漢", 1), ["漢"]);
}

#[test]
fn styles_survive_a_break() {
    let bold = Style { bold: true, ..Style::default() };
    let line = Line::plain("one ").with("two three", bold).wrapped(0);
    let span = |text: &str, style| Span { text: text.to_owned(), style };
    let rows = wrap::rows(&line, 7, 0);
    assert_eq!(rows[0], [span("one ", Style::default()), span("two", bold)]);
    assert_eq!(rows[1], [span("three", bold)]);
}

#[test]
fn a_live_row_takes_the_columns_that_are_counted_in_every_terminal() {
    let text = |line: &str, columns| -> String {
        wrap::cut(&Line::plain(line), columns).into_iter().map(|span| span.text).collect()
    };
    assert_eq!(text("❤️ and 👩‍👩‍👧 and 👍🏽.", 40), "❤  and 👩 and 👍.");
    assert_eq!(text("漢字漢", 5), "漢字");
    for line in ["🇩🇪🇫🇷", "1️⃣2", "⌚\u{fe0e}x", "e\u{301}\u{300}", "न्कि", "각"]
    {
        let shown = text(line, 40);
        let sum: usize = shown.chars().map(|c| c.to_string().width()).sum();
        assert_eq!(shown.width(), sum, "{line}: {shown:?}");
    }
}

#[test]
fn marks_without_end_stay_within_bounded_rows() {
    let zalgo = format!("a{}b", "\u{301}".repeat(100_000));
    for row in wrap::rows(&Line::plain(zalgo.clone()), 20, 0) {
        assert!(row.iter().map(|span| span.text.len()).sum::<usize>() < 10_000);
    }
    let cut: usize = wrap::cut(&Line::plain(zalgo), 20).iter().map(|span| span.text.len()).sum();
    assert!(cut < 10_000, "{cut}");
    assert!(glyph::first(&"\u{301}".repeat(900), 0).unwrap().bytes <= 64);
}
