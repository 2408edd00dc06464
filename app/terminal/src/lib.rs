#![doc = include_str!("../README.md")]

mod plain;
mod screen;
mod text;

pub use plain::plain;
pub use screen::{ColorSupport, Cursor, LiveArea, Screen, Size};
pub use text::{Color, Line, Span, Style, Wrap};
