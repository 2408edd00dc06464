//! Keys in, choices and views out.

use super::*;

fn sessions() -> Menu<u8> {
    Menu::new("Resume").row("Fix the build", "2 h ago", 1).row("Write docs", "3 h ago", 2).row(
        "Fix docs",
        "yesterday",
        3,
    )
}

fn press(menu: &mut Menu<u8>, keys: &[KeyCode]) -> MenuAction<u8> {
    let mut action = MenuAction::None;
    for code in keys {
        action = menu.input(&Key::plain(*code).into());
    }
    action
}

fn type_text(menu: &mut Menu<u8>, text: &str) -> MenuAction<u8> {
    press(menu, &text.chars().map(KeyCode::Char).collect::<Vec<_>>())
}

fn lines(menu: &Menu<u8>, columns: u16, rows: u16) -> Vec<String> {
    menu.view(columns, rows, &ComposerStyle::default()).lines.iter().map(Line::text).collect()
}

#[test]
fn arrows_move_and_enter_chooses() {
    let mut menu = sessions();
    let down = press(&mut menu, &[KeyCode::Down, KeyCode::Down, KeyCode::Down, KeyCode::Up]);
    assert_eq!(down, MenuAction::Redraw);
    assert_eq!(menu.selected(), Some(&2));
    assert_eq!(press(&mut menu, &[KeyCode::Enter]), MenuAction::Chosen(2));
    assert_eq!(press(&mut menu, &[KeyCode::End]), MenuAction::Redraw);
    assert_eq!(press(&mut menu, &[KeyCode::Enter]), MenuAction::Chosen(3));
    assert_eq!(press(&mut menu, &[KeyCode::Esc]), MenuAction::Cancelled);
    assert_eq!(menu.input(&Key::ctrl('c').into()), MenuAction::Cancelled);
}

#[test]
fn typing_filters_by_words() {
    let mut menu = sessions();
    type_text(&mut menu, "docs fix");
    assert_eq!(lines(&menu, 40, 9), ["Resume: docs fix", "› Fix docs  yesterday"]);
    type_text(&mut menu, "!");
    assert_eq!(lines(&menu, 40, 9), ["Resume: docs fix!"]);
    assert_eq!(press(&mut menu, &[KeyCode::Enter]), MenuAction::None);
    menu.input(&Key::ctrl('u').into());
    assert_eq!(lines(&menu, 40, 9).len(), 4);
}

#[test]
fn numbers_choose_at_once() {
    let menu = || sessions().numbered();
    assert_eq!(type_text(&mut menu(), "2"), MenuAction::Chosen(2));
    for other in ["0", "9", "x"] {
        assert_eq!(type_text(&mut menu(), other), MenuAction::None, "{other}");
    }
    assert_eq!(menu().input(&Input::Paste("1\n".into())), MenuAction::None);
    let shown = ["Resume", "› 1. Fix the build  2 h ago", "  2. Write docs     3 h ago"];
    assert_eq!(lines(&menu(), 40, 3), shown);
}

#[test]
fn pages_follow_the_view_and_the_selected_row_is_visible() {
    let mut menu =
        (0..100).fold(Menu::new("Many"), |menu, at| menu.row(format!("Row {at}"), "", at));
    assert_eq!(lines(&menu, 40, 4).len(), 4);
    press(&mut menu, &[KeyCode::PageDown, KeyCode::PageDown]);
    assert_eq!(lines(&menu, 40, 4), ["Many", "  Row 4", "  Row 5", "› Row 6"]);
    for (columns, rows) in [(0, 3), (1, 3), (2, 2), (3, 1), (9, 0), (12, 9)] {
        let view = menu.view(columns, rows, &ComposerStyle::default());
        assert!(view.lines.len() <= usize::from(rows));
        assert!(view.lines.iter().all(|line| line.width() < usize::from(columns)), "{columns}");
    }
}
