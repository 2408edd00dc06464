//! Bytes of frames in a terminal: what is in the scrollback, on the screen, and where the cursor is.

mod hostile;
mod terminal;
mod tmux;
mod worlds;

use std::time::{Duration, Instant};

use expect_test::expect;

use super::{ColorSupport, Cursor, LiveArea, Screen, Size};
use crate::text::{Color, Line, Style};
pub(crate) use terminal::Terminal;

/// A screen with its terminal and a clock.
pub(crate) struct Scene {
    pub(crate) screen: Screen,
    pub(crate) terminal: Terminal,
    pub(crate) now: Instant,
}

impl Scene {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let size = Size { columns, rows };
        let screen = Screen::new(size, ColorSupport::Basic);
        Self { screen, terminal: Terminal::new(size), now: Instant::now() }
    }

    /// Writes a frame that is due, and returns its bytes.
    pub(crate) fn frame(&mut self) -> Vec<u8> {
        self.now += Duration::from_millis(40);
        let bytes = self.screen.frame(self.now).unwrap_or_default();
        self.terminal.write(&bytes);
        bytes
    }

    /// Writes frames until nothing is due.
    pub(crate) fn settle(&mut self) {
        while self.screen.due().is_some() {
            self.frame();
        }
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let size = Size { columns, rows };
        self.terminal.resize(size);
        self.screen.resize(size);
    }

    fn live(&mut self, lines: &[&str], cursor: Option<(usize, usize)>) {
        self.screen.set_live(area(lines, cursor));
    }
}

pub(crate) fn area(lines: &[&str], cursor: Option<(usize, usize)>) -> LiveArea {
    LiveArea {
        lines: lines.iter().map(|line| Line::plain(*line)).collect(),
        cursor: cursor.map(|(row, column)| Cursor { row, column }),
    }
}

