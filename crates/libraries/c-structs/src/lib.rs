//! Reads structs of C headers and generates code that sends them.
//!
//! ```
//! let text = "#define N_AXES 3\n\
//!     typedef struct body { double mass, position[N_AXES]; } body;\n\
//!     struct cloud { uint32_t n_bodies; body *bodies; /* [n_bodies] */ };\n";
//! let (header, problems) = c_structs::read(text);
//! assert!(problems.is_empty());
//! assert!(header.structs[0].is_flat && !header.structs[1].is_flat);
//! let code = c_structs::messages(&header, "cloud.h");
//! assert!(code.contains("static inline size_t mw_unpack_cloud(struct cloud *to, const void *from, size_t n_bytes)"));
//! ```
//!
//! A comment behind a pointer gives its number of elements: `/* [n_rows][n_columns] */`, with integer members of
//! the same struct, constants and numbers.
//!
//! The generator follows that of Martínez 2010 ("Sintonización dinámica de aplicaciones MPI"), which writes
//! the communicating class from a description of the tasks and results.
//!
//! # Invariants
//! - Text that is not understood as C defines it is reported as a problem with its place, never guessed.
//! - All problems of a header are reported together.
//!
//! # Not here
//! Files and the command line (`cli`); layouts of Rust types (`master-worker-derive`).

mod header;
mod messages;
mod number;
mod problem;
mod read;

pub use header::{ElementKind, Factor, Header, Member, Struct};
pub use messages::messages;
pub use number::NumberType;
pub use problem::{HeaderProblem, ProblemKind};
pub use read::read;
