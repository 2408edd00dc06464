//! What more than one program of this crate uses: speaking, and the bench.

#[cfg(feature = "bench")]
pub mod bench;
pub mod say;
