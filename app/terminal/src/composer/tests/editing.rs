//! Editing: moves, deletions, pastes, history, actions.

use super::*;

/// Applies keys to a text with the cursor at its end.
fn after(text: &str, keys: &str) -> String {
    let mut desk = Desk::new();
    desk.composer.set_text(text);
    desk.keys(keys);
    desk.shown()
}

#[test]
fn moves() {
    assert_eq!(after("one two", "<C-a>"), "|one two");
    assert_eq!(after("one\ntwo", "<C-a>x<C-e>"), "one\nxtwo|");
    assert_eq!(after("one two", "<M-b><C-b>"), "one| two");
    assert_eq!(after("one two", "<home><M-f><C-f>"), "one |two");
    assert_eq!(after("one, two", "<C-left><C-left>"), "|one, two");
    assert_eq!(after("one, two", "<C-left><C-left><M-right>"), "one|, two");
    assert_eq!(after("e\u{301}👩\u{200D}👧日", "<left><left>"), "e\u{301}|👩\u{200D}👧日");
    assert_eq!(after("one\ntwo", "<C-home>x<C-end>y"), "xone\ntwoy|");
}

#[test]
fn deletions_and_cut_text() {
    assert_eq!(after("one two three", "<C-w><C-w><C-y>"), "one two three|");
    assert_eq!(after("one two", "<C-u><C-y><C-y>"), "one twoone two|");
    assert_eq!(after("one two", "<home><M-d><M-d><end>-<C-y>"), "-one two|");
    assert_eq!(after("one two", "<home><C-f><C-k>"), "o|");
    assert_eq!(after("one\ntwo", "<up><C-e><C-k>"), "one|two");
    assert_eq!(after("a.b c", "<M-back><M-back><back>"), "a|");
    assert_eq!(after("e\u{301}a", "<back><back>"), "|");
    assert_eq!(after("abc", "<home><del><C-d>"), "|c");
}

#[test]
fn undo_goes_back_word_by_word() {
    let mut desk = Desk::new();
    desk.keys("one two");
    desk.keys("<C-w>x");
    let mut seen = vec![desk.shown()];
    for _ in 0..4 {
        desk.keys("<C-_>");
        seen.push(desk.shown());
    }
    assert_eq!(seen, ["one x|", "one |", "one two|", "one |", "|"]);
    assert_eq!(after("a", "<left>b<left>c<C-7><C-7>"), "|a");
}

#[test]
fn every_form_of_a_line_break() {
    for key in ["<S-enter>", "<C-j>", "<M-enter>", "\\<enter>", "<C-enter>"] {
        let mut desk = Desk::new();
        assert_eq!(desk.keys(&format!("a{key}")), Action::Redraw, "{key}");
        desk.keys("b");
        assert_eq!(submitted(desk.keys("<enter>")).text, "a\nb", "{key}");
    }
    assert_eq!(Desk::new().keys(" <enter>"), Action::None);
}

#[test]
fn a_large_paste_is_one_cell_and_is_sent_in_full() {
    let mut desk = Desk::new();
    let lines = "line\r\n".repeat(2_000);
    desk.keys("see ");
    desk.paste(&lines);
    desk.keys("日");
    assert_eq!(desk.shown(), "see [pasted 2,000 lines]日|");
    desk.keys("<left><left>");
    assert_eq!(desk.shown(), "see |[pasted 2,000 lines]日");
    desk.keys("<C-y><del>x<C-_><C-_><C-e><enter>");
    desk.keys("<up>");
    assert_eq!(desk.shown(), "see [pasted 2,000 lines]日|");
    let draft = submitted(desk.keys("<enter>"));
    assert_eq!(draft.text, format!("see {}日", "line\n".repeat(2_000)));
    assert_eq!(draft.shown, "see [pasted 2,000 lines]日");
}

#[test]
fn small_pastes_are_text_and_equal_ones_are_told_apart() {
    let mut desk = Desk::new();
    desk.paste("a\tb\rc\r\nd");
    assert_eq!(desk.shown(), "a\tb\nc\nd|");
    let mut desk = Desk::new();
    (0..2).for_each(|_| drop(desk.paste(&"x".repeat(401))));
    desk.paste(&"y".repeat(401));
    let labels = "[pasted 401 characters][pasted 401 characters #2][pasted 401 characters #3]|";
    assert_eq!(desk.shown(), labels);
    desk.keys("<back><back>");
    assert_eq!(submitted(desk.keys("<enter>")).text, "x".repeat(401));
}

