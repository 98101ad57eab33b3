//! Models of time over size, processes or any other parameters, found from measurements.
//!
//! A model is a sum of up to four terms, each a product of powers and logarithms of the parameters, in
//! one piece or several. No term is chosen by hand, and none by how well it fits what it was made of:
//! see `judge`.
//!
//! # Invariants
//! - Pure (I1): no clock, file, socket, thread or environment; the same measurements and settings give
//!   the same model.
//! - A prediction is positive where all measurements are.
//!
//! # Not here
//! How measurements are taken (`cli`), how models of regions make one of a program (`models`).

mod design;
mod draws;
pub mod fit;
pub mod formats;
mod judge;
pub mod measurements;
pub mod model;
mod pieces;
mod pinv;
mod random;
pub mod samples;
mod search;
mod solve;
pub mod term;
mod vocabulary;
pub mod warning;

pub use fit::{FitError, Fitter, Method, Settings, fit};
pub use measurements::{Measurements, Point, Series};
pub use model::{Draw, FittedModel, ModelError, Piece, Prediction, Range};
pub use samples::{Level, SampleRule};
pub use solve::N_TERMS_MAX;
pub use term::{Factor, Formula, Term, Weighted};
pub use vocabulary::Role;
pub use warning::{Cache, Warning};
