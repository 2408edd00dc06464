#![doc = include_str!("../README.md")]

mod address;
mod bodies;
mod classify;
mod client;
mod decode;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
pub mod json;
mod listing;
pub mod lowering;
mod models;
mod pictures;
mod reported;
pub mod request;
mod retry_after;
mod secret;
mod sse;
mod stream;
mod template;

pub use address::{base, is_loopback, misconfigured};
pub use bodies::{Bodies, Encoded, Encoder, Written};
pub use classify::{again, classify, retry};
pub use client::{Answered, Client};
pub use decode::{Decoder, Dialect};
pub use error::{ERROR_BODY_BYTES, Fault, Origin};
pub use headers::{Headers, checked};
pub use models::Models;
pub use pictures::{Picture, Pictures};
pub use reported::Reported;
pub use retry_after::retry_after_ms;
pub use secret::Secret;
pub use sse::{SseCaps, SseError, SseEvent, SseParser};
pub use stream::Answer;
pub use template::Template;
