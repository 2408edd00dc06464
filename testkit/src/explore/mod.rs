//! A breadth-first search through bounded worlds: every state that they can reach, every step in
//! each, with the laws checked after each transition.
//!
//! A [`Bounded`] world says how a session begins and what may happen to it, in the words of a
//! script. [`explore`] takes each of these steps in each state, and takes two worlds for one where
//! the same follows from both ([`Key`] says when). Most bounded worlds are finite then, and are
//! gone through whole. The laws of what stands now are checked after each transition, those over
//! all prefixes of a log at each new state.
//!
//! What was taken is collected in a [`Coverage`]: where the session stood, what it was told, and
//! what followed. A [`Table`] of what a person has looked at and found right is held against it:
//! what is new must be reviewed, what is never taken must go. [`chart`] draws it.
//!
//! The search takes a [`Transitions`](crate::world::Transitions), so a policy of your own, as a function
//! around [`windlass_core::decide`], is explored like the core:
//!
//! ```
//! use windlass_core::{Draft, Input, Limits, Reject, Session, Incoming, decide};
//! use windlass_testkit::explore::{Bounded, Coverage, Extent, Table, explore};
//! use windlass_testkit::laws;
//! use windlass_testkit::world::Transitions;
//!
//! /// Users may not interrupt a turn.
//! fn patient(s: &Session, limits: &Limits, input: Incoming<Input>) -> Result<Vec<Draft>, Reject> {
//!     if let Input::Interrupt { .. } = &input.input {
//!         return Err(Reject::Stopping);
//!     }
//!     decide(s, limits, input)
//! }
//!
//! let text = "world mine\nopen samples=1 attempts=1\nitems 1\nsend hello\ninterrupt person\n\
//!             text hi\nend stop\ncrash";
//! let worlds = Bounded::read(text)?;
//! let transitions = Transitions { decide: patient, ..Transitions::CORE };
//! let mut coverage = Coverage::default();
//! let extent = Extent { states: 200, ..Extent::default() };
//! let covered = explore(transitions, laws::SEARCHED, &worlds[0], extent, &mut coverage);
//! let covered = covered.map_err(|failure| failure.to_string())?;
//! assert!(covered.states > 5);
//!
//! let table = Table::of(&coverage); // keep its text beside your tests, and review it
//! assert!(!table.to_string().contains("stopping"));
//! # Ok::<(), String>(())
//! ```
//!
//! A failure prints the law's number and a script in the form of [`crate::world::Script`].

mod bounded;
mod chart;
mod coverage;
mod key;
mod search;
mod table;

pub use bounded::{Bounded, Move};
pub use chart::chart;
pub use coverage::{Coverage, Edge, Ends, Seen};
pub use key::Key;
pub use search::{Covered, Extent, Failure, explore, explore_all};
pub use table::{Difference, Row, Table};
