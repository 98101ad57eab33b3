//! Tests of the table through its public interface, and against the installed MPI libraries.

mod compiler;
mod constants;
mod fortran;
mod headers;
mod table;
