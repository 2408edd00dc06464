//! Named styles, chosen by the terminal's background, and the colors that a terminal shows.

use crate::screen::ColorSupport;
use crate::text::{Color, Style};

/// Styles by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Ordinary text.
    pub text: Style,
    /// Text of less weight: times, sizes, hints.
    pub dim: Style,
    /// Text that stands out: a selection, a prompt mark.
    pub accent: Style,
    /// Headings.
    pub heading: Style,
    /// Code within text, and code in no known language.
    pub code: Style,
    /// Texts and addresses of links.
    pub link: Style,
    /// Quoted text with its bar.
    pub quote: Style,
    /// Added lines of a diff.
    pub added: Style,
    /// Removed lines of a diff.
    pub removed: Style,
    /// Failures.
    pub error: Style,
    /// Warnings.
    pub warning: Style,
    /// Successes.
    pub success: Style,
    /// Names of tools.
    pub tool: Style,
    /// Text of the person.
    pub user: Style,
    /// Keywords of code.
    pub keyword: Style,
    /// Strings of code.
    pub string: Style,
    /// Comments of code.
    pub comment: Style,
    /// Numbers and other constants of code.
    pub number: Style,
    /// Names of functions in code.
    pub function: Style,
    /// Names of types in code.
    pub kind: Style,
}

const NONE: Style = Style {
    color: Color::Default,
    background: Color::Default,
    bold: false,
    dim: false,
    italic: false,
    underline: false,
    strike: false,
    reverse: false,
};
const BOLD: Style = Style { bold: true, ..NONE };
const DIM: Style = Style { dim: true, ..NONE };

const fn colored(color: Color) -> Style {
    Style { color, ..NONE }
}

impl Theme {
    /// Returns styles without colors, told apart by weight and slant.
    #[must_use]
    pub const fn plain() -> Self {
        Self {
            text: NONE,
            dim: DIM,
            accent: BOLD,
            heading: BOLD,
            code: NONE,
            link: Style { underline: true, ..NONE },
            quote: DIM,
            added: NONE,
            removed: NONE,
            error: BOLD,
            warning: BOLD,
            success: NONE,
            tool: BOLD,
            user: BOLD,
            keyword: NONE,
            string: NONE,
            comment: DIM,
            number: NONE,
            function: NONE,
            kind: NONE,
        }
    }

    /// Returns styles for a dark background, in the terminal's own palette.
    #[must_use]
    pub const fn dark() -> Self {
        Self {
            dim: colored(Color::Gray),
            accent: Style { bold: true, ..colored(Color::Cyan) },
            code: colored(Color::Cyan),
            link: Style { underline: true, ..colored(Color::Blue) },
            quote: colored(Color::Gray),
            added: colored(Color::Green),
            removed: colored(Color::Red),
            error: Style { bold: true, ..colored(Color::Red) },
            warning: colored(Color::Yellow),
            success: colored(Color::Green),
            tool: colored(Color::Magenta),
            keyword: colored(Color::Magenta),
            string: colored(Color::Green),
            comment: colored(Color::Gray),
            number: colored(Color::Yellow),
            function: colored(Color::Blue),
            kind: colored(Color::Cyan),
            ..Self::plain()
        }
    }

    /// Returns styles for a light background, where the palette's yellow and cyan are too pale.
    #[must_use]
    pub const fn light() -> Self {
        Self {
            accent: Style { bold: true, ..colored(Color::Blue) },
            code: colored(Color::Rgb(0, 95, 135)),
            warning: colored(Color::Rgb(150, 90, 0)),
            number: colored(Color::Rgb(150, 90, 0)),
            kind: colored(Color::Rgb(0, 95, 135)),
            ..Self::dark()
        }
    }

    /// Returns styles for a background by its red, green and blue parts, dark ones if it is not known.
    #[must_use]
    pub fn for_background(background: Option<(u8, u8, u8)>) -> Self {
        // Weights of the parts in what an eye sees, in thousandths.
        let light = background.is_some_and(|(r, g, b)| {
            299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b) > 128_000
        });
        if light { Self::light() } else { Self::dark() }
    }
}

