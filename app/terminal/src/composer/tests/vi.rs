//! Keys of vi.

use super::*;

/// Applies keys in normal mode to a text with the cursor at its start.
fn normal(text: &str, keys: &str) -> String {
    let mut desk = Desk::vi();
    desk.composer.set_text(text);
    desk.keys("<esc>gg0");
    desk.keys(keys);
    desk.shown()
}

#[test]
fn motions() {
    assert_eq!(normal("one two", "w"), "one |two");
    assert_eq!(normal("one two", "e"), "on|e two");
    assert_eq!(normal("one two three", "2w"), "one two |three");
    assert_eq!(normal("one two three", "$bb"), "one |two three");
    assert_eq!(normal("one, two", "wl"), "one,| two");
    assert_eq!(normal("  one", "$^"), "  |one");
    assert_eq!(normal("one\ntwo\nthree", "G"), "one\ntwo\n|three");
    assert_eq!(normal("one\ntwo\nthree", "2G$"), "one\ntw|o\nthree");
    assert_eq!(normal("one\ntwo\nthree", "Ggg"), "|one\ntwo\nthree");
    assert_eq!(normal("one\ntwo", "lljhk"), "o|ne\ntwo");
    assert_eq!(normal("one", "10l"), "on|e");
}

#[test]
fn deletions() {
    assert_eq!(normal("one two three", "dw"), "|two three");
    assert_eq!(normal("one two three", "2dw"), "|three");
    assert_eq!(normal("one two three", "d2w"), "|three");
    assert_eq!(normal("one\ntwo", "dw"), "|\ntwo");
    assert_eq!(normal("one two", "de"), "| two");
    assert_eq!(normal("one two", "$db"), "one |o");
    assert_eq!(normal("one two", "wD"), "one| ");
    assert_eq!(normal("one two", "d$"), "|");
    assert_eq!(normal("abc", "2x"), "|c");
    assert_eq!(normal("one\ntwo\nthree", "jdd"), "one\n|three");
    assert_eq!(normal("one\ntwo\nthree", "2dd"), "|three");
    assert_eq!(normal("one\ntwo", "jdd"), "|one");
    assert_eq!(normal("one\ntwo\nthree", "dj"), "|three");
    assert_eq!(normal("one\ntwo\nthree", "jdG"), "|one");
    assert_eq!(normal("one two", "wdiw"), "one| ");
    assert_eq!(normal("one two", "daw"), "|two");
}

#[test]
fn changes_and_insertions() {
    assert_eq!(normal("one two", "cwx"), "x| two");
    assert_eq!(normal("one two", "wciwx"), "one x|");
    assert_eq!(normal("one two", "wCx"), "one x|");
    assert_eq!(normal("one\ntwo", "ccx"), "x|\ntwo");
    assert_eq!(normal("one", "ix<esc>"), "|xone");
    assert_eq!(normal("one", "ax"), "ox|ne");
    assert_eq!(normal("one", "Ax"), "onex|");
    assert_eq!(normal("  one", "Ix"), "  x|one");
    assert_eq!(normal("one\ntwo", "ox"), "one\nx|\ntwo");
    assert_eq!(normal("one\ntwo", "Ox"), "x|\none\ntwo");
}

#[test]
fn copies_and_undo() {
    assert_eq!(normal("one\ntwo", "yyjp"), "one\ntwo\n|one");
    assert_eq!(normal("one\ntwo", "jyyggP"), "|two\none\ntwo");
    assert_eq!(normal("one two", "yw$p"), "one twoone| ");
    assert_eq!(normal("ab", "x3p"), "baa|a");
    assert_eq!(normal("one\ntwo", "dd2p"), "two\n|one\none");
    assert_eq!(normal("one two", "dwu"), "|one two");
    assert_eq!(normal("one two", "d<esc>w"), "one |two");
}

#[test]
fn rows_at_the_edge_lead_into_the_history() {
    let mut desk = Desk::vi();
    desk.keys("first<enter>");
    assert_eq!(desk.composer.mode(), Some("INSERT"));
    desk.keys("own<esc>k");
    assert_eq!(desk.shown(), "first|");
    desk.keys("j");
    assert_eq!(desk.shown(), "own|");
    assert_eq!(desk.composer.mode(), Some("NORMAL"));
    assert_eq!(submitted(desk.keys("<enter>")).text, "own");
    assert_eq!(desk.keys("<esc>"), Action::Redraw);
    assert_eq!(desk.keys("<esc>"), Action::Escape);
    assert_eq!(desk.keys("<esc>"), Action::EscapeTwice);
}
