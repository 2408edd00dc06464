#![doc = include_str!("../README.md")]

mod address;
mod bodies;
mod classify;
mod client;
mod decode;
mod error;
mod failure_words;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod heartbeat;
mod images;
pub mod json;
mod listing;
pub mod lowering;
mod models;
mod reported_error;
pub mod request;
mod retry_after;
mod secret;
mod sse;
mod stream;
pub mod strict;
mod template;

pub use address::{base, is_loopback, misconfigured, with_path};
pub use bodies::{Bodies, EncodedItems, Encoder, RequestBody};
pub use classify::{again, classify, retry};
pub use client::{Client, OpenResponse};
pub use decode::{Decoder, Dialect};
pub use error::{DecodeError, ERROR_BODY_BYTES, ErrorContext};
pub use headers::{Headers, checked};
pub use heartbeat::accept_heartbeat;
pub use images::{EncodedImage, EncodedImages};
pub use models::Models;
pub use reported_error::ReportedError;
pub use retry_after::retry_after_ms;
pub use secret::Secret;
pub use sse::{SseCaps, SseError, SseEvent, SseParser};
pub use stream::ResponseStream;
pub use template::DeltaTemplate;
