//! Sample functions of a run.

use super::PROGRAM;
use run_record::summary::SourceLocation;
use run_record::{FunctionTimes, FunctionTotals};

/// Returns more functions than a terminal shows; higher ranks have more time in each.
#[must_use]
pub fn functions(n_ranks: usize) -> Vec<FunctionTotals> {
    (0..23).map(|number| function(number, n_ranks)).collect()
}

fn function(number: u32, n_ranks: usize) -> FunctionTotals {
    let by_rank = (0..n_ranks).map(|rank| (rank, times(number, 1.0 + rank as f64 / 8.0)));
    let by_rank: Vec<(usize, FunctionTimes)> = by_rank.collect();
    let sum = |of: fn(&FunctionTimes) -> f64| by_rank.iter().map(|(_, times)| of(times)).sum();
    let n_calls: u64 = by_rank.iter().map(|(_, times)| times.calls).sum();
    let (time_s, mean_s): (f64, f64) = (sum(|times| times.time_s), sum(|times| times.mean_s));
    let slowest = by_rank.last().map(|(rank, times)| (*rank, times.time_s));
    let mean_s = mean_s / n_ranks.max(1) as f64;
    // One call is left by a jump.
    let calls_timed = n_calls - u64::from(number == 2);
    let first = by_rank.first().map(|(_, times)| times.min_s).unwrap_or_default();
    let last = by_rank.last().map(|(_, times)| times.max_s).unwrap_or_default();
    FunctionTotals {
        place: place(number),
        total: FunctionTimes {
            calls: n_calls,
            calls_timed,
            time_s,
            mean_s,
            min_s: first,
            max_s: last,
            deviation_s: 0.3 * mean_s,
        },
        by_rank,
        slowest,
    }
}

fn times(number: u32, slowness: f64) -> FunctionTimes {
    let calls = 80_000 / u64::from(number + 1);
    let time_s = 26.0 * slowness / f64::from(number + 1);
    let mean_s = time_s / calls as f64;
    FunctionTimes {
        calls,
        calls_timed: calls,
        time_s,
        mean_s,
        min_s: 0.4 * mean_s,
        max_s: 12.0 * mean_s,
        deviation_s: 0.3 * mean_s,
    }
}

fn place(number: u32) -> SourceLocation {
    let function = match number {
        0 => "worker_compute(Grid const&, double)".to_owned(),
        1 => "global_sendreceive".to_owned(),
        number => format!("model::step_{number}(std::vector<double>&, int)"),
    };
    // Without debug information there is no line.
    let (file, line) =
        if number == 3 { (String::new(), 0) } else { ("xfire.c".to_owned(), 40 + 31 * number) };
    SourceLocation {
        function,
        file,
        line,
        module: PROGRAM.to_owned(),
        offset: 0x1180 + 64 * u64::from(number),
    }
}
