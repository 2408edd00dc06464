//! Ports and folders for servers of tests. A port stays reserved for a server that ends and comes back.

use std::env;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// The ports that are taken here: below those that systems hand out to whoever asks for any.
const PORTS: Range<u16> = 10_000..30_000;

/// How far apart two processes that follow one another begin to look.
const APART: u32 = 37;

/// Variable that names the folder below which servers of tests keep their data.
pub(crate) const DATA: &str = "WINDLASS_TEST_DATA";

/// Returns the folder below which servers keep their data: the one that [`DATA`] names, or else the
/// system's folder for temporary files.
#[must_use]
pub(crate) fn data_folder() -> PathBuf {
    env::var_os(DATA).map_or_else(env::temp_dir, PathBuf::from)
}

/// A port on 127.0.0.1 that is its holder's until this is dropped.
///
/// A port that a system has handed out may be handed out again between two uses of it, to another
/// server or as the near end of a connection. These are not: they lie where no system hands out any, and
/// whoever takes one holds the UDP port of the same number, by which others see that it is taken.
/// Nothing listens there by itself, so whoever connects before a server does is refused.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _held: UdpSocket,
}

impl Port {
    /// Takes one.
    ///
    /// # Errors
    /// When all of them are taken.
    pub fn take() -> io::Result<Self> {
        static TAKEN: AtomicU32 = AtomicU32::new(0);
        let count = u32::from(PORTS.end - PORTS.start);
        let begin = std::process::id().wrapping_mul(APART);
        for _ in 0..count {
            let next = begin.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % count;
            let number = PORTS.start + u16::try_from(next).unwrap_or_default();
            let Ok(held) = UdpSocket::bind(("127.0.0.1", number)) else {
                continue;
            };
            // Somebody may listen there who does not ask first.
            if TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Ok(Self { number, _held: held });
            }
        }
        Err(io::Error::other(format!(
            "no port of {} to {} on 127.0.0.1 is free for a test",
            PORTS.start,
            PORTS.end - 1
        )))
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_port_is_taken_twice_while_it_is_held_also_when_its_server_ended() {
        let held = Port::take().unwrap();
        let listens = TcpListener::bind(("127.0.0.1", held.number())).unwrap();
        drop(listens);
        // Each that there is, once around: other tests hold some of them too.
        let mut seen = BTreeSet::new();
        for _ in PORTS {
            let port = Port::take().unwrap();
            assert!(PORTS.contains(&port.number()));
            seen.insert(port.number());
        }
        assert!(!seen.contains(&held.number()));
        let again = TcpListener::bind(("127.0.0.1", held.number()));
        assert!(again.is_ok(), "its server comes back on it");
    }

    #[test]
    fn a_port_where_somebody_listens_is_left() {
        let port = Port::take().unwrap();
        let found = port.number();
        let listens = TcpListener::bind(("127.0.0.1", found)).unwrap();
        drop(port);
        for _ in PORTS {
            assert_ne!(Port::take().unwrap().number(), found);
        }
        drop(listens);
    }
}
