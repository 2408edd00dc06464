//! Screens as `tmux capture-pane -e` prints them: rows of text in styles.

use anyhow::{Context as _, bail};

/// Screen of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Screen {
    pub(super) rows: Vec<Row>,
    /// Column and row of the cursor, unless it is hidden.
    pub(super) cursor: Option<(usize, usize)>,
}

/// Runs of text, each in one style.
pub(super) type Row = Vec<(Style, String)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Style {
    pub(super) color: Color,
    pub(super) background: Color,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underline: bool,
    pub(super) strike: bool,
    pub(super) reverse: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Color {
    #[default]
    Default,
    /// Color of the palette of 16.
    Palette(u8),
    Rgb(u8, u8, u8),
}

impl Screen {
    /// Reads the place of the cursor (`1 COLUMN ROW`) and rows. Times become fixed ones.
    ///
    /// # Errors
    /// When the cursor or a sequence is unknown.
    pub(super) fn parse(cursor: &str, rows: &str) -> anyhow::Result<Self> {
        let mut numbers = cursor.split(' ').map(str::parse::<usize>);
        let mut number = || anyhow::Ok(numbers.next().context("a number of the cursor")??);
        let (flag, column, row) = (number()?, number()?, number()?);
        let cursor = (flag == 1).then_some((column, row));
        // A style lasts beyond the end of its row.
        let mut style = Style::default();
        let rows: anyhow::Result<_> =
            rows.lines().map(|line| parse_row(line, &mut style)).collect();
        Ok(Self { rows: rows?, cursor })
    }

    pub(super) fn text(&self) -> String {
        let rows = self.rows.iter().map(|row| row.iter().map(|(_, text)| text.as_str()).collect());
        rows.collect::<Vec<String>>().join("\n")
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.text().contains(text)
    }

    /// Returns true unless something runs that does not wait for the person.
    pub(super) fn waits(&self) -> bool {
        let runs = self.has("Esc interrupts") || self.has("· Sending");
        !runs || self.has("Waiting for your answer")
    }

    /// Replaces a text in all rows.
    pub(super) fn replace(&mut self, text: &str, by: &str) {
        for (_, run) in self.rows.iter_mut().flatten() {
            *run = run.replace(text, by);
        }
    }
}

fn parse_row(line: &str, style: &mut Style) -> anyhow::Result<Row> {
    let mut row = Row::new();
    for (at, part) in line.split('\x1b').enumerate() {
        let text = match at {
            0 => part,
            _ => {
                let rest = part.strip_prefix('[').context("a sequence that is no style")?;
                let (codes, text) = rest.split_once('m').context("a style without an end")?;
                apply(codes, style).with_context(|| format!("the style {codes:?}"))?;
                text
            }
        };
        if !text.is_empty() {
            row.push((*style, with_fixed_times(text)));
        }
    }
    Ok(row)
}

/// Applies the codes of one sequence.
fn apply(codes: &str, style: &mut Style) -> anyhow::Result<()> {
    let mut codes = codes.split(';').map(|code| code.parse::<u8>());
    while let Some(code) = codes.next() {
        let code = code?;
        match code {
            0 => *style = Style::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            3 => style.italic = true,
            4 => style.underline = true,
            7 => style.reverse = true,
            9 => style.strike = true,
            30..=37 => style.color = Color::Palette(code - 30),
            39 => style.color = Color::Default,
            40..=47 => style.background = Color::Palette(code - 40),
            49 => style.background = Color::Default,
            90..=97 => style.color = Color::Palette(code - 82),
            100..=107 => style.background = Color::Palette(code - 92),
            38 | 48 => {
                let mut next = || anyhow::Ok(codes.next().context("a color without parts")??);
                anyhow::ensure!(next()? == 2, "a color of the palette of 256");
                let color = Color::Rgb(next()?, next()?, next()?);
                match code {
                    38 => style.color = color,
                    _ => style.background = color,
                }
            }
            _ => bail!("unknown code {code}"),
        }
    }
    Ok(())
}

/// Replaces durations and the frames of a spinner, which differ from run to run.
fn with_fixed_times(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let unit = ["ms", "s"].contains(&word);
        match words.last_mut() {
            Some(last) if unit && last.parse::<f64>().is_ok() => {
                "0.1".clone_into(last);
                words.push("s".to_owned());
            }
            Some(_) | None => words.push(word.to_owned()),
        }
    }
    words.join(" ").replace(|letter| ('\u{2800}'..='\u{28ff}').contains(&letter), "⠋")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_styles_that_last_and_fixed_times() {
        let rows = "\x1b[1m› \x1b[0m\x1b[36mread\x1b[90m  62 B · 131 ms\n· ⠸\x1b[38;2;1;2;3mx";
        let screen = Screen::parse("1 7 0", rows).unwrap();
        assert_eq!(screen.text(), "› read  62 B · 0.1 s\n· ⠋x");
        assert_eq!(screen.cursor, Some((7, 0)));
        let gray = Style { color: Color::Palette(8), ..Style::default() };
        assert_eq!(screen.rows[1][0], (gray, "· ⠋".to_owned()));
        assert_eq!(screen.rows[1][1].0.color, Color::Rgb(1, 2, 3));
        assert!(screen.rows[0][0].0.bold);
        assert_eq!(Screen::parse("0 7 0", "").unwrap().cursor, None);
        assert!(Screen::parse("0 0 0", "\x1b[38;5;9mx").is_err());
        assert!(Screen::parse("0 0 0", "\x1b]8;;x").is_err());
    }
}
