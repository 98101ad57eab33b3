//! Findings about operations other than messages and collectives: files, windows, processes, communicators, start.

use super::{Finding, Run, at_site, call_in_words};
use display::units::{bytes, percent, seconds, whole};
use resize_api::ResizeOutcome;

/// Class, name of its operations in sentences, advice.
const CLASSES: [(&str, &str, &str); 4] = [
    ("io", "MPI-IO", "Write less often, in larger pieces, or collectively."),
    ("one-sided", "One-sided communication", "Synchronize windows less often or with fewer ranks."),
    ("process", "Starting and connecting processes", "Start them once and keep them."),
    ("communicator", "Making communicators", "Make them once and keep them."),
];
/// Classes of calls that a malleable program makes while changing its size.
const MADE_BY_RESIZES: [&str; 2] = ["process", "communicator"];
/// Shortest start, in s, that is worth a finding.
const START_S_MIN: f64 = 1.0;

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    // A resize starts processes and creates communicators in threads of its own, while the ranks compute.
    let is_own = |class: &str| run.summary.resizes.is_empty() || !MADE_BY_RESIZES.contains(&class);
    let classes = CLASSES.iter().filter(|(class, ..)| is_own(class));
    let classes = classes.filter_map(|class| of_class(run, class));
    classes.chain(resizes(run)).chain(start(run)).collect()
}

fn of_class(run: &Run<'_>, (class, name, advice): &(&str, &str, &str)) -> Option<Finding> {
    let share = run.share(run.time_of_s(class));
    let site = run.sites_of(class).next().filter(|_| super::SHARE_MIN <= share)?;
    let moved = if site.bytes == 0 {
        String::new()
    } else {
        let per_s = site.bytes as f64 / site.time_s.max(f64::MIN_POSITIVE);
        format!(" ({} at {}/s)", bytes(site.bytes), bytes(whole(per_s)))
    };
    let text = format!(
        "{name} takes {} of the ranks' time, most in {}{moved}. {advice}",
        percent(share),
        call_in_words(site),
    );
    Some(at_site(site, share, text))
}

/// Returns the cost of changing the number of ranks to the ranks that existed before.
fn resizes(run: &Run<'_>) -> Option<Finding> {
    let done = || run.summary.resizes.iter().filter(|one| one.outcome == ResizeOutcome::Done);
    let wait_s: f64 = done().map(|one| one.seconds.wait).sum();
    let rank_wait_s: f64 = done().map(|one| one.seconds.wait * f64::from(one.from)).sum();
    let share = run.share(rank_wait_s);
    (super::SHARE_MIN <= share).then(|| Finding {
        text: format!(
            "Changing the number of ranks {} times stopped the program for {}, {} of the ranks' time. Change it less often, or \
             let data move while it computes.",
            done().count(),
            seconds(wait_s),
            percent(share),
        ),
        call_site: None,
        share,
    })
}

/// `MPI_Init` precedes the time span of the efficiencies, so its share is that of the whole command.
fn start(run: &Run<'_>) -> Option<Finding> {
    let names = ["MPI_Init", "MPI_Init_thread"];
    let totals = names.iter().filter_map(|name| run.summary.operations.get(*name));
    let (time_s, calls) =
        totals.fold((0.0, 0), |(s, n), totals| (s + totals.time_s, n + totals.calls));
    let each_s = time_s / calls.max(1) as f64;
    let share = each_s / run.summary.wall_s.max(f64::MIN_POSITIVE);
    (START_S_MIN <= each_s && super::SHARE_MIN <= share).then(|| Finding {
        text: format!(
            "Starting MPI takes {} on average, {} of the command's time: use fewer, longer runs to pay for it less often.",
            seconds(each_s),
            percent(share.min(1.0)),
        ),
        call_site: None,
        share: share.min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::runs::{SummaryBuilder, check};
    use super::*;

    fn made() -> SummaryBuilder {
        SummaryBuilder::ranks(&[6.0, 6.0])
    }

    #[test]
    fn classes_that_take_time_are_named_with_their_longest_site() {
        check(findings, made(), &[]);
        let io = made().site("MPI_File_write_at", 4, 4_000_000_000, &[2.0, 2.0]);
        check(findings, io, &[(0.2, Some(0), &["MPI-IO takes 20.0 %", "3.73 GiB at 954 MiB/s"])]);
        let window = made().site("MPI_Win_fence", 4, 0, &[2.0, 2.0]);
        check(findings, window, &[(0.2, Some(0), &["One-sided", "MPI_Win_fence at a.c:0 (f). "])]);
        let spawn = made().site("MPI_Comm_spawn", 1, 0, &[2.0, 0.0]);
        check(findings, spawn, &[(0.1, Some(0), &["Starting and connecting"])]);
        check(findings, made().site("MPI_Comm_dup", 1, 0, &[0.1, 0.1]), &[]);
    }

    #[test]
    fn of_a_resize_only_the_wait_holds_anybody_up() {
        let resized = |wait| made().site("MPI_Comm_spawn", 1, 0, &[2.0, 0.0]).resize(2, wait);
        check(findings, resized(0.1), &[]);
        let twice = resized(1.0).resize(2, 0.0);
        check(findings, twice, &[(0.1, None, &["2 times", "1.00 s, 10.0 %"])]);
    }

    #[test]
    fn a_long_start_is_a_share_of_the_command() {
        let start = made().site("MPI_Init", 2, 0, &[2.2, 2.2]);
        check(findings, start, &[(0.2, None, &["2.20 s on average"])]);
        check(findings, made().site("MPI_Init", 2, 0, &[0.5, 0.5]), &[]);
    }
}
