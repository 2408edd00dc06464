//! Shared: reads values that are shared from the start, each with one allocation. The implementations
//! of serde read a value into a box or a string first.

use alloc::sync::Arc;
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Reads a shared value.
pub(crate) fn value<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Arc<T>, D::Error> {
    T::deserialize(from).map(Arc::new)
}

/// Reads a shared text.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
    struct Text;

    impl Visitor<'_> for Text {
        type Value = Arc<str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Arc<str>, E> {
            Ok(text.into())
        }
    }

    from.deserialize_str(Text)
}
