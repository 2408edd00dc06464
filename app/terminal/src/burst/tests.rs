//! Keys with times in, inputs out.

use super::*;

/// Pushes keys of chunks that arrive so many milliseconds after each other, and settles when due.
fn arrive(chunks: &[(u64, &str)]) -> Vec<Input> {
    let mut arrivals = Arrivals::default();
    let mut now = Instant::now();
    let mut inputs = Vec::new();
    for (wait, keys) in chunks {
        let then = now + Duration::from_millis(*wait);
        if let Some(due) = arrivals.due().filter(|due| *due < then) {
            arrivals.settle(due);
        }
        now = then;
        keys.chars().for_each(|letter| arrivals.push(key(letter).into(), now));
        inputs.extend(std::iter::from_fn(|| arrivals.next()));
    }
    arrivals.settle(now + HOLD);
    inputs.extend(std::iter::from_fn(|| arrivals.next()));
    inputs
}

fn key(letter: char) -> Key {
    match letter {
        '\r' => Key::plain(KeyCode::Enter),
        '\n' => Key::ctrl('j'),
        '\t' => Key::plain(KeyCode::Tab),
        '\u{1B}' => Key::plain(KeyCode::Esc),
        letter => Key::char(letter),
    }
}

fn keys(text: &str) -> Vec<Input> {
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
}

#[test]
fn the_chunks_of_a_burst_are_one_paste() {
    assert_eq!(
        arrive(&[(0, "one\rtw"), (8, "o\rthree\r"), (8, "x")]),
        [paste("one\ntwo\nthree\nx")]
    );
    assert_eq!(arrive(&[(0, "one\r"), (30, "two\r")]), [paste("one\ntwo\n")]);
}

#[test]
fn the_late_rest_of_a_paste_submits_nothing() {
    let all = [paste("one\ntwo"), paste("last\n")];
    assert_eq!(arrive(&[(0, "one\rtwo"), (60, "last\r")]), all);
    assert_eq!(arrive(&[(0, "one\rtwo"), (60, "\r")]), [paste("one\ntwo"), paste("\n")]);
    assert_eq!(arrive(&[(0, "one\rtwo"), (300, "\r")])[1..], keys("\r"));
}

#[test]
fn keys_of_a_person_stay_keys() {
    let typed: Vec<(u64, String)> = "ls\rpwd\r".chars().map(|key| (30, key.into())).collect();
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
fn a_long_line_at_once_is_a_paste() {
    let long = "x".repeat(LONG + 1);
    assert_eq!(arrive(&[(0, &long)]), [paste(&long)]);
}

#[test]
fn a_marked_paste_is_one_whatever_follows_in_its_chunk() {
    let mut arrivals = Arrivals::default();
    let now = Instant::now();
    let enter = Input::Key(Key::plain(KeyCode::Enter));
    for input in [Key::char('a').into(), paste("one\ntwo"), enter.clone()] {
        arrivals.push(input, now);
    }
    arrivals.settle(now + HOLD);
    let inputs: Vec<Input> = std::iter::from_fn(|| arrivals.next()).collect();
    assert_eq!(inputs, [Key::char('a').into(), paste("one\ntwo"), enter]);
}

#[test]
fn a_single_key_is_due_at_once() {
    let mut arrivals = Arrivals::default();
    let now = Instant::now();
    arrivals.push(Key::char('a').into(), now);
    assert_eq!(arrivals.due(), Some(now));
    arrivals.push(Key::plain(KeyCode::Up).into(), now);
    assert_eq!(arrivals.due(), None);
}

/// Keys that an answer is read as, with Alt at each `~`.
fn answer(text: &str) -> Vec<Key> {
    let mut alt = false;
    let mut keys = Vec::new();
    for letter in text.chars() {
        match letter {
            '~' => alt = true,
            '\u{7}' => keys.push(Key::ctrl('g')),
            letter => keys.push(Key { alt: std::mem::take(&mut alt), ..key(letter) }),
        }
    }
    keys
}

fn asked(text: &str) -> (Option<String>, Vec<Input>) {
    let mut arrivals = Arrivals::default();
    let now = Instant::now();
    arrivals.ask(now);
    answer(text).into_iter().for_each(|key| arrivals.push(key.into(), now));
    let answer = arrivals.answer();
    arrivals.settle(now + HOLD);
    (answer, std::iter::from_fn(|| arrivals.next()).collect())
}

#[test]
fn an_answer_never_arrives_as_keys() {
    let color = || Some("rgb:1e1e/1e1e/2e2e".to_owned());
    assert_eq!(asked("~]11;rgb:1e1e/1e1e/2e2e~\\"), (color(), vec![]));
    assert_eq!(asked("~]11;rgb:1e1e/1e1e/2e2e\u{7}"), (color(), vec![]));
    assert_eq!(asked("\u{1B}]11;rgb:1e1e/1e1e/2e2e\u{1B}\\"), (color(), vec![]));
    assert_eq!(asked("a~]11;rgb:1e1e/1e1e/2e2e~\\b"), (color(), keys("ab")));
}

#[test]
fn keys_that_are_no_answer_are_not_lost() {
    for text in ["\u{1B}", "~]", "~]1x", "\u{1B}]11;rgb:0", "~]11;hello", "~b\u{7}", "]11;\r"] {
        let keys = answer(text).into_iter().map(Input::Key).collect();
        assert_eq!(asked(text), (None, keys), "{text:?}");
    }
}
