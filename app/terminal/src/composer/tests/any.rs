//! Any inputs: the cursor, the spans and the view stay valid, and undo leads back.

use proptest::prelude::*;

use super::*;
use crate::cells;

fn key() -> impl Strategy<Value = Key> {
    let code = prop_oneof![
        8 => prop::sample::select(&['a', ' ', '日', '\u{301}', '/', '@', 's', '"', '\\', '!'][..]).prop_map(KeyCode::Char),
        8 => prop::sample::select(&['d', 'w', 'c', 'y', 'p', 'P', 'g', 'G', 'i', 'o', 'x', 'u', '3', 'k', 'j', '$'][..]).prop_map(KeyCode::Char),
        8 => any::<char>().prop_map(KeyCode::Char),
        10 => prop::sample::select(&[
            KeyCode::Enter, KeyCode::Tab, KeyCode::Backspace, KeyCode::Delete, KeyCode::Left,
            KeyCode::Right, KeyCode::Up, KeyCode::Down, KeyCode::Home, KeyCode::End, KeyCode::Esc,
            KeyCode::PageUp, KeyCode::F(1), KeyCode::BackTab,
        ][..]),
    ];
    let control = prop::sample::select(&b"abcdefghjklnpqrtuvwxyz_"[..]).prop_map(char::from);
    prop_oneof![
        6 => code.prop_map(Key::plain),
        3 => control.clone().prop_map(Key::ctrl),
        1 => control.prop_map(Key::alt),
        1 => Just(Key::shift(KeyCode::Enter)),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let text =
        prop_oneof!["[a\n\r\t ]{0,12}", "\\PC{0,9}", Just("y".repeat(450)), Just("a.png".into())];
    prop_oneof![12 => key().prop_map(Input::Key), 1 => text.prop_map(Input::Paste)]
}

fn check_view(desk: &Desk, columns: u16, rows: u16) -> Result<(), TestCaseError> {
    let view = desk.composer.view(columns, rows, &ComposerStyle::default());
    prop_assert!(view.lines.len() <= usize::from(rows));
    for line in &view.lines {
        prop_assert!(line.width() < usize::from(columns).max(1), "{line:?} at {columns}");
        prop_assert!(!line.text().contains(char::is_control), "{line:?}");
    }
    let shown = rows > 0 && columns > 1;
    prop_assert!(!shown || view.cursor.0 < view.lines.len());
    prop_assert!(view.cursor.1 < usize::from(columns).max(1), "{:?} at {columns}", view.cursor);
    Ok(())
}

proptest! {
    #[test]
    fn everything_stays_valid(
        inputs in prop::collection::vec(input(), 1..40), vim: bool, columns in 0_u16..30, rows in 0_u16..8,
    ) {
        let mut desk = Desk::with(vim);
        for input in inputs {
            desk.input(input);
            let (raw, at) = (desk.composer.buffer.raw(), desk.composer.buffer.cursor());
            prop_assert!(cells::is_boundary(raw, at), "{raw:?} at {at}");
            let unknown = |letter: &char| {
                let number = cells::span_number(*letter).is_some();
                number && desk.composer.buffer.span(&letter.to_string()).is_none()
            };
            prop_assert_eq!(raw.chars().find(unknown), None);
            check_view(&desk, columns, rows)?;
        }
    }

    #[test]
    fn undo_leads_through_earlier_texts_to_the_start(inputs in prop::collection::vec(input(), 1..30)) {
        let mut desk = Desk::new();
        let mut seen = vec![String::new()];
        for input in inputs {
            if matches!(desk.input(input), Action::Submit(_)) {
                seen.clear();
            }
            seen.push(desk.composer.buffer.raw().to_owned());
        }
        while desk.composer.buffer.undo() {
            let raw = desk.composer.buffer.raw().to_owned();
            let known = seen.iter().rposition(|seen| *seen == raw);
            prop_assert!(known.is_some(), "{raw:?} was never there: {seen:?}");
        }
        prop_assert_eq!(desk.composer.buffer.raw(), "");
    }
}