#[test]
fn finished_lines_stand_above_the_live_area_and_scroll_away() {
    let mut scene = Scene::new(20, 5);
    scene.live(&["working", "> ask"], Some((1, 5)));
    scene.frame();
    for line in ["one", "two", "three", "a line of several words that is broken"] {
        scene.screen.commit([Line::plain(line).wrapped(2)]);
        scene.frame();
    }
    expect![[r#"
        ^one
        ^two
        ^three
        |a line of several
        |  words that is
        |  broken
        |working
        |> ask
        cursor shown at 4,5
    "#]]
    .assert_eq(&scene.terminal.picture());
}

/// Streams an answer, word by word, with its unfinished block in the live area.
fn answer(columns: u16) -> String {
    let text = "## Plan\n- **read** `a.rs`, then 漢字\n- *write* it\n\n```\nfn main() {}\n```\n\
                | file | lines |\n|---|--:|\n| a.rs | 12 |\n\nDone, and the tests pass again.";
    let mut scene = Scene::new(columns, 12);
    let mut stream = crate::MarkdownStream::new(&crate::Theme::dark(), columns);
    for word in text.split_inclusive(' ') {
        scene.screen.commit(stream.push(word));
        let mut lines = stream.preview(3);
        lines.push(Line::plain("working 3 s"));
        scene.screen.set_live(LiveArea { lines, cursor: None });
        scene.frame();
    }
    scene.screen.commit(stream.finish());
    scene.live(&["> "], Some((0, 2)));
    scene.frame();
    scene.terminal.picture()
}

#[test]
fn an_answer_streams_at_all_widths() {
    expect![[r#"
        ^Plan
        ^
        ^• read a.rs, then
        ^  漢字
        ^• write it
        |
        |fn main() {}
        |
        |┌──────┬───────┐
        |│ file │ lines │
        |├──────┼───────┤
        |│ a.rs │    12 │
        |└──────┴───────┘
        |
        |Done, and the tests
        |pass again.
        |>
        cursor shown at 11,2
    "#]]
    .assert_eq(&answer(20));
    expect![[r#"
        ^Plan
        ^
        ^• read a.rs, then 漢字
        |• write it
        |
        |fn main() {}
        |
        |┌──────┬───────┐
        |│ file │ lines │
        |├──────┼───────┤
        |│ a.rs │    12 │
        |└──────┴───────┘
        |
        |Done, and the tests pass again.
        |>
        cursor shown at 11,2
    "#]]
    .assert_eq(&answer(40));
    assert_eq!(answer(80), answer(200));
    expect![[r#"
        ^Plan
        ^
        ^• read a.rs, then 漢字
        |• write it
        |
        |fn main() {}
        |
        |┌──────┬───────┐
        |│ file │ lines │
        |├──────┼───────┤
        |│ a.rs │    12 │
        |└──────┴───────┘
        |
        |Done, and the tests pass again.
        |>
        cursor shown at 11,2
    "#]]
    .assert_eq(&answer(200));
}

#[test]
fn a_live_area_that_is_too_tall_shows_the_rows_of_its_cursor() {
    let mut scene = Scene::new(20, 4);
    scene.live(&["0", "1", "2", "3", "4", "5"], Some((1, 1)));
    scene.frame();
    let middle = scene.terminal.screen();
    scene.live(&["0", "1", "2", "3", "4", "5"], None);
    scene.frame();
    assert_eq!(middle, ["1", "2", "3", ""]);
    assert_eq!(scene.terminal.screen(), ["3", "4", "5", ""]);
    assert_eq!(scene.terminal.scrollback(), [""; 0]);
}

#[test]
fn a_live_area_shrinks_and_grows_in_place() {
    let mut scene = Scene::new(20, 6);
    scene.screen.commit([Line::plain("done")]);
    for lines in [&["a", "b", "c"][..], &["a"], &[], &["d", "b", "c", "e"], &["d", "x", "c", "e"]] {
        scene.live(lines, None);
        scene.frame();
    }
    assert_eq!(scene.terminal.screen(), ["done", "d", "x", "c", "e", ""]);
}

#[test]
fn only_rows_from_the_first_that_differs_are_written() {
    let mut scene = Scene::new(40, 10);
    scene.live(&["status", "first", "second"], Some((2, 0)));
    scene.frame();
    scene.live(&["status", "fIrst", "second"], Some((2, 0)));
    let bytes = String::from_utf8(scene.frame()).unwrap();
    assert!(bytes.contains("fIrst\r\nsecond") && !bytes.contains("status"), "{bytes:?}");
    scene.live(&["status", "fIrst", "second"], Some((2, 3)));
    expect![[r#""\u{1b}[?2026h\r\u{1b}[3C\u{1b}[?2026l""#]]
        .assert_eq(&format!("{:?}", String::from_utf8(scene.frame()).unwrap()));
}

#[test]
fn rows_without_a_cursor_are_not_broken_by_a_terminal_that_has_become_narrower() {
    let mut scene = Scene::new(40, 10);
    scene.live(&["status"], None);
    expect![[r#""\u{1b}[?2026h\u{1b}[?25l\u{1b}[?7lstatus\u{1b}[?7h\r\u{1b}[?2026l""#]]
        .assert_eq(&format!("{:?}", String::from_utf8(scene.frame()).unwrap()));
}

#[test]
fn frames_are_thirty_a_second_and_only_on_change() {
    let mut scene = Scene::new(40, 10);
    let start = Instant::now();
    let mut frames = 0;
    for tick in 0..1_000 {
        scene.live(&[&format!("tick {tick}")], None);
        frames += usize::from(scene.screen.frame(start + Duration::from_millis(tick)).is_some());
    }
    assert_eq!(frames, 30);
    let due = scene.screen.due().unwrap();
    assert!(scene.screen.frame(due - Duration::from_nanos(1)).is_none());
    scene.screen.hurry();
    assert!(scene.screen.frame(due - Duration::from_nanos(1)).is_some());
    // Nothing changed since, so nothing is due, also after the same area once more.
    scene.live(&["tick 999"], None);
    scene.screen.resize(Size { columns: 40, rows: 10 });
    scene.screen.commit([]);
    assert_eq!(scene.screen.due(), None);
    assert!(scene.screen.frame(due + Duration::from_secs(9)).is_none());
}

#[test]
fn frames_wait_until_a_resize_has_settled() {
    for (tmux, wait) in [(false, 100), (true, 300)] {
        let mut scene = Scene::new(40, 10);
        scene.screen =
            Screen::new(Size { columns: 40, rows: 10 }, ColorSupport::None).within_tmux(tmux);
        scene.live(&["a"], None);
        scene.frame();
        for columns in [50, 60] {
            scene.resize(columns, 10);
            scene.screen.hurry();
            assert!(scene.frame().is_empty());
        }
        let due = scene.now + Duration::from_millis(wait);
        assert_eq!(scene.screen.due(), Some(due));
        assert!(scene.screen.frame(due - Duration::from_nanos(1)).is_none());
        assert!(scene.screen.frame(due).is_some());
    }
}

#[test]
fn ten_megabytes_go_out_in_bounded_frames_and_whole() {
    let long = "0123456789".repeat(800_000);
    let mut scene = Scene::new(80, 24);
    scene.live(&["> "], Some((0, 2)));
    let short = "a row of words that is as long as many rows are \u{7}";
    let count = 10 * 1024 * 1024 / short.len() - long.len() / short.len();
    scene.screen.commit([Line::plain(long.clone())]);
    scene.screen.commit((0..count).map(|n| match n % 2 {
        0 => Line::plain(short),
        _ => Line::plain(short).wrapped(4),
    }));
    let (mut written, mut frames) = (Vec::new(), 0);
    while scene.screen.due().is_some() {
        scene.now += Duration::from_millis(40);
        let bytes = scene.screen.frame(scene.now).unwrap();
        assert!(bytes.len() <= 256 * 1024, "{}", bytes.len());
        written.extend_from_slice(&bytes);
        frames += 1;
    }
    let text = String::from_utf8(written).unwrap();
    assert!((45..60).contains(&frames), "{frames}");
    assert_eq!(text.matches("as long as many rows are \u{2407}\r\n").count(), count);
    let digits: String =
        text.split("a row").next().unwrap().split("\x1b[?2026l\x1b[?2026h").collect();
    assert!(digits.contains(&(long + "\r\n")), "a long line has no breaks within");
}

#[test]
fn an_editor_gets_a_clean_row_and_all_finished_lines() {
    let mut scene = Scene::new(20, 8);
    scene.live(&["status", "> typed"], None);
    scene.frame();
    scene.screen.commit([Line::plain("finished")]);
    let bytes = scene.screen.suspend();
    scene.terminal.write(&bytes);
    expect![[r#"
        |finished
        cursor shown at 1,0
    "#]]
    .assert_eq(&scene.terminal.picture());
    scene.screen.commit([Line::plain("later")]);
    assert_eq!((scene.screen.due(), scene.frame()), (None, Vec::new()));
    scene.terminal.write(b"editor\r\n");
    scene.screen.resume();
    scene.frame();
    assert_eq!(scene.terminal.screen()[..5], ["finished", "editor", "later", "status", "> typed"]);
}

#[test]
fn colors_follow_the_terminal() {
    let style = Style { bold: true, color: Color::Rgb(200, 40, 40), ..Style::default() };
    let line = Line::styled("red", style).with(" plain", Style::default());
    let row = |colors| {
        let mut screen = Screen::new(Size { columns: 40, rows: 5 }, colors);
        screen.commit([line.clone()]);
        let mut terminal = Terminal::new(Size { columns: 40, rows: 5 });
        terminal.write(&screen.frame(Instant::now()).unwrap());
        terminal.styles(0)
    };
    expect![[r#"\u{1b}[1mred\u{1b}[m plain"#]].assert_eq(&row(ColorSupport::None));
    expect![[r#"\u{1b}[31;1mred\u{1b}[m plain"#]].assert_eq(&row(ColorSupport::Basic));
    expect![[r#"\u{1b}[38;2;200;40;40;1mred\u{1b}[m plain"#]].assert_eq(&row(ColorSupport::True));
}

#[test]
fn a_terminal_that_truncates_keeps_its_finished_lines() {
    let mut scene = Scene::new(80, 10);
    scene.screen =
        Screen::new(Size { columns: 80, rows: 10 }, ColorSupport::None).with_truncation(true);
    scene.screen.commit((0..5).map(|n| Line::plain(format!("line {n}"))));
    scene.live(&["live ".repeat(15).trim(), "> "], Some((1, 2)));
    scene.frame();
    let size = Size { columns: 40, rows: 10 };
    scene.terminal.cut(size);
    scene.screen.resize(size);
    scene.settle();
    let screen = scene.terminal.screen();
    assert_eq!(screen[..5], ["line 0", "line 1", "line 2", "line 3", "line 4"]);
    assert_eq!(screen[5..8], ["live ".repeat(8).trim(), "> ", ""]);
}
