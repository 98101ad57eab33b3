//! Tests of the simulator's public interface: figures that policies have to meet, and laws that none can break.

mod balance;
mod cases;
mod figures;
mod jobs;
mod laws;
mod queue;
