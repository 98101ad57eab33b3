//! Structs of C headers: read as people write them, and made into code that sends them.
//!
//! ```
//! let text = "#define N_AXES 3\n\
//!     typedef struct body { double mass, position[N_AXES]; } body;\n\
//!     struct cloud { uint32_t n_bodies; body *bodies; /* [n_bodies] */ };\n";
//! let (header, problems) = structures::read(text);
//! assert!(problems.is_empty());
//! assert!(header.structs[0].is_flat && !header.structs[1].is_flat);
//! let code = structures::messages(&header, "cloud.h");
//! assert!(code.contains("static inline size_t mw_unpack_cloud(struct cloud *to, const void *from, size_t n_bytes)"));
//! ```
//!
//! A pointer says in a comment behind it how many elements there are: `/* [n_rows][n_columns] */`, with integers of
//! the same struct, constants and numbers.
//!
//! The generator goes back to the one of Martínez 2010 ("Sintonización dinámica de aplicaciones MPI"), which writes
//! the class that communicates from a description of the tasks and results.
//!
//! # Invariants
//! - What is not understood as C means it is a problem that names its place, not a guess.
//! - A header with several problems is told all of them.
//!
//! # Not here
//! Files and the command line (`cli`); layouts of types of Rust (`master-worker-derive`).

mod header;
mod messages;
mod number;
mod problem;
mod read;

pub use header::{Factor, Header, Kind, Member, Struct};
pub use messages::messages;
pub use number::Number;
pub use problem::{Problem, ProblemKind};
pub use read::read;
