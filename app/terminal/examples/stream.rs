//! Streams numbered lines above a live area: `cargo run --example stream -- 500 20 cursor` has 500 lines, one in
//! 20 ms, and shows a cursor. Resize the terminal meanwhile.

use std::io::Write as _;
use std::time::{Duration, Instant};

use windlass_terminal::{Cursor, Line, LiveArea, Screen, Size, Style, Theme, colors};

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default| {
        arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, pause) = (number(0, 100), Duration::from_millis(number(1, 50)));
    let cursor = arguments.iter().any(|argument| argument == "cursor");
    let mut out = std::io::stdout();
    let variable = |name: &str| std::env::var(name).ok();
    let mut screen =
        Screen::new(size(&out)?, colors(variable, true)).within_tmux(variable("TMUX").is_some());
    let mut next = Instant::now();
    for n in 0..=count {
        // The live area alone comes first, in the terminal's first row.
        screen.commit((n > 0).then(|| line(n)));
        screen.set_live(live(n, cursor));
        next += if n == 0 { Duration::from_millis(50) } else { pause };
        while Instant::now() < next {
            screen.resize(size(&out)?);
            if let Some(bytes) = screen.frame(Instant::now()) {
                out.write_all(&bytes)?;
                out.flush()?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    screen.resize(size(&out)?);
    out.write_all(&screen.suspend())?;
    out.write_all(b"END\r\n")
}

/// Numbered line of up to 70 words, every second of which is broken between words.
fn line(n: u64) -> Line {
    let words = usize::try_from(n * 7 % 71).unwrap_or(0);
    let line = Line::plain(format!("[{n}]{}", " word".repeat(words)));
    if n.is_multiple_of(2) { line.wrapped(4) } else { line }
}

/// Rows that are as wide as the terminal, and a prompt.
fn live(n: u64, cursor: bool) -> LiveArea {
    let theme = Theme::dark();
    let wide = |sign: &str| Line::styled(sign.repeat(300), theme.dim);
    let prompt =
        Line::plain("> ").with("#".repeat(usize::try_from(n % 60).unwrap_or(0)), Style::default());
    let cursor = cursor.then(|| Cursor { row: 2, column: prompt.width() });
    LiveArea { lines: vec![wide("="), wide("#"), prompt], cursor }
}

fn size(out: &std::io::Stdout) -> std::io::Result<Size> {
    let size = rustix::termios::tcgetwinsize(out)?;
    Ok(Size { columns: size.ws_col, rows: size.ws_row })
}
