//! The first format: a file a session. Its logs are read where they are, and go over into segments
//! when their session is claimed. Nothing writes it any more but tests.

pub(crate) mod codec;
mod judge;
pub(crate) mod marks;
pub(crate) mod reader;
pub(crate) mod scan;
pub(crate) mod takeover;
mod window;
