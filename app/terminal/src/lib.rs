#![doc = include_str!("../README.md")]

mod text;

pub use text::{Color, Line, Span, Style, Wrap};
