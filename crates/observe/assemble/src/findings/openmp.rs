//! Findings about OpenMP: threads that wait for each other, that have no work, that begin late.

use super::{Finding, Run};
use display::units::percent;
use run_record::summary::{OpenMpRegion, SourceLocation, Summary};

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    let longest = |of: fn(&OpenMpRegion) -> f64| {
        run.summary.openmp_regions.iter().max_by(|a, b| of(a).total_cmp(&of(b)))
    };
    let waiting = longest(|region| region.waiting_s).map(|region| {
        let share = share(run, region, region.waiting_s);
        let text = format!(
            "Threads of the OpenMP region at {} wait for each other for {} of the ranks' time{}",
            in_words(&region.place),
            percent(share),
            why_waiting(region),
        );
        Finding { text, call_site: None, share }
    });
    let starting = longest(|region| region.starting_s).map(|region| {
        let share = share(run, region, region.starting_s);
        let text = format!(
            "Threads begin the OpenMP region at {} late, which takes {} of the ranks' time. Start fewer, longer regions, and no \
             more threads than there are cores.",
            in_words(&region.place),
            percent(share),
        );
        Finding { text, call_site: None, share }
    });
    waiting.into_iter().chain(starting).chain(serial(run)).collect()
}

/// Returns the end of the sentence: how even the parts of the threads are, and the remedy.
fn why_waiting(region: &OpenMpRegion) -> String {
    let waiting = region.waiting_s / (region.waiting_s + region.busy_s).max(f64::MIN_POSITIVE);
    match region.load_balance {
        // Less than half of the waiting is for a thread that computes longer.
        Some(balance) if 1.0 - balance < 0.5 * waiting => format!(
            " although their parts are equally long (balance {}): they take turns in `critical`, `ordered` or a lock, or wait in \
             many barriers. Give each thread its own copy and join the copies once (`reduction`), or lock less.",
            percent(balance),
        ),
        balance => format!(
            "{}. Give them equal parts, or `schedule(dynamic)` with large chunks.",
            balance.map_or(String::new(), |balance| format!(" (balance {})", percent(balance))),
        ),
    }
}

/// Returns the time in s for which ranks wait in OpenMP, over the ranks: a rank whose threads all wait loses all its time.
pub(super) fn waiting_s(summary: &Summary) -> f64 {
    let of = |region: &OpenMpRegion| (region.waiting_s + region.starting_s) / n_threads(region);
    summary.openmp_regions.iter().map(of).sum()
}

fn n_threads(region: &OpenMpRegion) -> f64 {
    (region.team_s / region.time_s.max(f64::MIN_POSITIVE)).max(1.0)
}

/// Returns the share of the ranks' time that `threads_s` in a region stands for: a rank whose threads all wait loses all its time. What a shortage of cores explains is left out.
fn share(run: &Run<'_>, region: &OpenMpRegion, threads_s: f64) -> f64 {
    let lost = run.shortage.openmp_s / waiting_s(run.summary).max(f64::MIN_POSITIVE);
    run.share((1.0 - lost).max(0.0) * threads_s / n_threads(region))
}

/// Returns the loss by computation outside of parallel regions.
fn serial(run: &Run<'_>) -> Option<Finding> {
    let pop = &run.summary.pop;
    let serialization = pop.openmp_serialization_efficiency?;
    let share = pop.mpi_parallel_efficiency * (1.0 - serialization);
    let text = format!(
        "OpenMP threads have no work for {} of the ranks' time, since that much is computed outside of parallel regions or in \
         regions of fewer threads. Make more of it parallel, or use more ranks and fewer threads.",
        percent(share),
    );
    Some(Finding { text, call_site: None, share })
}

/// Returns `solver.c:88 (dot)`, with the parts that are known.
fn in_words(place: &SourceLocation) -> String {
    let file = place.file.rsplit('/').next().unwrap_or_default();
    match (file.is_empty(), place.function.is_empty()) {
        (false, false) => format!("{file}:{} ({})", place.line, place.function),
        (false, true) => format!("{file}:{}", place.line),
        (true, false) => format!("`{}`", place.function),
        (true, true) => "an unknown place".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::runs::SummaryBuilder;
    use super::*;

    /// Checks share and words of the findings from 3 % on, for a region of two threads of two ranks for 6 s each.
    #[track_caller]
    fn check(waiting_s: f64, starting_s: f64, expected: &[(f64, &str)]) {
        let place = SourceLocation {
            function: "dot".into(),
            file: "/src/a.c".into(),
            line: 3,
            ..SourceLocation::default()
        };
        let busy_s = 24.0 - waiting_s - starting_s;
        let region =
            OpenMpRegion { time_s: 12.0, team_s: 24.0, busy_s, waiting_s, ..Default::default() };
        let region = OpenMpRegion { place, starting_s, load_balance: Some(0.5), ..region };
        let mut summary = SummaryBuilder::ranks(&[10.0, 10.0]).summary();
        summary.openmp_regions = vec![region];
        let mut found = findings(&Run::new(&summary));
        found.retain(|finding| 0.03 <= finding.share);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, (share, words)) in found.iter().zip(expected) {
            assert!((found.share - share).abs() < 1e-9, "{found:?}");
            assert!(found.text.contains(words), "`{words}` is not in `{}`", found.text);
        }
    }

    #[test]
    fn waiting_and_starting_count_by_the_threads_of_the_team() {
        check(0.0, 0.0, &[]);
        check(12.0, 0.0, &[(0.3, "at a.c:3 (dot) wait for each other for 30.0 %")]);
        check(0.0, 4.0, &[(0.1, "begin the OpenMP region at a.c:3 (dot) late")]);
    }

    #[test]
    fn computation_outside_of_regions_is_named() {
        let mut summary = SummaryBuilder::ranks(&[10.0, 10.0]).summary();
        summary.pop.mpi_parallel_efficiency = 1.0;
        summary.pop.openmp_serialization_efficiency = Some(0.6);
        let found = findings(&Run::new(&summary));
        assert!(found[0].text.contains("no work for 40.0 %"), "{found:?}");
    }
}