#[test]
fn text_that_looks_like_a_span_is_text() {
    let mut desk = Desk::new();
    desk.paste("a\nb\nc\nd");
    desk.keys(" [pasted 4 lines]");
    desk.paste("\u{100000}\u{10FFFD}\u{1B}[31m\u{9B}");
    assert_eq!(desk.composer.text(), "a\nb\nc\nd [pasted 4 lines]\u{100000}\u{10FFFD}[31m");
    assert_eq!(
        submitted(desk.keys("<enter>")).text,
        "a\nb\nc\nd [pasted 4 lines]\u{100000}\u{10FFFD}[31m"
    );
}

#[test]
fn images_are_spans_with_their_path() {
    let mut desk = Desk::new();
    desk.paste("shots/one.png");
    desk.composer.attach_image(Path::new("shots/two.png"));
    desk.keys(" and");
    assert_eq!(desk.shown(), "[image one.png][image two.png] and|");
    desk.composer.set_text("only [image two.png]");
    let draft = submitted(desk.keys("<enter>"));
    assert_eq!(draft.images, [PathBuf::from("shots/two.png")]);
    assert_eq!(draft.text, "only [image two.png]");
}

#[test]
fn up_goes_through_rows_then_through_the_history_and_back() {
    let mut desk = Desk::new();
    desk.keys("first<enter>");
    desk.keys("second<S-enter>line<enter>");
    desk.keys("own<S-enter>text");
    desk.keys("<up>");
    assert_eq!(desk.shown(), "own|\ntext");
    desk.keys("<up>");
    assert_eq!(desk.shown(), "second|\nline");
    desk.keys("<up><C-p><C-p>");
    assert_eq!(desk.shown(), "first|");
    desk.keys("<down>");
    assert_eq!(desk.shown(), "second\nline|");
    desk.keys("<C-n>");
    assert_eq!(desk.shown(), "own\ntext|");
    assert_eq!(desk.keys("<down>"), Action::None);
}

#[test]
fn vertical_moves_keep_their_column() {
    assert_eq!(
        after("long line\nx\nlong line", "<left><left><up><up>"),
        "long li|ne\nx\nlong line"
    );
    let mut desk = Desk::new();
    desk.composer.set_text("one two three");
    assert_eq!(desk.view(9, 9), ["› one ", "  two ", "  three|"]);
    desk.keys("<up>");
    assert_eq!(desk.shown(), "one two| three");
    desk.keys("<up>");
    assert_eq!(desk.shown(), "one| two three");
}

#[test]
fn keys_that_are_not_of_the_text_are_actions() {
    let mut desk = Desk::new();
    desk.keys("x");
    for (key, action) in [
        ("<backtab>", Action::CycleMode),
        ("<C-g>", Action::Editor),
        ("<C-x><C-e>", Action::Editor),
        ("<C-t>", Action::Transcript),
        ("<C-v>", Action::PasteImage),
        ("<C-z>", Action::Suspend),
        ("<esc>", Action::Escape),
        ("<esc>", Action::Escape),
        ("<tab>", Action::None),
        ("<C-c>", Action::Redraw),
        ("<esc>", Action::Escape),
        ("<esc>", Action::EscapeTwice),
        ("<C-c>", Action::Interrupt),
        ("<C-c>", Action::Exit),
        ("<C-d>", Action::Exit),
    ] {
        assert_eq!(desk.keys(key), action, "{key}");
    }
    assert_eq!(desk.paste(""), Action::PasteImage);
    assert_eq!(desk.keys("<C-c>a<back><C-c>"), Action::Interrupt, "another key was between");
    desk.now += TWICE;
    assert_eq!(desk.keys("<C-c>"), Action::Interrupt, "it was too late");
}

#[test]
fn tab_queues_only_while_busy() {
    let mut desk = Desk::new();
    desk.keys("later");
    let tab = Key::plain(KeyCode::Tab);
    assert_eq!(desk.busy(tab), Action::Queue("later".into()));
    assert!(desk.composer.is_empty());
    assert_eq!(desk.busy(tab), Action::None);
}

#[test]
fn a_paste_never_submits() {
    let mut desk = Desk::new();
    assert_eq!(desk.paste("rm -r x\n"), Action::Redraw);
    assert_eq!(desk.shown(), "rm -r x\n|");
    assert_eq!(submitted(desk.keys("<enter>")).text, "rm -r x\n");
}
