//! Findings about time that ranks spend in the kernel, or blocked, outside MPI: page faults, small reads and writes,
//! waiting for files, locks or sleep.

use super::{Finding, Run};
use display::units::{bytes, count, percent};
use run_record::summary::RankUsage;

/// Longest time in s that a page fault is believed to take: the kernel clears the page, and a virtual machine maps it.
const S_PER_FAULT: f64 = 2.5e-6;
/// Longest time in s that a small read or write is believed to take without waiting.
const S_PER_FILE_CALL: f64 = 10e-6;
/// Size in bytes up to which reads and writes are small.
const SMALL_BYTES: f64 = 4096.0;

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    [page_faults(run), small_files(run), blocked(run)].into_iter().flatten().collect()
}

fn sum(run: &Run<'_>, of: impl Fn(&RankUsage) -> f64) -> f64 {
    run.summary.ranks.iter().filter_map(|rank| rank.usage.as_ref()).map(of).sum()
}

fn page_faults(run: &Run<'_>) -> Option<Finding> {
    // Calls of files use the kernel's time as well.
    let cost_s = |usage: &RankUsage| {
        let left_s = usage.system_s - file_cost_s(usage);
        left_s.min(usage.page_faults as f64 * S_PER_FAULT).max(0.0)
    };
    let share = run.share(sum(run, cost_s));
    let n_faults = run.summary.ranks.iter().filter_map(|rank| rank.usage.as_ref());
    let n_faults: u64 = n_faults.map(|usage| usage.page_faults).sum();
    let n_repeated = sum(run, |usage| usage.repeated_faults() as f64);
    let why = if n_faults as f64 <= 2.0 * n_repeated {
        "since memory is taken from the system and given back again and again. Keep it (`MALLOC_TRIM_THRESHOLD_=-1 \
         MALLOC_MMAP_MAX_=0`), use huge pages (`GLIBC_TUNABLES=glibc.malloc.hugetlb=1`), or allocate once."
    } else {
        "most of them where memory is used for the first time. Use huge pages: `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` for what \
         `malloc` gives, `madvise` with `MADV_HUGEPAGE` for static arrays."
    };
    let text = format!(
        "Page faults take about {} of the ranks' time: {} of them, {why}",
        percent(share),
        count(n_faults),
    );
    (super::SHARE_MIN <= share).then_some(Finding { text, call_site: None, share })
}

/// Processor time of a rank's reads and writes, at most, in s.
fn file_cost_s(usage: &RankUsage) -> f64 {
    let moved_bytes = usage.files.read_bytes.saturating_add(usage.files.written_bytes);
    let is_small = moved_bytes as f64 <= SMALL_BYTES * usage.files.calls as f64;
    if is_small { usage.system_s.min(usage.files.calls as f64 * S_PER_FILE_CALL) } else { 0.0 }
}

fn small_files(run: &Run<'_>) -> Option<Finding> {
    // Between nodes, MPI itself may read and write sockets.
    if 1 < run.summary.n_nodes {
        return None;
    }
    let share = run.share(sum(run, file_cost_s));
    let files = || run.summary.ranks.iter().filter_map(|rank| Some(rank.usage.as_ref()?.files));
    let n_calls: u64 = files().map(|files| files.calls).sum();
    let moved_bytes: u64 = files().map(|files| files.read_bytes + files.written_bytes).sum();
    let text = format!(
        "Small reads and writes of files take about {} of the ranks' time: {} system calls of {} on average. Use a buffer, or write \
         more at once.",
        percent(share),
        count(n_calls),
        bytes(moved_bytes / n_calls.max(1)),
    );
    (super::SHARE_MIN <= share).then_some(Finding { text, call_site: None, share })
}

fn blocked(run: &Run<'_>) -> Option<Finding> {
    // A shortage of cores by quota looks like sleep to the kernel.
    let quota_s = if run.is_throttled() { run.shortage.waiting_s } else { 0.0 };
    // So do threads that sleep while they wait for others of their team.
    let openmp_s = super::openmp::waiting_s(run.summary);
    let blocked_s = sum(run, |usage| usage.compute_blocked_s) - quota_s - openmp_s;
    let share = run.share(blocked_s.max(0.0));
    let read: u64 =
        run.summary.ranks.iter().filter_map(|rank| rank.usage.as_ref()).map(moved).sum();
    let text = format!(
        "Ranks neither compute nor communicate for {} of their time: they sleep, or wait for files ({} read and written), locks or \
         other threads.",
        percent(share),
        bytes(read),
    );
    (super::SHARE_MIN <= share).then_some(Finding { text, call_site: None, share })
}

fn moved(usage: &RankUsage) -> u64 {
    usage.files.read_bytes.saturating_add(usage.files.written_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::runs::{SummaryBuilder, check};
    use super::*;
    use run_record::summary::FileTotals;

    fn made(change: impl Fn(&mut RankUsage)) -> SummaryBuilder {
        SummaryBuilder::ranks(&[9.0, 9.0]).usage(change)
    }

    #[test]
    fn faults_cost_time_in_the_kernel() {
        let faults =
            |n| move |usage: &mut RankUsage| (usage.page_faults, usage.system_s) = (n, 3.0);
        let words = &["30.0 %", "4.00 M of them", "again and again"][..];
        check(findings, made(faults(2_000_000)), &[(0.3, None, words)]);
        check(findings, made(faults(1000)), &[]);
        let touched = |usage: &mut RankUsage| {
            faults(2_000_000)(usage);
            usage.memory_max_bytes = 7 << 30;
        };
        check(findings, made(touched), &[(0.3, None, &["30.0 %", "for the first time"])]);
    }

    #[test]
    fn small_writes_cost_time_in_the_kernel() {
        let files = |calls| FileTotals { written_bytes: 100_000_000, calls, read_bytes: 0 };
        let made = |calls| made(move |usage| (usage.files, usage.system_s) = (files(calls), 3.0));
        let words = &["30.0 %", "2.00 M system calls of 100 B"][..];
        check(findings, made(1_000_000), &[(0.3, None, words)]);
        check(findings, made(100), &[]);
    }

    #[test]
    fn sleep_is_neither_computing_nor_communicating() {
        let made = made(|usage| usage.compute_blocked_s = 4.0);
        check(findings, made, &[(0.4, None, &["40.0 %", "sleep"])]);
    }
}
