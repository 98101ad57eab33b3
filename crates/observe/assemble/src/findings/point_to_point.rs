//! Findings about point-to-point messages: waiting for the partner, too many small ones, much data.
//!
//! A call that takes far longer than its bytes need was waiting for a late partner.

use super::{Finding, Run, at_site, call_in_words};
use display::units::{bytes, count, percent, seconds, whole};
use run_record::summary::CallSite;

/// Cost of a call without waiting on a slow network, in seconds: latency and time per byte.
const LATENCY_S: f64 = 10e-6;
const S_PER_BYTE: f64 = 1e-9;
/// Size in bytes up to which messages are small.
const SMALL_BYTES: f64 = 512.0;
/// Number of small messages from a site below which they do not matter.
const N_SMALL_MIN: u64 = 10_000;
/// Size in bytes from which on messages are large.
const LARGE_BYTES: f64 = 64.0 * 1024.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Waiting,
    Small,
    Large,
    Other,
}

pub(super) fn findings(run: &Run<'_>) -> Vec<Finding> {
    let sites: Vec<&CallSite> = ["point-to-point", "completion"]
        .into_iter()
        .flat_map(|class| run.sites_of(class))
        .filter(|site| !super::polling::is_poll(&site.operation))
        .collect();
    let of = |cause: Cause| sites.iter().copied().filter(move |site| cause_of(site) == cause);
    let waiting: Vec<&CallSite> = of(Cause::Waiting).collect();
    let small: Vec<&CallSite> = of(Cause::Small).collect();
    let large: Vec<&CallSite> = of(Cause::Large).collect();
    let findings =
        [waiting_for_partners(run, &waiting), small_messages(run, &small), much_data(run, &large)];
    findings.into_iter().flatten().collect()
}

fn cause_of(site: &CallSite) -> Cause {
    let n_calls = site.calls.max(1) as f64;
    let (each_s, bytes) = (site.time_s / n_calls, site.bytes as f64 / n_calls);
    let needed_s = LATENCY_S + bytes * S_PER_BYTE;
    match () {
        () if 5.0 * needed_s < each_s => Cause::Waiting,
        () if LARGE_BYTES <= bytes => Cause::Large,
        () if site.bytes != 0 && bytes <= SMALL_BYTES && N_SMALL_MIN <= site.calls => Cause::Small,
        () => Cause::Other,
    }
}

fn longest<'a>(sites: &[&'a CallSite]) -> Option<&'a CallSite> {
    sites.iter().copied().max_by(|a, b| a.time_s.total_cmp(&b.time_s))
}

fn total_s(sites: &[&CallSite]) -> f64 {
    sites.iter().map(|site| site.time_s).sum()
}

fn waiting_for_partners(run: &Run<'_>, sites: &[&CallSite]) -> Option<Finding> {
    let site = longest(sites)?;
    let total_s = total_s(sites);
    // Waiting caused by an uneven load is reported by `balance`.
    let share = run.mpi_share(total_s - run.imbalance_s());
    let n_calls = site.calls.max(1) as f64;
    let late = match site.operation.as_str() {
        name if name.contains("end") && !name.contains("recv") => {
            "the receiver posts its receive late"
        }
        name if name.contains("Wait") => "the other side starts its part late",
        _ => "the sender is late",
    };
    let text = format!(
        "Ranks wait for messages: {} of their time is in calls that take far longer than their bytes need, most in {} ({} a call for {}): {late}. Look at what the partner does before.",
        percent(run.share(total_s)),
        call_in_words(site),
        seconds(site.time_s / n_calls),
        bytes(whole(site.bytes as f64 / n_calls)),
    );
    (super::SHARE_MIN <= share).then(|| at_site(site, share, text))
}

fn small_messages(run: &Run<'_>, sites: &[&CallSite]) -> Option<Finding> {
    let site = longest(sites)?;
    let share = run.mpi_share(total_s(sites));
    let text = format!(
        "Many small messages take {} of the ranks' time, almost all of it latency, most in {}: {} calls of {} on average. Send fewer and larger ones.",
        percent(share),
        call_in_words(site),
        count(site.calls),
        bytes(site.bytes / site.calls.max(1)),
    );
    (super::SHARE_MIN <= share).then(|| at_site(site, share, text))
}

fn much_data(run: &Run<'_>, sites: &[&CallSite]) -> Option<Finding> {
    let site = longest(sites)?;
    let share = run.mpi_share(total_s(sites));
    let text = format!(
        "Moving large messages takes {} of the ranks' time, most in {}: {} at {}/s. Overlap them with computation, or move less.",
        percent(share),
        call_in_words(site),
        bytes(site.bytes),
        bytes(whole(site.bytes as f64 / site.time_s.max(f64::MIN_POSITIVE))),
    );
    (super::SHARE_MIN <= share).then(|| at_site(site, share, text))
}

#[cfg(test)]
mod tests {
    use super::super::runs::{SummaryBuilder, check};
    use super::*;

    fn made() -> SummaryBuilder {
        SummaryBuilder::ranks(&[6.0, 6.0])
    }

    #[test]
    fn calls_far_longer_than_their_bytes_need_are_waiting() {
        let late = made().site("MPI_Recv", 100, 800, &[4.0, 4.0]);
        check(findings, late, &[(0.4, Some(0), &["for 8 B", "the sender is late"])]);
        let late = made().site("MPI_Ssend", 100, 800, &[4.0, 4.0]);
        check(findings, late, &[(0.4, Some(0), &["the receiver posts"])]);
        let late = made().site("MPI_Waitall", 100, 0, &[4.0, 4.0]);
        check(findings, late, &[(0.4, Some(0), &["the other side"])]);
    }

    #[test]
    fn waiting_for_a_rank_with_more_work_is_said_elsewhere() {
        let made = SummaryBuilder::ranks(&[9.9, 6.0]).site("MPI_Recv", 100, 800, &[0.0, 3.9]);
        check(findings, made, &[]);
    }

    #[test]
    fn many_small_messages_are_latency() {
        let small = made().site("MPI_Recv", 1_200_000, 9_600_000, &[1.0, 1.0]);
        let small = small.site("MPI_Send", 1_200_000, 9_600_000, &[3.0, 3.0]);
        let words = &["take 40.0 %", "MPI_Send at a.c:1", "1.20 M calls of 8 B"];
        check(findings, small, &[(0.4, Some(1), words)]);
        check(findings, made().site("MPI_Send", 9000, 72_000, &[0.1, 0.1]), &[]);
    }

    #[test]
    fn large_messages_are_bandwidth() {
        let large = made().site("MPI_Sendrecv", 1000, 8_000_000_000, &[4.0, 4.0]);
        check(findings, large, &[(0.4, Some(0), &["7.45 GiB at 954 MiB/s"])]);
    }

    #[test]
    fn polls_are_said_elsewhere() {
        check(findings, made().site("MPI_Iprobe", 10, 0, &[4.0, 4.0]), &[]);
    }
}
