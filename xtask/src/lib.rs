//! What more than one program of this crate uses: speaking, the bench, and the kit.

#[cfg(feature = "bench")]
pub mod bench;
#[cfg(feature = "kit")]
pub mod kit;
pub mod say;