/// Parses a terminal's answer to `OSC 11 ; ?`, such as `ESC ] 11 ; rgb:1e1e/1e1e/2e2e ESC \`.
#[must_use]
pub fn background_answer(answer: &str) -> Option<(u8, u8, u8)> {
    let (_, parts) = answer.split_once("rgb:").or_else(|| answer.split_once("rgba:"))?;
    let end = parts.find(|c: char| c != '/' && !c.is_ascii_hexdigit()).unwrap_or(parts.len());
    let mut parts = parts.get(..end)?.split('/').map(part);
    Some((parts.next()??, parts.next()??, parts.next()??))
}

/// Parses the variable `COLORFGBG`, such as `15;0`, whose last number is a background of the palette.
#[must_use]
pub fn background_variable(value: &str) -> Option<(u8, u8, u8)> {
    match value.rsplit(';').next()?.parse::<u8>().ok()? {
        0..=6 | 8 => Some((0, 0, 0)),
        7 | 9..=15 => Some((255, 255, 255)),
        _ => None,
    }
}

/// Returns the colors to use, by the variables `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR`, `TERM` and `COLORTERM`.
#[must_use]
pub fn colors(env: impl Fn(&str) -> Option<String>, is_terminal: bool) -> ColorSupport {
    let set = |name| env(name).filter(|value| !value.is_empty());
    let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let term = set("TERM").unwrap_or_default();
    let capable = is_terminal && !matches!(term.as_str(), "" | "dumb");
    let refused = set("CLICOLOR").is_some_and(|value| value == "0");
    if set("NO_COLOR").is_some() || !forced && (!capable || refused) {
        return ColorSupport::None;
    }
    let all = matches!(set("COLORTERM").as_deref(), Some("truecolor" | "24bit"));
    if all || term.ends_with("-direct") { ColorSupport::True } else { ColorSupport::Basic }
}

/// Scales a part of one to four hexadecimal digits to a byte.
fn part(digits: &str) -> Option<u8> {
    let most = 16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1)?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    u8::try_from((value.checked_mul(255)? + most / 2).checked_div(most)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_about_the_background_are_parsed() {
        for (answer, background) in [
            ("\x1b]11;rgb:ffff/8080/0000\x1b\\", Some((255, 128, 0))),
            ("\x1b]11;rgb:ff/80/00\x07", Some((255, 128, 0))),
            ("\x1b]11;rgba:0000/0000/ffff/8000\x07", Some((0, 0, 255))),
            ("rgb:f/0/0", Some((255, 0, 0))),
            ("rgb:ffff/8080", None),
            ("rgb://", None),
            ("rgb:fffffffff/0/0", None),
            ("\x1b]11;#ffffff\x07", None),
        ] {
            assert_eq!(background_answer(answer), background, "{answer:?}");
        }
        assert_eq!(background_variable("15;0"), Some((0, 0, 0)));
        assert_eq!(background_variable("0;default;15"), Some((255, 255, 255)));
        assert_eq!(background_variable("0;default"), None);
    }

    #[test]
    fn a_light_background_gets_the_light_theme() {
        assert_eq!(Theme::for_background(Some((250, 250, 240))), Theme::light());
        assert_eq!(Theme::for_background(Some((0, 43, 54))), Theme::dark());
        assert_eq!(Theme::for_background(None), Theme::dark());
    }

    #[test]
    fn colors_are_used_where_people_want_them() {
        let of = |variables: &[(&str, &str)], terminal| {
            let get = |name: &str| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            colors(get, terminal)
        };
        let term = ("TERM", "xterm-256color");
        assert_eq!(of(&[term], true), ColorSupport::Basic);
        assert_eq!(of(&[term, ("COLORTERM", "truecolor")], true), ColorSupport::True);
        assert_eq!(of(&[term], false), ColorSupport::None);
        assert_eq!(of(&[term, ("CLICOLOR_FORCE", "1")], false), ColorSupport::Basic);
        assert_eq!(of(&[term, ("CLICOLOR_FORCE", "0")], false), ColorSupport::None);
        assert_eq!(of(&[term, ("CLICOLOR", "0")], true), ColorSupport::None);
        assert_eq!(of(&[term, ("NO_COLOR", "")], true), ColorSupport::Basic);
        assert_eq!(
            of(&[term, ("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true),
            ColorSupport::None
        );
        assert_eq!(of(&[("TERM", "dumb")], true), ColorSupport::None);
        assert_eq!(of(&[], true), ColorSupport::None);
    }
}
