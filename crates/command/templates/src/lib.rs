//! `sintonia new` and `new-tunlet`: makes projects to start from.

#[macro_use]
extern crate user_io;

pub mod new;
pub mod new_tunlet;
mod project;
