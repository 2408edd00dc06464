//! Cases about the signal to stop.

use std::sync::mpsc::sync_channel;

use windlass_core::{ProgramEnd, ProgramFault};
use windlass_ports::{CancelSource, ProgramStep};

use super::checks::{apart, ensure, obliging, written};
use super::{Checked, ProgramFixture, Sample, Violation, World};

fn stopped(step: &ProgramStep, what: &str) -> Checked {
    let holds = match step {
        ProgramStep::Done(done) => {
            done.retained.is_empty()
                && match &done.end {
                    ProgramEnd::Fault(fault) => fault.class == ProgramFault::STOPPED,
                    ProgramEnd::Value { .. }
                    | ProgramEnd::Return { .. }
                    | ProgramEnd::Fail { .. } => false,
                }
        }
        ProgramStep::Calls(_) => false,
    };
    ensure(holds, || format!("{what} must end as {:?}: {step:?}", ProgramFault::STOPPED))
}

/// A program that runs is stopped by a signal that fires before it begins or while it runs, long before
/// its steps run out.
///
/// # Errors
/// A violation when it is not.
pub fn a_program_that_is_told_to_stop_ends_soon(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Endless) else {
        return Ok(());
    };
    for before in [true, false] {
        let (runtime, source) = (fixture.runtime(), source.clone());
        let stop = CancelSource::new();
        let world = World::new().limits(|limits| limits.steps = u64::MAX).stop(stop.signal());
        let (tell, runs) = sync_channel(1);
        if before {
            stop.cancel();
        } else {
            // It fires once the program is about to run: it may do so before its first step, and
            // must end all the same.
            std::thread::spawn(move || {
                if runs.recv().is_ok() {
                    stop.cancel();
                }
            });
        }
        let step = apart(fixture, "an endless program that is stopped", move || {
            let mut running = runtime.prepare(&source, &world.0)?.start()?;
            // Nobody waits for it where the signal has fired already.
            let _ = tell.try_send(());
            Ok(running.resume(Vec::new()))
        })?;
        let step = match step {
            Ok(step) => step,
            Err(fault) => {
                let fault: ProgramFault = fault;
                return ensure(before && fault.class == ProgramFault::STOPPED, || {
                    format!("an endless program was refused: {fault}")
                });
            }
        };
        stopped(&step, "an endless program")?;
    }
    Ok(())
}

/// A program that waits for calls ends when it is told to stop and then goes on.
///
/// # Errors
/// A violation when it goes on.
pub fn a_waiting_program_that_is_told_to_stop_ends(fixture: &dyn ProgramFixture) -> Checked {
    for sample in [Sample::CallThenEndless("look"), Sample::EndlessCalls("look")] {
        let Some(source) = written(fixture, &sample) else {
            continue;
        };
        let runtime = fixture.runtime();
        let stop = CancelSource::new();
        let world = World::new().limits(|limits| limits.steps = u64::MAX).stop(stop.signal());
        let steps = apart(fixture, "a waiting program that is stopped", move || {
            let mut running = runtime.prepare(&source, &world.0)?.start()?;
            let first = running.resume(Vec::new());
            stop.cancel();
            let answers = match &first {
                ProgramStep::Calls(calls) => obliging(calls),
                ProgramStep::Done(_) => Vec::new(),
            };
            Ok((first, running.resume(answers)))
        })?;
        let (first, second) = steps.map_err(|fault: ProgramFault| {
            Violation::new(format!("{sample:?} was refused: {fault}"))
        })?;
        let waits = match &first {
            ProgramStep::Calls(_) => true,
            ProgramStep::Done(_) => false,
        };
        ensure(waits, || format!("{sample:?} must call first: {first:?}"))?;
        stopped(&second, "a program that waits")?;
    }
    Ok(())
}
