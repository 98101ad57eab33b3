//! Samples of the run: functions that compute, and callers of MPI calls.

use events::SourceLocation;
use serde::{Deserialize, Serialize};

/// Sums over the samples of a run (`samples.parquet` has all call paths).
///
/// A sample stands for [`Sampling::period_s`] of a thread's processor time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// Processor time of a thread between two samples, in s.
    pub period_s: f64,
    /// Number of samples.
    pub samples: u64,
    /// Number of samples that were dropped.
    pub lost: u64,
    /// Number of samples of which the outermost functions are not known.
    pub cut: u64,
    /// Processor time of samples outside of MPI, in s.
    pub computing_s: f64,
    /// Processor time of samples inside MPI, in s.
    pub mpi_s: f64,
    /// Processor time outside of MPI by rank, in the order of [`Summary::ranks`](super::Summary::ranks), in s.
    pub computing_by_rank_s: Vec<f64>,
    /// Processor time of the collectors for reading samples, in s.
    pub cost_s: f64,
    /// Reason why there are no samples, or not of all threads; empty if there is none.
    pub problem: String,
    /// Functions by time in themselves, longest first; at most 1000.
    pub functions: Vec<SampledFunction>,
    /// Callers of MPI call sites that several callers share or that look alike, most samples first.
    pub callers: Vec<SampledCaller>,
}

/// Function and its share of the computing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SampledFunction {
    /// Function, with the line that was sampled most.
    pub place: SourceLocation,
    /// Processor time in the function itself, outside of MPI, in s.
    pub self_s: f64,
    /// Processor time in the function and all that it calls, outside of MPI, in s.
    pub total_s: f64,
    /// [`SampledFunction::self_s`] by rank, in the order of [`Summary::ranks`](super::Summary::ranks).
    pub self_by_rank_s: Vec<f64>,
}

/// Caller of an MPI call site: the innermost one that differs between the callers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SampledCaller {
    /// [`CallSite::id`](super::CallSite::id).
    pub call_site: usize,
    /// Place of the call in the caller.
    pub place: SourceLocation,
    /// Number of samples.
    pub samples: u64,
    /// Share of the call site's samples, 0..=1.
    pub share: f64,
}
