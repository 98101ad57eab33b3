//! Runs with one cause each: the first sentence of the report must name it.

use super::runs::SummaryBuilder;
use run_record::summary::{FileTotals, RankUsage};

/// Checks what the first sentence contains.
#[track_caller]
fn check(cause: &str, made: SummaryBuilder, words: &[&str]) {
    let summary = made.summary();
    let first = super::findings(&summary).into_iter().next().expect("a finding").text;
    for word in words {
        assert!(first.contains(word), "{cause}: `{word}` is not in `{first}`");
    }
}

/// Four ranks that compute for a time each.
fn four(useful_s: [f64; 4]) -> SummaryBuilder {
    SummaryBuilder::ranks(&useful_s)
}

/// What two ranks of a halo exchange look like when they have too few cores: all in MPI looks slow.
fn exchange(useful_s: &[f64], wait_s: f64) -> SummaryBuilder {
    let mpi_s: Vec<f64> = useful_s.iter().map(|useful_s| 10.0 - useful_s).collect();
    let half: Vec<f64> = mpi_s.iter().map(|mpi_s| 0.5 * mpi_s).collect();
    let calls = 10_000 * useful_s.len() as u64;
    let waits: Vec<(f64, f64)> =
        useful_s.iter().zip(&mpi_s).map(|(u, m)| (0.1 * wait_s * u, 0.1 * wait_s * m)).collect();
    SummaryBuilder::ranks(useful_s)
        .site("MPI_Waitall", calls, 0, &half)
        .site("MPI_Allreduce", calls, 8 * calls, &half)
        .waiting(&waits)
}

#[test]
fn cores_that_are_short() {
    let crowded = exchange(&[2.0; 8], 7.5).cores("0-1", 2);
    check("more ranks than cores", crowded, &["8 ranks share 2 cores on node0", "75.0 %"]);
    let crowded = exchange(&[8.0; 4], 5.0).cores("0-1", 2);
    check("more ranks than cores, little MPI", crowded, &["4 ranks share 2 cores", "50.0 %"]);
    let threads = exchange(&[6.0; 2], 5.0).cores("0-1", 2).threads(2);
    check("threads", threads, &["2 ranks with 4 busy threads share 2 cores", "OMP_NUM_THREADS=1"]);
    let bound = exchange(&[6.0], 5.0).bound(&["3"], 4).threads(2);
    check("threads on one core", bound, &["Rank 0 with 2 busy threads is bound to 1 core (3)"]);
    let foreign = exchange(&[6.0; 2], 3.0).cores("0-1", 2).foreign(0.8);
    check("another program", foreign, &["Other programs use 0.8 of the 2 cores", "30.0 %"]);
    let quota = exchange(&[3.0; 4], 0.1).cores("0-3", 4).quota(1.0, 28.0);
    check(
        "quota",
        quota,
        &["quota of their control group allows 4 ranks", "only 1 core", "70.0 %"],
    );
    let doubled = exchange(&[6.0; 2], 5.0).cores("0", 4);
    check("doubled binding", doubled, &["Ranks 0 and 1 are bound to 1 core (0)", "which has 4"]);
    let doubled = exchange(&[6.0; 3], 4.0).bound(&["0", "0", "1"], 4);
    check("one core twice", doubled, &["Ranks 0 and 1 are bound to 1 core (0)"]);
}

#[test]
fn time_in_the_kernel() {
    let made = |change: fn(&mut RankUsage)| four([9.5; 4]).usage(change);
    let faults = made(|usage| (usage.page_faults, usage.system_s) = (2_000_000, 4.0));
    check("page faults", faults, &["Page faults take about 40.0 %"]);
    let files = made(|usage| {
        usage.files = FileTotals { written_bytes: 50_000_000, calls: 500_000, read_bytes: 0 };
        usage.system_s = 3.0;
    });
    check("small files", files, &["Small reads and writes of files take about 30.0 %", "of 100 B"]);
    let sleep = made(|usage| usage.compute_blocked_s = 6.0);
    check("sleep", sleep, &["neither compute nor communicate for 60.0 %"]);
}

