//! Tables of samples: functions that compute, and callers of MPI calls.

use super::{Listing, Medium, share};
use crate::svg::spark;
use crate::{place, ranking};
use display::table::{Align, Cell, Table};
use display::text::shorten;
use display::units::{percent, share_of};
use run_record::Summary;
use run_record::summary::{SampledCaller, SampledFunction, Sampling};

pub(super) fn functions(summary: &Summary, medium: Medium) -> Listing {
    let none = Sampling::default();
    let sampling = summary.sampling.as_ref().unwrap_or(&none);
    let has_ranks = 1 < summary.n_ranks;
    // Functions that only call others are in the call paths.
    let computing = || sampling.functions.iter().filter(|it| 0.0 < it.self_s);
    let table = Table::new(computing().take(medium.n_max(10, 300)))
        .name("function", |it| {
            Cell::from(place::function(&it.place)).hint(place::function(&it.place))
        })
        .name("place", |it| Cell::from(place_of(it)).hint(place::full(&it.place)))
        .right("computing", |it| Cell::seconds(it.self_s))
        .right("share", |it| share(it.self_s, sampling.computing_s))
        .right("with calls", |it| Cell::percent(share_of(it.total_s, sampling.computing_s)))
        .right("slowest", |it| slowest(summary, it))
        .when(has_ranks)
        .column("by rank", Align::Spark, |it| {
            spark(&it.self_by_rank_s, "computing in this function, by rank").into_string()
        })
        .when(has_ranks)
        .with_rows(|_| String::new());
    Listing {
        id: "sampled",
        title: "Functions that compute",
        note: "samples of processor time outside of MPI",
        table,
        n_rows: computing().count(),
        remarks: remarks(sampling),
    }
}

/// Returns file and line, or else the module.
fn place_of(function: &SampledFunction) -> String {
    let place = &function.place;
    if place.file.is_empty() {
        return place.module.rsplit('/').next().map(display::text::harmless).unwrap_or_default();
    }
    place::location(place)
}

/// Returns the rank with the most time in a function, and that time over the mean of all ranks.
fn slowest(summary: &Summary, function: &SampledFunction) -> Cell {
    let by_rank_s = &function.self_by_rank_s;
    let Some((idx, longest_s)) =
        by_rank_s.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
    else {
        return Cell::from("-");
    };
    let mean_s = by_rank_s.iter().sum::<f64>() / by_rank_s.len() as f64;
    let name = summary.ranks.get(idx).map(|rank| ranking::name(summary, rank)).unwrap_or_default();
    if mean_s <= 0.0 {
        return Cell::from("-");
    }
    let times = longest_s / mean_s;
    Cell::from(format!("{name} ×{times:.2}")).value(times)
}

fn remarks(sampling: &Sampling) -> Vec<String> {
    let mut remarks = Vec::new();
    if 0.05 * (sampling.samples as f64) < sampling.cut as f64 {
        remarks.push(format!(
            "The callers of {} of the samples are not known in full: their stacks are deep, or modules lack unwind tables.",
            percent(sampling.cut as f64 / sampling.samples.max(1) as f64)
        ));
    }
    if 0 < sampling.lost {
        remarks.push(format!("{} samples were dropped.", display::units::count(sampling.lost)));
    }
    if 0 < sampling.samples && !sampling.problem.is_empty() {
        remarks.push(format!("Not all threads were sampled: {}.", sampling.problem));
    }
    remarks
}

pub(super) fn callers(summary: &Summary, medium: Medium) -> Listing {
    let all_s = ranking::time_of_all_s(summary);
    let callers: &[SampledCaller] = summary.sampling.as_ref().map_or(&[], |it| &it.callers);
    let site = |it: &SampledCaller| place::call_site(summary, it.call_site);
    let time_s = |it: &SampledCaller| site(it).map_or(0.0, |site| site.time_s * it.share);
    let table = Table::new(callers.iter().take(medium.n_max(8, 200)))
        .left("call", |it| {
            shorten(&medium.operation(site(it).map_or("", |site| &site.operation)), 18)
        })
        .name("place", |it| site(it).map(|site| place::location(&site.place)).unwrap_or_default())
        .name("called from", |it| place::function(&it.place))
        .name("at", |it| Cell::from(place::location(&it.place)).hint(place::full(&it.place)))
        .right("of the call", |it| Cell::percent(it.share))
        .right("time", |it| Cell::seconds(time_s(it)))
        .right("share", |it| share(time_s(it), all_s))
        .with_rows(|_| String::new());
    Listing {
        id: "callers",
        title: "Callers of MPI calls",
        note: "calls that several callers share, their time split by samples",
        table,
        n_rows: callers.len(),
        remarks: Vec::new(),
    }
}
