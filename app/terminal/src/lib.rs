#![doc = include_str!("../README.md")]

mod diff;
mod highlight;
mod markdown;
mod plain;
mod screen;
mod text;
mod theme;

pub use diff::{diff, unified};
pub use highlight::Highlighter;
pub use markdown::{MarkdownStream, markdown};
pub use plain::plain;
pub use screen::{ColorSupport, Cursor, LiveArea, Screen, Size};
pub use text::{Color, Line, Span, Style, Wrap};
pub use theme::{Theme, background_answer, background_variable, colors};
