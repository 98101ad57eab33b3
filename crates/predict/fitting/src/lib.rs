//! Models of time over problem size, processes or any other parameters, fitted to measurements.
//!
//! A model is a sum of up to four terms, each a product of powers and logarithms of the parameters, in
//! one piece or several. Terms are not chosen by hand, nor by how well they fit the data they were fitted to:
//! see `score`.
//!
//! ```
//! use fitting::{Measurements, Settings, fit};
//!
//! let mut measured = Measurements::of(vec!["n".into(), "p".into()]);
//! for n in [100.0_f64, 200.0, 300.0] {
//!     for p in [1.0, 2.0, 4.0, 8.0] {
//!         measured.add("multiply", "time", &[n, p], &[2e-8 * n.powi(3) / p + 1e-4 * n]);
//!     }
//! }
//! let model = fit(&measured, &Settings::default()).remove(0)?;
//! assert_eq!(model.text, "2e-8 * n^3 / p + 1e-4 * n");
//! let said = model.value(&[("n", 400.0), ("p", 16.0)])?;
//! assert!((said.value - 0.12).abs() < 1e-9 && said.low <= said.value);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//! - Pure (I1): no clock, file, socket, thread or environment; the same measurements and settings give
//!   the same model.
//! - A prediction is positive where all measurements are positive.
//!
//! # Not here
//! Taking measurements (`campaign`); waiting, in programs whose time is not the sum of their regions' (`program-graph`).

pub mod advice;
pub mod comparison;
mod design;
mod draws;
pub mod ensemble;
pub mod fit;
pub mod formats;
pub mod measurements;
pub mod model;
pub mod model_file;
pub mod placement;
pub mod runs;
pub mod samples;
mod score;
mod search;
mod solve;
pub mod term;
pub mod total;
mod validate;
mod vocabulary;

pub use comparison::{Compared, Summary, compare};
pub use ensemble::{Ensemble, Opinion};
pub use fit::{FitError, Fitter, Method, Settings, fit};
pub use measurements::{MeasuredPoint, Measurements, Series};
pub use model::{
    Cache, Draw, FittedModel, KnownChanges, ModelError, Piece, Prediction, Range, TOTAL, Warning,
};
pub use model_file::{ModelFile, ModelFileError};
pub use placement::{Placement, Regime, RegimeKind};
pub use samples::{PointValue, SampleRule};
pub use solve::N_TERMS_MAX;
pub use term::{Factor, Formula, Term, TermError, Weighted};
pub use total::Predictions;
pub use vocabulary::ParameterRole;
