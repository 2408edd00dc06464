//! Bytes of styled text.

use std::io::Write as _;

use crate::screen::ColorSupport;
use crate::text::{Color, Span, Style};

/// Colors of the basic palette with a usual shade of each.
const PALETTE: [(Color, (u8, u8, u8)); 7] = [
    (Color::Red, (205, 49, 49)),
    (Color::Green, (13, 160, 90)),
    (Color::Yellow, (200, 180, 30)),
    (Color::Blue, (50, 100, 210)),
    (Color::Magenta, (188, 63, 188)),
    (Color::Cyan, (17, 168, 205)),
    (Color::Gray, (118, 118, 118)),
];

/// Appends the spans, whose text has no control character, and ends with the default style.
pub(crate) fn encode(spans: &[Span], colors: ColorSupport, out: &mut Vec<u8>) {
    for span in spans {
        let styled = select(span.style, colors, out);
        out.extend_from_slice(span.text.as_bytes());
        if styled {
            out.extend_from_slice(b"\x1b[0m");
        }
    }
}

/// Appends the sequence that selects a style. Returns false for the default style, which needs none.
fn select(style: Style, colors: ColorSupport, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let attributes = [
        (style.bold, "1"),
        (style.dim, "2"),
        (style.italic, "3"),
        (style.underline, "4"),
        (style.reverse, "7"),
        (style.strike, "9"),
    ];
    let mut codes: Vec<String> =
        attributes.iter().filter(|(on, _)| *on).map(|(_, code)| (*code).to_owned()).collect();
    codes.extend(color(style.color, colors, 30));
    codes.extend(color(style.background, colors, 40));
    if !codes.is_empty() {
        // Writing to a vector does not fail.
        let _ = write!(out, "\x1b[{}m", codes.join(";"));
    }
    out.len() > start
}

/// Returns the code of a color, from `base` for the foreground (30) or background (40).
fn color(color: Color, colors: ColorSupport, base: u8) -> Option<String> {
    let color = match (colors, color) {
        (ColorSupport::None, _) => return None,
        (ColorSupport::True, Color::Rgb(r, g, b)) => {
            return Some(format!("{};2;{r};{g};{b}", base + 8));
        }
        (ColorSupport::Basic, Color::Rgb(r, g, b)) => nearest((r, g, b)),
        (ColorSupport::Basic | ColorSupport::True, named) => named,
    };
    let offset = match color {
        Color::Default | Color::Rgb(..) => return None,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        // Bright black.
        Color::Gray => 60,
    };
    Some((base + offset).to_string())
}

/// Returns the color of the basic palette that is nearest. Very dark and very light ones have none there,
/// since the palette's black and white may be the terminal's background.
fn nearest((r, g, b): (u8, u8, u8)) -> Color {
    let far = |(x, y, z): (u8, u8, u8)| {
        let part = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        part(r, x) + part(g, y) + part(b, z)
    };
    let ends = [(Color::Default, (0, 0, 0)), (Color::Default, (255, 255, 255))];
    let all = PALETTE.into_iter().chain(ends);
    all.min_by_key(|(_, shade)| far(*shade)).map_or(Color::Default, |(color, _)| color)
}
