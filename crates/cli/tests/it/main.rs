//! The program `sintonia` from outside.
