//! Conversion of reports to structs of the C interface.

use crate::abi::{mw_iteration_report, mw_report, mw_worker_report};
use master_worker::{IterationReport, Report, WorkerReport};
use std::ffi::CString;

/// Calls a function with a report that is valid only during the call.
pub(crate) fn with_iteration<R>(
    report: &IterationReport,
    function: impl FnOnce(&mw_iteration_report) -> R,
) -> R {
    let workers: Vec<mw_worker_report> = report.workers.iter().map(of_worker).collect();
    let explanation = CString::new(report.explain()).unwrap_or_default();
    function(&mw_iteration_report {
        iteration: report.iteration,
        n_tasks: report.n_tasks,
        n_chunks: report.n_chunks,
        n_retracted: report.n_retracted,
        n_retried: report.n_retried,
        n_lost: report.n_lost,
        duration_s: report.duration_s,
        efficiency: report.efficiency(),
        shared_bytes: report.shared_bytes,
        input_bytes: report.input_bytes,
        output_bytes: report.output_bytes,
        workers: workers.as_ptr(),
        n_workers: workers.len(),
        explanation: explanation.as_ptr(),
    })
}

fn of_worker(worker: &WorkerReport) -> mw_worker_report {
    let WorkerReport { rank, n_tasks, n_chunks, compute_s, waited_s, .. } = *worker;
    mw_worker_report { rank, n_tasks, n_chunks, compute_s, waited_s }
}

pub(crate) fn of_run(report: &Report) -> mw_report {
    mw_report {
        n_iterations: report.n_iterations,
        first_iteration: report.first_iteration,
        n_chunks: report.n_chunks,
        n_tasks: report.n_tasks,
        iterations_s: report.iterations_s,
    }
}
