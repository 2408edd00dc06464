#![doc = include_str!("../README.md")]

mod burst;
mod cells;
mod composer;
mod decode;
mod device;
mod diff;
mod files;
mod highlight;
mod history;
mod keys;
mod markdown;
mod menu;
mod plain;
mod screen;
mod text;
mod theme;

pub use composer::{
    Action, CommandHint, Composer, ComposerOptions, ComposerStyle, ComposerView, Draft,
};
pub use device::Device;
pub use diff::{diff, unified};
pub use files::{FileSource, Files};
pub use highlight::prepare_highlighting;
pub use history::History;
pub use keys::{Input, Key, KeyCode, UnknownKey};
pub use markdown::MarkdownStream;
pub use menu::{Menu, MenuAction};
pub use plain::plain;
pub use screen::{ColorSupport, Cursor, LiveArea, Screen, Size};
pub use text::{Color, Line, Span, Style, Wrap};
pub use theme::{Theme, background_answer, background_variable, colors};
