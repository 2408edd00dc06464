//! Clock: the time and the random numbers of a program, which come from the record.

use rquickjs::{Ctx, Function};
use windlass_ports::ProgramEnvironment;

use crate::date;
use crate::random::RandomNumbers;

const CLOCK: &str = include_str!("clock.js");

/// Sets the time and the random numbers of a program.
pub(crate) fn set_clock(ctx: &Ctx<'_>, world: &ProgramEnvironment) -> rquickjs::Result<()> {
    let clock: Function<'_> = ctx.eval(CLOCK)?;
    let parse = Function::new(ctx.clone(), |text: String| date::parse(&text))?;
    let numbers = RandomNumbers::new(world.seed);
    let random = Function::new(ctx.clone(), move || numbers.next())?;
    clock.call((world.now_ms as f64, parse, random))
}
