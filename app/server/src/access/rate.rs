//! Rates: limit the request rate of each tenant in this process.

use std::collections::HashMap;

use tokio::time::{Duration, Instant};
use windlass_engine::ports::sync::Mutex;

use super::Quota;
use crate::problem::{Problem, ProblemCode};

/// Token bucket of each tenant, stored as the time at which it will be full again.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    full_at: Mutex<HashMap<String, Instant>>,
}

impl RateLimiter {
    /// Admits one request of a tenant, or returns the delay until a retry.
    pub(crate) fn acquire(&self, tenant: &str, quota: &Quota) -> Result<(), Problem> {
        self.acquire_at(Instant::now(), tenant, quota)
    }

    fn acquire_at(&self, now: Instant, tenant: &str, quota: &Quota) -> Result<(), Problem> {
        let refused = |wait: Duration| {
            let seconds = wait.as_millis().div_ceil(1_000).max(1);
            let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
            let detail = "requests exceed the rate limit: retry later, and more slowly";
            Err(Problem::new(ProblemCode::TooManyRequests, detail).retry_after(seconds))
        };
        let Some(each) = Duration::from_secs(1).checked_div(quota.requests_per_second) else {
            return refused(Duration::from_secs(1));
        };
        let room = each.saturating_mul(quota.burst.saturating_add(1));
        let mut full_at = self.full_at.lock();
        let known = full_at.entry(tenant.to_owned()).or_insert(now);
        let then = (*known).max(now) + each;
        let used = then.duration_since(now);
        if used > room {
            return refused(used.saturating_sub(room));
        }
        *known = then;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_through_and_then_as_many_a_second_as_may_come() {
        let rates = RateLimiter::default();
        let quota = Quota { requests_per_second: 2, burst: 3, ..Quota::default() };
        let start = Instant::now();
        let take = |ms, tenant| rates.acquire_at(start + Duration::from_millis(ms), tenant, &quota);
        let came = (0..10).filter(|_| take(0, "a").is_ok()).count();
        assert_eq!(came, 4);
        let problem = take(0, "a").unwrap_err();
        assert_eq!((problem.code, problem.retry_after), (ProblemCode::TooManyRequests, Some(1)));
        assert!(take(0, "b").is_ok(), "another tenant has a bucket of its own");
        let later = (0..10_000).step_by(100);
        let came = later.filter(|ms| take(*ms, "a").is_ok()).count();
        assert_eq!(came, 19, "two a second over ten seconds, less what was used");
        let none = Quota { requests_per_second: 0, ..quota };
        assert!(rates.acquire_at(start, "c", &none).is_err());
    }
}