#[test]
fn load_that_is_not_even() {
    let function = four([3.0, 3.0, 9.0, 3.0])
        .site("MPI_Barrier", 100, 0, &[3.5, 3.5, 0.5, 3.5])
        .site("MPI_Allreduce", 100, 800, &[3.5, 3.5, 0.5, 3.5])
        .region(0, &[1.0, 1.0, 7.0, 1.0])
        .region(1, &[2.0, 2.0, 2.0, 2.0]);
    let words = ["out of balance: rank 2", "The extra work is before MPI_Barrier at a.c:0"];
    check("imbalance in one function", function, &words);
    let slow = four([4.0, 8.0, 4.0, 4.0])
        .site("MPI_Barrier", 100, 0, &[3.0, 1.0, 3.0, 3.0])
        .site("MPI_Allreduce", 100, 800, &[3.0, 1.0, 3.0, 3.0])
        .site("MPI_Bcast", 100, 800, &[0.0; 4])
        .region(0, &[1.0, 2.0, 1.0, 1.0])
        .region(1, &[2.0, 4.0, 2.0, 2.0])
        .region(2, &[1.0, 2.0, 1.0, 1.0]);
    check("slow rank", slow, &["Rank 1 is slow everywhere", "2.0 times as long"]);
    let master = four([9.0, 3.0, 3.0, 3.0]).star(0, 1000).site(
        "MPI_Recv",
        3000,
        24_000,
        &[1.0, 7.0, 7.0, 7.0],
    );
    check("busy master", master, &["Rank 0 holds up the others"]);
    let idle = four([0.5, 9.0, 9.0, 9.0]).star(0, 1000).site(
        "MPI_Recv",
        3000,
        24_000,
        &[9.5, 1.0, 1.0, 1.0],
    );
    check("idle master", idle, &["Rank 0 gives out the work and computes for only 500 ms"]);
}

#[test]
fn messages() {
    let late = four([6.0; 4]).site("MPI_Recv", 400, 3200, &[4.0; 4]);
    check("late sender", late, &["MPI_Recv at a.c:0", "the sender is late"]);
    let late = four([6.0; 4]).site("MPI_Ssend", 400, 3200, &[4.0; 4]);
    check("late receiver", late, &["MPI_Ssend at a.c:0", "the receiver posts its receive late"]);
    let small = four([6.0; 4]).site("MPI_Send", 4_000_000, 32_000_000, &[4.0; 4]);
    check("small messages", small, &["Many small messages take 40.0 %"]);
    let large = four([6.0; 4]).site("MPI_Sendrecv", 4000, 16_000_000_000, &[4.0; 4]);
    check("large messages", large, &["Moving large messages takes 40.0 %"]);
    let polls = four([6.0; 4]).site("MPI_Iprobe", 8_000_000, 0, &[4.0; 4]);
    check("polling", polls, &["The program polls", "40.0 %"]);
}

#[test]
fn collectives() {
    let cost = four([6.0; 4]).site("MPI_Allreduce", 400_000, 3_200_000, &[4.0; 4]);
    check("cost of a collective", cost, &["Collective operations themselves take 40.0 %"]);
    let moving = four([6.0; 4]).site("MPI_Allreduce", 9, 72, &[0.1, 4.0, 4.0, 4.0]);
    let moving = moving.site("MPI_Allreduce", 9, 72, &[3.9, 0.0, 0.0, 0.0]);
    check("load that moves", moving, &["arrive", "MPI_Allreduce at a.c:0"]);
    let moving = four([6.0; 4]).site("MPI_Allreduce", 400, 3200, &[4.0; 4]);
    check("load that moves at one site", moving, &["arrive", "MPI_Allreduce at a.c:0"]);
}

#[test]
fn other_operations() {
    let each = [4.0; 4];
    let made = |operation, bytes| four([6.0; 4]).site(operation, 40, bytes, &each);
    check("files by MPI", made("MPI_File_write_at", 4_000_000), &["MPI-IO takes 40.0 %"]);
    check("windows", made("MPI_Win_fence", 0), &["One-sided communication takes 40.0 %"]);
    check("processes", made("MPI_Comm_spawn", 0), &["Starting and connecting processes"]);
    check("communicators", made("MPI_Comm_dup", 0), &["Making communicators takes 40.0 %"]);
    let good = SummaryBuilder::ranks(&[9.8; 4]);
    check("nothing", good, &["The run is efficient"]);
}
