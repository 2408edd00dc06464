//! Programs whose single steps are long: the steps bound them, but late; the signal ends them soon.

use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use windlass_core::{ProgramEnd, ProgramFault};
use windlass_javascript::JavaScript;
use windlass_ports::{CancelSource, ProgramEnvironment, ProgramRuntime, ProgramStep};

/// The longest that one may go on. Far above what any does.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn long_steps_are_stopped_soon() {
    for (name, source) in [
        (
            "texts that collide",
            "const m = new Set(), p = [String.fromCharCode(1000, 1000), String.fromCharCode(1001, 737)]; const go = (t, n) => { if (n === 0) { m.add(t); return; } go(t + p[0], n - 1); go(t + p[1], n - 1); }; go('', 17); for (;;) {}",
        ),
        (
            "names that collide",
            "const m = {}, p = [String.fromCharCode(1000, 1000), String.fromCharCode(1001, 737)]; const go = (t, n) => { if (n === 0) { m[t] = 1; return; } go(t + p[0], n - 1); go(t + p[1], n - 1); }; go('', 17); for (;;) {}",
        ),
        (
            "sets of long lists",
            "const a = Array.from({ length: 300000 }, (_, n) => n); for (;;) new Set(a);",
        ),
        ("an endless loop that catches everything", "for (;;) try { for (;;) {} } catch (e) {}"),
        ("an endless pattern", "/^(a*)*$/.test('a'.repeat(10000) + 'b')"),
    ] {
        let stop = CancelSource::new();
        let mut world =
            ProgramEnvironment { cancel: stop.signal(), ..ProgramEnvironment::default() };
        world.limits.steps = u64::MAX;
        let mut running = JavaScript.prepare(source, &world).unwrap().start().unwrap();
        let (begins, begun) = sync_channel(0);
        let (ends, ended) = sync_channel(1);
        thread::spawn(move || {
            begins.send(()).unwrap();
            ends.send(running.resume(Vec::new())).unwrap();
        });
        begun.recv().unwrap();
        // It is in the middle of it by the time that another program has done some work.
        let work = "let sum = 0; for (let n = 0; n < 1000000; n++) sum += n; return sum;";
        let mut other =
            JavaScript.prepare(work, &ProgramEnvironment::default()).unwrap().start().unwrap();
        let ProgramStep::Done(done) = other.resume(Vec::new()) else { panic!("it calls nothing") };
        let value = "499999500000".into();
        assert_eq!(done.end, ProgramEnd::Return { value });
        let fired = Instant::now();
        stop.cancel();
        let step = ended.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{name} goes on"));
        eprintln!("{name}: ended {:.1?} after the signal", fired.elapsed());
        let ProgramStep::Done(done) = step else { panic!("{name}: {step:?}") };
        let ProgramEnd::Fault(fault) = &done.end else { panic!("{name}: {:?}", done.end) };
        assert_eq!(fault.class, ProgramFault::STOPPED, "{name}");
    }
}
