//! Chooses the next provider. Pure: maps the recorded failures of a sample and the resting
//! providers to a place.

use windlass_core::{FailedAttempt, FailureKind, Retry};

/// State of one provider of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProviderStatus {
    /// It failed for good in this sample: asking it again would fail again.
    pub(crate) permanently_failed: bool,
    /// It rests, after a failure in some sample.
    pub(crate) cooling_down: bool,
    /// Number of its failures in this sample.
    pub(crate) failures: u32,
}

/// A provider of a chain, as the log names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProviderModel<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
}

impl ProviderModel<'_> {
    /// Returns true if the attempt was made at it.
    fn matches_attempt(&self, attempt: &FailedAttempt) -> bool {
        attempt.provider.as_deref() == Some(self.provider)
            && attempt.model.as_deref() == Some(self.model)
    }
}

/// Returns the state of a provider after the failures of a sample that justify the next provider.
pub(crate) fn provider_status(
    named: ProviderModel<'_>,
    failed: &[FailedAttempt],
    on: &[FailureKind],
    rests: bool,
) -> ProviderStatus {
    let own = failed
        .iter()
        .filter(|attempt| named.matches_attempt(attempt) && on.contains(&attempt.kind));
    let mut standing =
        ProviderStatus { permanently_failed: false, cooling_down: rests, failures: 0 };
    for attempt in own {
        standing.failures = standing.failures.saturating_add(1);
        standing.permanently_failed |= !passes(attempt.kind);
    }
    standing
}

/// The place of the provider that is asked next: of those that are not lost and do not rest the
/// one that failed least, and the first of these.
pub(crate) fn next(standings: &[ProviderStatus]) -> Option<usize> {
    let order = |at: &usize| {
        let standing = standings.get(*at);
        standing.map(|one| (one.permanently_failed, one.cooling_down, one.failures, *at))
    };
    (0..standings.len()).min_by_key(order)
}

/// Returns the retry advice after the provider at `at` failed. `standings` are the states before
/// the failure.
pub(crate) fn retry(
    standings: &[ProviderStatus],
    at: usize,
    kind: FailureKind,
    own: Retry,
) -> Retry {
    let tried = standings.get(at).map_or(0, |one| one.failures);
    let fresh = |(other, one): (usize, &ProviderStatus)| {
        other != at && !one.permanently_failed && one.failures <= tried
    };
    if standings.iter().enumerate().any(fresh) {
        return Retry::Now;
    }
    let passing = |(other, one): (usize, &ProviderStatus)| other != at && !one.permanently_failed;
    let again = passes(kind) || standings.iter().enumerate().any(passing);
    match own {
        Retry::Never if again => Retry::Soon,
        Retry::Never | Retry::Now | Retry::Soon | Retry::AfterMs(_) => own,
    }
}

/// Returns true if a failure is temporary.
pub(crate) fn passes(kind: FailureKind) -> bool {
    match kind {
        FailureKind::RateLimit
        | FailureKind::Overloaded
        | FailureKind::Server
        | FailureKind::Unavailable
        | FailureKind::Truncated
        | FailureKind::Timeout
        | FailureKind::Protocol
        | FailureKind::Cancelled
        | FailureKind::Restart
        | FailureKind::Steered => true,
        FailureKind::Authentication
        | FailureKind::NotFound
        | FailureKind::InvalidRequest
        | FailureKind::ContextOverflow
        | FailureKind::Quota
        | FailureKind::ContentFilter
        | FailureKind::TooLarge
        | FailureKind::Hook
        | FailureKind::Unsupported
        | FailureKind::Program
        | FailureKind::Compaction => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON: &[FailureKind] = &[FailureKind::Overloaded, FailureKind::Authentication];

    fn attempt(provider: &str, kind: FailureKind) -> FailedAttempt {
        FailedAttempt { kind, provider: Some(provider.into()), model: Some("m".into()) }
    }

    fn standings(failed: &[FailedAttempt]) -> Vec<ProviderStatus> {
        let of =
            |provider| provider_status(ProviderModel { provider, model: "m" }, failed, ON, false);
        ["a", "b", "c"].map(of).to_vec()
    }

    #[test]
    fn the_chain_is_gone_through_in_order_and_then_again() {
        let mut failed = Vec::new();
        for expected in [0, 1, 2, 0, 1] {
            let now = standings(&failed);
            assert_eq!(next(&now), Some(expected));
            let name = ["a", "b", "c"][expected];
            failed.push(attempt(name, FailureKind::Overloaded));
        }
    }

    #[test]
    fn what_failed_for_good_comes_last_and_what_rests_before_it() {
        let mut now = standings(&[attempt("a", FailureKind::Authentication)]);
        assert_eq!(next(&now), Some(1));
        now[1].cooling_down = true;
        assert_eq!(next(&now), Some(2));
        now[2].cooling_down = true;
        assert_eq!(next(&now), Some(1));
        now[1].permanently_failed = true;
        now[2].permanently_failed = true;
        assert_eq!(next(&now), Some(0));
        assert_eq!(next(&[]), None);
    }

    #[test]
    fn failures_that_are_not_named_and_those_of_others_do_not_count() {
        let others = [
            attempt("a", FailureKind::Server),
            attempt("z", FailureKind::Overloaded),
            FailedAttempt { model: Some("other".into()), ..attempt("a", FailureKind::Overloaded) },
            FailedAttempt { provider: None, ..attempt("a", FailureKind::Overloaded) },
        ];
        assert_eq!(standings(&others), standings(&[]));
    }

    #[test]
    fn the_next_is_asked_at_once_and_after_the_last_the_failure_has_its_say() {
        let kind = FailureKind::Overloaded;
        let fresh = standings(&[]);
        assert_eq!(retry(&fresh, 0, kind, Retry::Never), Retry::Now);
        let two = [attempt("a", kind), attempt("b", kind)];
        let two = standings(&two);
        assert_eq!(retry(&two, 2, kind, Retry::AfterMs(7)), Retry::AfterMs(7));
        assert_eq!(retry(&two, 2, kind, Retry::Soon), Retry::Soon);
    }

    #[test]
    fn a_wrong_key_of_the_last_does_not_make_an_overload_final() {
        let wrong = FailureKind::Authentication;
        let two = [attempt("a", FailureKind::Overloaded), attempt("b", wrong)];
        let now = standings(&two);
        assert_eq!(retry(&now, 2, wrong, Retry::Never), Retry::Soon);
        let lost = [attempt("a", wrong), attempt("b", wrong)];
        let now = standings(&lost);
        assert_eq!(retry(&now, 2, wrong, Retry::Never), Retry::Never);
    }
}
