//! Bytes in, inputs out.

use proptest::prelude::*;

use super::*;

fn decode(bytes: &[u8]) -> Vec<Decoded> {
    let mut decoder = Decoder::default();
    let mut all = decoder.push(bytes);
    all.extend(decoder.finish());
    all
}

fn keys(bytes: &str) -> Vec<Key> {
    let key = |one| {
        let Decoded::Input(Input::Key(key)) = one else { panic!("{one:?}") };
        key
    };
    decode(bytes.as_bytes()).into_iter().map(key).collect()
}

fn pasted(text: &str) -> Decoded {
    Decoded::Input(Input::Paste(text.into()))
}

const fn with(code: KeyCode, ctrl: bool, alt: bool, shift: bool) -> Key {
    Key { code, ctrl, alt, shift }
}

#[test]
fn keys_of_every_protocol() {
    let plain = |code| vec![Key::plain(code)];
    for (bytes, expected) in [
        ("a", vec![Key::char('a')]),
        ("A", vec![Key::char('A')]),
        ("é日👩", vec![Key::char('é'), Key::char('日'), Key::char('👩')]),
        ("\r", plain(KeyCode::Enter)),
        ("\n", vec![Key::ctrl('j')]),
        ("\t", plain(KeyCode::Tab)),
        ("\x7f", plain(KeyCode::Backspace)),
        ("\x08", vec![Key::ctrl('h')]),
        ("\x03", vec![Key::ctrl('c')]),
        ("\x1f", vec![Key::ctrl('_')]),
        ("\0", vec![Key::ctrl(' ')]),
        ("\x1b", plain(KeyCode::Esc)),
        ("\x1b\x1b", vec![Key::plain(KeyCode::Esc), Key::plain(KeyCode::Esc)]),
        ("\x1bb", vec![Key::alt('b')]),
        ("\x1b[", vec![Key::alt('[')]),
        ("\x1bO", vec![Key::alt('O')]),
        ("\x1bé", vec![Key::alt('é')]),
        ("\x1b\r", vec![with(KeyCode::Enter, false, true, false)]),
        ("\x1b\x7f", vec![with(KeyCode::Backspace, false, true, false)]),
        ("\x1b[A", plain(KeyCode::Up)),
        ("\x1bOA", plain(KeyCode::Up)),
        ("\x1b\x1b[D", vec![with(KeyCode::Left, false, true, false)]),
        ("\x1b[1;5D", vec![with(KeyCode::Left, true, false, false)]),
        ("\x1b[1;3C", vec![with(KeyCode::Right, false, true, false)]),
        ("\x1b[H\x1b[4~", vec![Key::plain(KeyCode::Home), Key::plain(KeyCode::End)]),
        ("\x1b[3;5~", vec![with(KeyCode::Delete, true, false, false)]),
        ("\x1b[15~\x1bOR\x1b[24~", [5, 3, 12].map(|number| Key::plain(KeyCode::F(number))).into()),
        ("\x1b[Z", plain(KeyCode::BackTab)),
        ("\x1b[9;2u", plain(KeyCode::BackTab)),
        ("\x1b[13;2u", vec![Key::shift(KeyCode::Enter)]),
        ("\x1b[27;2;13~", vec![Key::shift(KeyCode::Enter)]),
        ("\x1b[97;2u", vec![Key::char('A')]),
        ("\x1b[67;6u", vec![Key::ctrl('c')]),
        ("\x1b[27u", plain(KeyCode::Esc)),
        ("\x1b[57414;1:2u", plain(KeyCode::Enter)),
        ("\x1b[97:65;3u", vec![Key::alt('a')]),
        ("\x1b[1089::99;5u", vec![Key::ctrl('c')]),
        ("\x1b[1089:1057:99;2u", vec![Key::char('С')]),
    ] {
        assert_eq!(keys(bytes), expected, "{bytes:?}");
    }
}

#[test]
fn what_is_no_input_is_left_out() {
    for bytes in [
        "\x1b[97;1:3u",
        "\x1b[118;9u",
        "\x1b[57441u",
        "\x1b[?1u",
        "\x1b[?62;c",
        "\x1b[2~",
        "\x1b[12;40R",
        "\x1b[<0;1;1M",
        "\x1b[201~",
        "\x1b]0;title\x07",
        "\x1b]8;x",
        "\x1b[[A",
        "\x1b[1;2;3",
        "\u{9b}A",
    ] {
        assert_eq!(keys(&format!("a{bytes}"))[0], Key::char('a'));
        assert!(
            keys(bytes).len() <= usize::from(bytes.ends_with('A') && bytes.starts_with('\u{9b}')),
            "{bytes:?}"
        );
    }
    assert_eq!(decode(b"a\xff\xc3(\xe6\x97"), decode(b"a("));
}

#[test]
fn focus_and_background() {
    let focus = |to| Decoded::Input(Input::Focus(to));
    assert_eq!(decode(b"\x1b[I\x1b[O"), [focus(true), focus(false)]);
    let color = Decoded::Background("rgb:1e1e/1e1e/2e2e".into());
    for end in ["\x07", "\x1b\\"] {
        let bytes = format!("\x1b]11;rgb:1e1e/1e1e/2e2e{end}a");
        assert_eq!(decode(bytes.as_bytes()), [color.clone(), key(Key::char('a'))]);
    }
}

#[test]
fn a_marked_paste_ends_at_its_mark() {
    let all = [pasted("one\rtwo\u{1b}[A"), key(Key::plain(KeyCode::Enter))];
    assert_eq!(decode(b"\x1b[200~one\rtwo\x1b[A\x1b[201~\r"), all);
    assert_eq!(decode(b"\x1b[200~\x1b[201~"), [pasted("")]);
    assert_eq!(decode(b"\x1b\x1b[200~x\x1b[201~"), [escape(), pasted("x")]);
    assert_eq!(decode(b"\x1b[200~cut\x1b[20"), [pasted("cut\u{1b}[20")]);
}

#[test]
fn a_long_paste_in_chunks_is_linear() {
    let mut decoder = Decoder::default();
    assert_eq!(decoder.push(b"\x1b[200~"), []);
    for _ in 0..2_000 {
        assert_eq!(decoder.push(&[b'x'; 1_000]), []);
        assert_eq!(decoder.unfinished(), Some(Unfinished::Paste));
    }
    assert_eq!(decoder.push(b"\x1b[201~"), [pasted(&"x".repeat(2_000_000))]);
    assert_eq!(decoder.unfinished(), None);
}

proptest! {
    #[test]
    fn chunks_do_not_matter_and_control_characters_are_no_text(
        bytes in "(\u{1b}|\\[|\\]|O|200~|201~|\u{1b}\\[200~x\r|\u{1b}\\[201~|11;|\u{7}|\\\\|[0-9;:~uAM]|é|日|\\PC){0,30}",
        cuts in prop::collection::vec(0_usize..60, 0..6),
    ) {
        let bytes = bytes.as_bytes();
        let mut decoder = Decoder::default();
        let mut all = Vec::new();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < bytes.len()).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            all.extend(decoder.push(&bytes[from..cut]));
            from = cut;
        }
        all.extend(decoder.finish());
        prop_assert_eq!(&all, &decode(bytes));
        for one in all {
            if let Decoded::Input(Input::Key(key)) = one {
                prop_assert!(!key.typed().is_some_and(char::is_control), "{:?}", key);
            }
        }
    }
}
