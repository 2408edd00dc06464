//! The chain over a log, held against what its records say. Pure.

use windlass_core::SessionId;
use windlass_ports::Link;

use crate::record::{Format, Header, OLD_GENESIS};

/// The links at a position: the chain of all stores, and that of the first version of this one,
/// each where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    common: Option<Link>,
    old: Option<Link>,
}

impl Chain {
    /// Before the first fact of a session.
    pub(crate) fn begin(session: &SessionId) -> Self {
        Self {
            common: Some(Link::genesis(session)),
            old: Some(OLD_GENESIS),
        }
    }

    /// After a record of which nothing before was read.
    pub(crate) fn at(header: &Header) -> Self {
        let link = Some(header.link);
        match header.format {
            Format::Old => Self {
                common: None,
                old: link,
            },
            Format::Now => Self {
                common: link,
                old: None,
            },
        }
    }

    /// The link of the chain of all stores, where it is known: always for a log that was read from
    /// its beginning.
    pub(crate) fn common(&self) -> Option<Link> {
        self.common
    }

    /// After a record that follows, if it continues the chain.
    pub(crate) fn then(&self, header: &Header, text: &[u8]) -> Option<Self> {
        match header.format {
            Format::Old => {
                let old = self.old?.then(text);
                let common = self.common.map(|link| link.then(text));
                let old = (old == header.link).then_some(old)?;
                Some(Self {
                    common,
                    old: Some(old),
                })
            }
            Format::Now => {
                // A log that the first version wrote is gone on with in the common chain; who reads
                // from its middle does not know the link before, and takes this one.
                if self.common.is_none() && self.old.is_none() {
                    return None;
                }
                let link = self.common.map_or(header.link, |link| link.then(text));
                let link = (link == header.link).then_some(link)?;
                Some(Self {
                    common: Some(link),
                    old: None,
                })
            }
        }
    }
}
