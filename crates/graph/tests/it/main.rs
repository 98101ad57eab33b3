//! Graphs of programs, from outside.
