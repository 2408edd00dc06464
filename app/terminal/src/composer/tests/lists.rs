//! Lists of commands and files, search, views.

use super::*;

#[test]
fn commands_are_listed_and_filtered() {
    let mut desk = Desk::new();
    desk.keys("/c");
    assert_eq!(
        desk.view(40, 9),
        ["› /c|", "› /clear            About clear", "  /compact [focus]  About compact"]
    );
    desk.keys("m");
    assert_eq!(desk.view(40, 9), ["› /cm|", "› /compact [focus]  About compact"]);
    desk.keys("<back><down><tab>");
    assert_eq!(desk.shown(), "/compact |");
    assert_eq!(desk.view(40, 9), ["› /compact |"]);
}

#[test]
fn enter_runs_a_command_unless_it_needs_an_argument() {
    for (keys, sent) in [
        ("/mo<enter>", Some("/model")),
        ("/co<enter>", Some("/compact ")),
        ("/rename<enter>", Some("/rename")),
        ("/unknown<enter>", Some("/unknown")),
        ("/usr/bin is<enter>", Some("/usr/bin is")),
        ("/ren<enter>", None),
    ] {
        let mut desk = Desk::new();
        let action = desk.keys(keys);
        match sent {
            Some(text) => assert_eq!(submitted(action).text, text, "{keys}"),
            None => assert_eq!((action, desk.shown().as_str()), (Action::Redraw, "/rename |")),
        }
    }
}

#[test]
fn files_are_listed_at_a_word_start_and_quoted() {
    let mut desk = Desk::new();
    desk.keys("see @ma<tab>and @s");
    assert_eq!(desk.view(30, 9), ["› see @src/main.rs and @s|", "› src/", "  src/main.rs"]);
    desk.keys("<tab>");
    assert_eq!(desk.shown(), "see @src/main.rs and @src/|");
    desk.keys("<down><enter>");
    assert_eq!(desk.shown(), "see @src/main.rs and @src/main.rs |");
    desk.keys("me@s @\"a b<enter>");
    assert_eq!(desk.shown(), "see @src/main.rs and @src/main.rs me@s @\"a b.txt\" |");
    assert!(!desk.composer.has_menu());
}

#[test]
fn esc_closes_a_list_until_the_next_word() {
    let mut desk = Desk::new();
    desk.keys("@s");
    assert_eq!(desk.keys("<esc>"), Action::Redraw);
    assert!(!desk.composer.has_menu());
    desk.keys("r");
    assert!(!desk.composer.has_menu());
    assert_eq!(desk.keys("<esc>"), Action::Escape);
    desk.keys(" @s");
    assert!(desk.composer.has_menu());
}

#[test]
fn a_recalled_command_opens_no_list() {
    let mut desk = Desk::new();
    desk.keys("hello<enter>/model<enter><up>");
    assert_eq!(desk.shown(), "/model|");
    assert!(!desk.composer.has_menu());
    desk.keys("<up>");
    assert_eq!(desk.shown(), "hello|");
}

#[test]
fn a_search_finds_older_texts() {
    let mut desk = Desk::new();
    desk.keys("fix one<enter>run<enter>fix two<enter>own");
    desk.keys("<C-r>fix");
    assert_eq!(desk.view(30, 9), ["› fix two", "search: fix|"]);
    desk.keys("<C-r>");
    assert_eq!(desk.view(30, 9), ["› fix one", "search: fix|"]);
    desk.keys("x");
    assert_eq!(desk.view(30, 9), ["› fix one", "search: fixx|  no match"]);
    desk.keys("<back><back><esc>");
    assert_eq!(desk.shown(), "own|");
    desk.keys("<C-r>run<enter>");
    assert_eq!(desk.shown(), "run|");
    desk.keys("<down><down>");
    assert_eq!(desk.shown(), "own|");
}

#[test]
fn the_view_shows_rows_around_the_cursor() {
    let mut desk = Desk::new();
    desk.composer.set_text("one\ntwo\nthree\nfour");
    assert_eq!(desk.view(20, 2), ["  three", "  four|"]);
    desk.keys("<up>");
    assert_eq!(desk.view(20, 2), ["  thre|e", "  four"]);
    desk.keys("<up>");
    assert_eq!(desk.view(20, 2), ["  two|", "  three"]);
    desk.keys("<C-end><C-u><back>");
    assert_eq!(desk.view(20, 2), ["  two", "  three|"]);
    assert_eq!(desk.view(20, 9), ["› one", "  two", "  three|"]);
}

#[test]
fn a_command_line_has_another_mark() {
    let mut desk = Desk::new();
    desk.keys("!ls");
    assert_eq!(desk.view(20, 9), ["$ !ls|"]);
}

#[test]
fn wide_characters_tabs_and_invisible_ones_have_their_columns() {
    let mut desk = Desk::new();
    desk.paste("日本\tx\u{202E}y\u{200B}");
    assert_eq!(desk.view(40, 9), ["› 日本    x\u{FFFD}y\u{FFFD}|"]);
    assert_eq!(desk.view(6, 9), ["日本", "    ", "x\u{FFFD}y\u{FFFD}|"]);
}

#[test]
fn a_label_is_cut_in_a_narrow_terminal() {
    let mut desk = Desk::new();
    desk.keys("ab ");
    desk.paste("1\n2\n3\n4\n5");
    assert_eq!(desk.view(12, 9), ["› ab ", "  [pasted …|"]);
}
