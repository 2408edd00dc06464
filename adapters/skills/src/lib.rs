#![doc = include_str!("../README.md")]

mod catalogue;
mod check;
mod find;
mod skill;
mod tools;

pub use catalogue::{Catalogue, Shadowed};
pub use check::faults;
pub use find::{FoundSkills, SKILL_FILE, SkillFile, SkillProblem, find};
pub use skill::{InvalidSkill, Skill};
pub use tools::{ACTIVATE_SKILL_TOOL, SkillTools, activated};
