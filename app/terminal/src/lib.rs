#![doc = include_str!("../README.md")]

mod burst;
mod cells;
mod composer;
mod device;
mod field;
mod files;
mod history;
mod keys;
mod menu;
mod text;

pub use composer::{
    Action, CommandHint, Composer, ComposerOptions, ComposerStyle, ComposerView, Draft,
};
pub use device::Device;
pub use field::{Field, FieldAction};
pub use files::{FileSource, Files};
pub use history::History;
pub use keys::{Input, Key, KeyCode};
pub use menu::{Menu, MenuAction};
pub use text::{Color, Line, Span, Style, Wrap};
