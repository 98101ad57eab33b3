//! The simulator from outside: figures that policies have to meet, and what no policy can change.

mod balance;
mod figures;
mod laws;
