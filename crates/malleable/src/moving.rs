//! Moves the data of a program to its new ranks.

mod route;
