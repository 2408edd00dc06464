//! Copies of a log or of a part of it.

use windlass_core::Seq;
use windlass_kit_log::LogEnd;
use windlass_ports::{ChainLink, SessionSummary, StoreError, StoreErrorKind};

use crate::catalog::SessionLayout;
use crate::error;
use crate::log::{ReadStop, SessionLogReader, covering};
use crate::truncate::LogPrefix;

impl SessionLogReader<'_> {
    /// Reads the log up to a position as far as possible, and returns its last unit.
    pub(crate) fn units_to(
        &self,
        layout: &SessionLayout,
        at: Seq,
    ) -> Result<LogPrefix, StoreError> {
        let mut end = LogEnd::empty(self.session);
        let mut up_to = LogPrefix { last: Seq::ZERO, before: end.clone(), texts: Vec::new() };
        while end.last < at
            && let Some(part) = covering(&layout.parts, end.last)
        {
            let (after, chain) = (end.last, Some(end.link));
            let read = self.read_part(part, after, 4_096, chain, &mut |unit| {
                let facts = self.facts(part.segment, &unit, end.last)?;
                let behind = unit.links.len() - facts.len();
                let wanted = facts.iter().take_while(|fact| fact.seq <= at).count();
                let Some(link) = (behind + wanted).checked_sub(1).filter(|_| wanted > 0) else {
                    return Ok(());
                };
                let before = end.clone();
                let texts = unit.content.texts().skip(behind);
                end = LogEnd {
                    last: before.last.plus(wanted as u64),
                    link: unit.links.get(link).copied().unwrap_or(before.link),
                    summary: SessionSummary::after(
                        before.summary.clone(),
                        facts.iter().take(wanted),
                    ),
                };
                up_to = LogPrefix {
                    last: end.last,
                    before,
                    texts: texts.take(wanted).map(<[u8]>::to_vec).collect(),
                };
                Ok(())
            });
            match read {
                Ok(_) => {}
                Err(ReadStop::Changed) => return Err(error::unstable(self.session)),
                Err(ReadStop::Failed(error)) => {
                    if matches!(error.kind, StoreErrorKind::Corrupt { .. }) {
                        break;
                    }
                    return Err(error);
                }
            }
        }
        Ok(up_to)
    }

    /// Passes each encoded text with its link, checked, to `take` until it returns false.
    pub(crate) fn texts(
        &self,
        layout: &SessionLayout,
        take: &mut dyn FnMut(&[u8], ChainLink) -> bool,
    ) -> Result<Seq, StoreError> {
        let mut last = Seq::ZERO;
        let mut chain = ChainLink::genesis(self.session);
        let mut wanted = true;
        while wanted && let Some(part) = covering(&layout.parts, last) {
            let (after, before) = (last, Some(chain));
            let read = self.read_part(part, after, 1_024, before, &mut |unit| {
                let facts = unit.content.texts().zip(&unit.links).zip(unit.first.0..);
                for ((text, link), seq) in facts {
                    if wanted && seq > last.0 {
                        wanted = take(text, *link);
                        last = Seq(seq);
                        chain = *link;
                    }
                }
                Ok(())
            });
            match read {
                Ok(_) => {}
                Err(ReadStop::Changed) => return Err(error::unstable(self.session)),
                Err(ReadStop::Failed(error)) => return Err(error),
            }
        }
        Ok(last)
    }
}
