//! Lines for terminals without a live area, and for files.

use crate::screen::{ColorSupport, clean, encode};
use crate::text::{Line, Span};

/// Returns the lines with a line break after each. Nothing is broken or cut. Without colors there are no
/// escape sequences at all.
#[must_use]
pub fn plain<'a>(lines: impl IntoIterator<Item = &'a Line>, colors: ColorSupport) -> String {
    let mut out = Vec::new();
    for line in lines {
        let mut column = 0;
        for span in &line.spans {
            let mut text = String::new();
            column = clean(&span.text, column, &mut text);
            match colors {
                ColorSupport::None => out.extend_from_slice(text.as_bytes()),
                ColorSupport::Basic | ColorSupport::True => {
                    encode(&[Span { text, style: span.style }], colors, &mut out);
                }
            }
        }
        out.push(b'\n');
    }
    String::from_utf8(out).unwrap_or_default()
}
