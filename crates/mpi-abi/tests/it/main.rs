//! The table as its users see it, and against the MPI libraries that are installed.

mod compiler;
mod constants;
mod fortran;
mod headers;
mod table;
