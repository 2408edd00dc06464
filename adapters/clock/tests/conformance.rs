//! Holds the system clock to the promises of the clock port.

use windlass_clock::SystemClock;
use windlass_testkit::clock::suite::Subject;

windlass_testkit::clock_suite!(Subject::real(SystemClock::new()));
