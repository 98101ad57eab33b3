//! Fits the models of all regions on all cores, and shows how far it is.

use super::list::Fitted;
use fitting::{Fitter, Measurements, Series, Settings};
use std::cmp::Ordering;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use user_io::progress::ProgressLine;

/// Time after which progress is shown.
const SILENT: Duration = Duration::from_millis(500);
/// Time between two updates of the progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// Regions that a thread takes at once: neighbors share what depends on the points alone.
const N_AT_ONCE: usize = 8;

/// Returns what is found for each region, in their order.
pub(super) fn fit_all(measured: &Measurements, settings: &Settings) -> Vec<Fitted> {
    let order = by_points(&measured.series);
    let n_cores = thread::available_parallelism().map_or(1, NonZero::get);
    let n_threads = n_cores.min(order.len().div_ceil(N_AT_ONCE));
    let next = AtomicUsize::new(0);
    let (sender, found) = mpsc::channel();
    let fit_some = |sender: mpsc::Sender<_>| {
        let mut fitter = Fitter::new(&measured.parameters, settings);
        loop {
            let from = next.fetch_add(N_AT_ONCE, Relaxed);
            let some = order.get(from..).unwrap_or_default();
            if some.is_empty() {
                break;
            }
            for idx in some.iter().take(N_AT_ONCE) {
                let model = fitter.fit(&measured.series[*idx]);
                if sender.send((*idx, model)).is_err() {
                    return;
                }
            }
        }
    };
    let mut models: Vec<_> = order.iter().map(|_| None).collect();
    thread::scope(|scope| {
        let fit_some = &fit_some;
        let start = |_: &usize| {
            let sender = sender.clone();
            thread::Builder::new().spawn_scoped(scope, move || fit_some(sender)).is_ok()
        };
        match (0..n_threads).filter(start).count() {
            // The system gives no thread: this one does it all.
            0 => fit_some(sender),
            _ => drop(sender),
        }
        let (began, mut progress) = (Instant::now(), ProgressLine::every(PROGRESS_EVERY));
        for (n_done, (idx, model)) in (1..).zip(&found) {
            models[idx] = Some(model);
            if SILENT < began.elapsed() {
                progress.show(|| format!("{n_done} of {} regions are fitted", order.len()));
            }
        }
        progress.clear();
    });
    let fitted = measured.series.iter().zip(models).map(|(series, model)| {
        Some(Fitted {
            region: series.region.clone(),
            metric: series.metric.clone(),
            n_points: series.points.len(),
            model: model?,
            unseen: None,
        })
    });
    fitted.flatten().collect()
}

/// Returns the indices of the regions, those that were measured at the same points next to each other.
fn by_points(series: &[Series]) -> Vec<usize> {
    let points = |idx: usize| series[idx].points.iter().flat_map(|point| &point.at);
    let compare = |a: &usize, b: &usize| {
        let differing =
            points(*a).zip(points(*b)).map(|(a, b)| a.total_cmp(b)).find(|it| it.is_ne());
        let lengths = || series[*a].points.len().cmp(&series[*b].points.len());
        differing.unwrap_or(Ordering::Equal).then_with(lengths)
    };
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by(compare);
    order
}
