//! Bytes with times in, inputs out.

use super::*;

/// Pushes chunks that arrive so many milliseconds after each other.
fn arrive(chunks: &[(u64, &str)]) -> Vec<Input> {
    let mut arrivals = Arrivals::default();
    let mut now = Instant::now();
    let mut inputs = Vec::new();
    for (wait, bytes) in chunks {
        let then = now + Duration::from_millis(*wait);
        settle(&mut arrivals, |due| due < then);
        now = then;
        arrivals.push(bytes.as_bytes(), now);
        inputs.extend(std::iter::from_fn(|| arrivals.next()));
    }
    settle(&mut arrivals, |_| true);
    inputs.extend(std::iter::from_fn(|| arrivals.next()));
    inputs
}

fn settle(arrivals: &mut Arrivals, fits: impl Fn(Instant) -> bool) {
    while let Some(due) = arrivals.due().filter(|due| fits(*due)) {
        arrivals.settle(due);
    }
}

fn keys(text: &str) -> Vec<Input> {
    let key = |letter| match letter {
        '\r' => Key::plain(KeyCode::Enter),
        '\u{1b}' => Key::plain(KeyCode::Esc),
        letter => Key::char(letter),
    };
    text.chars().map(|letter| key(letter).into()).collect()
}

fn paste(text: &str) -> Input {
    Input::Paste(text.into())
}

#[test]
fn a_burst_with_lines_is_one_paste() {
    assert_eq!(arrive(&[(0, "one\rtwo\rthree")]), [paste("one\ntwo\nthree")]);
    assert_eq!(arrive(&[(0, "a\r\rb\tc\r")]), [paste("a\n\nb\tc\n")]);
    assert_eq!(arrive(&[(0, "one\ntwo\n")]), [paste("one\ntwo\n")]);
    assert_eq!(arrive(&[(0, "\rab")]), [paste("\nab")]);
}

#[test]
fn the_chunks_of_a_burst_are_one_paste() {
    let all = [paste("one\ntwo\nthree\nx")];
    assert_eq!(arrive(&[(0, "one\rtw"), (90, "o\rthree\r"), (90, "x")]), all);
    assert_eq!(arrive(&[(0, "one\r"), (30, "two\r")]), [paste("one\ntwo\n")]);
    let line = "a line of the text\r";
    let chunks: Vec<(u64, &str)> = (0..500).map(|_| (5, line)).collect();
    assert_eq!(arrive(&chunks), [paste(&"a line of the text\n".repeat(500))]);
}

#[test]
fn the_late_rest_of_a_paste_submits_nothing() {
    let all = [paste("one\ntwo"), paste("last\n")];
    assert_eq!(arrive(&[(0, "one\rtwo"), (150, "last\r")]), all);
    assert_eq!(arrive(&[(0, "one\rtwo"), (150, "\r")]), [paste("one\ntwo"), paste("\n")]);
    assert_eq!(arrive(&[(0, "one\rtwo"), (300, "\r")])[1..], keys("\r"));
}

#[test]
fn keys_of_a_person_stay_keys() {
    let typed: Vec<(u64, String)> = "ls\rpwd\r".chars().map(|key| (20, key.into())).collect();
    let typed: Vec<(u64, &str)> = typed.iter().map(|(wait, key)| (*wait, key.as_str())).collect();
    assert_eq!(arrive(&typed), keys("ls\rpwd\r"));
    assert_eq!(arrive(&[(0, "y\r")]), keys("y\r"));
}

#[test]
fn an_input_method_and_a_program_that_types_are_no_paste() {
    assert_eq!(arrive(&[(0, "日本語入力")]), keys("日本語入力"));
    assert_eq!(arrive(&[(0, "run the tests\r")]), keys("run the tests\r"));
}

#[test]
fn a_long_line_at_once_is_a_paste_and_an_enter_at_its_end_is_a_key() {
    let long = "x".repeat(LONG + 1);
    assert_eq!(arrive(&[(0, &long)]), [paste(&long)]);
    let ended = arrive(&[(0, &format!("{long}\r"))]);
    assert_eq!(ended, [vec![paste(&long)], keys("\r")].concat());
}

#[test]
fn a_marked_paste_is_one_whatever_is_around_it() {
    let inputs = arrive(&[(0, "a\x1b[200~one\rtwo\x1b[201~\r")]);
    assert_eq!(inputs, [keys("a"), vec![paste("one\rtwo")], keys("\r")].concat());
    let inputs = arrive(&[(0, "\x1b[200~one\r"), (2_000, "two\x1b[20"), (2_000, "1~")]);
    assert_eq!(inputs, [paste("one\rtwo")]);
}

#[test]
fn a_single_key_is_due_at_once_and_an_esc_soon() {
    let mut arrivals = Arrivals::default();
    let now = Instant::now();
    arrivals.push(b"a", now);
    assert_eq!(arrivals.due(), Some(now));
    arrivals.push(b"\x1b[A", now);
    assert_eq!(arrivals.due(), None);
    arrivals.push(b"\x1b", now);
    assert_eq!(arrivals.due(), Some(now + ESCAPE));
}

#[test]
fn a_sequence_may_arrive_in_parts() {
    assert_eq!(arrive(&[(0, "\x1b"), (10, "[A")]), [Key::plain(KeyCode::Up).into()]);
    assert_eq!(arrive(&[(0, "\x1b"), (30, "x")]), keys("\x1bx"));
    assert_eq!(arrive(&[(0, "\x1b[1;"), (1_000, "5A")]).len(), 1);
}

#[test]
fn an_answer_never_arrives_as_keys() {
    let mut arrivals = Arrivals::default();
    let now = Instant::now();
    for (wait, bytes) in [(0, "a\x1b"), (20, "]11;rgb:1e1e/1e"), (900, "1e/2e2e\x1b"), (950, "\\b")]
    {
        arrivals.push(bytes.as_bytes(), now + Duration::from_millis(wait));
    }
    assert_eq!(arrivals.background().as_deref(), Some("rgb:1e1e/1e1e/2e2e"));
    settle(&mut arrivals, |_| true);
    assert_eq!(std::iter::from_fn(|| arrivals.next()).collect::<Vec<_>>(), keys("ab"));
}
