//! Validation of time-independent traces, and their replay by SimGrid where it is installed.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Contents of one rank's file that must match those of others.
#[derive(Default)]
struct Rank {
    /// Messages sent and received, by sender, receiver and tag.
    sent: HashMap<[u32; 3], Vec<u64>>,
    received: HashMap<[u32; 3], Vec<u64>>,
    collectives: Vec<String>,
}

/// Panics at the first line that a replay would reject.
#[track_caller]
pub(crate) fn validate(dir: &Path) {
    let index = fs::read_to_string(dir.join("trace.txt")).unwrap();
    let n_ranks = index.lines().count();
    let hosts = fs::read_to_string(dir.join("hostfile")).unwrap();
    assert_eq!(hosts.lines().count(), n_ranks);
    let ranks: Vec<Rank> = (0..)
        .zip(index.lines())
        .map(|(rank, file)| read(rank, n_ranks, &fs::read_to_string(dir.join(file)).unwrap()))
        .collect();
    let gather = |part: fn(&Rank) -> &HashMap<[u32; 3], Vec<u64>>| {
        let mut all: HashMap<[u32; 3], Vec<u64>> = HashMap::new();
        for (key, sizes) in ranks.iter().flat_map(part) {
            all.entry(*key).or_default().extend(sizes);
        }
        all
    };
    assert_eq!(gather(|rank| &rank.sent), gather(|rank| &rank.received), "messages pair up");
    for rank in &ranks {
        assert_eq!(rank.collectives, ranks[0].collectives, "collectives pair up");
    }
}

#[track_caller]
fn read(rank: u32, n_ranks: usize, text: &str) -> Rank {
    let mut found = Rank::default();
    let mut open: HashMap<[u32; 3], usize> = HashMap::new();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.first(), Some(&format!("{rank} init").as_str()));
    assert_eq!(lines.last(), Some(&format!("{rank} finalize").as_str()));
    for line in &lines[1..lines.len() - 1] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[0], rank.to_string(), "{line}");
        let numbers: Vec<u64> = words[2..].iter().map(|word| word.parse().unwrap()).collect();
        let peer = |at: usize| {
            assert!(numbers[at] < n_ranks as u64, "{line}");
            u32::try_from(numbers[at]).unwrap()
        };
        match (words[1], numbers.len()) {
            ("compute", 1) => assert!(0 < numbers[0], "{line}"),
            (name @ ("send" | "isend"), 3) => {
                let key = [rank, peer(0), tag(numbers[1])];
                found.sent.entry(key).or_default().push(numbers[2]);
                *open.entry(key).or_default() += usize::from(name == "isend");
            }
            (name @ ("recv" | "irecv"), 3) => {
                let key = [peer(0), rank, tag(numbers[1])];
                found.received.entry(key).or_default().push(numbers[2]);
                *open.entry(key).or_default() += usize::from(name == "irecv");
            }
            ("wait", 3) => {
                let n_open = open.get_mut(&[peer(0), peer(1), tag(numbers[2])]).unwrap();
                *n_open =
                    n_open.checked_sub(1).unwrap_or_else(|| panic!("nothing to wait for: {line}"));
            }
            (name, n_numbers) => {
                let (expected, root) = shape(name, n_ranks);
                assert_eq!(n_numbers, expected, "{line}");
                assert!(numbers.iter().all(|number| i32::try_from(*number).is_ok()), "{line}");
                let root = root.map(|at| numbers[at]);
                assert!(root.is_none_or(|root| root < n_ranks as u64), "{line}");
                found.collectives.push(format!("{name} {root:?}"));
            }
        }
    }
    found
}

fn tag(number: u64) -> u32 {
    i32::try_from(number).unwrap().cast_unsigned()
}

/// Returns the number of arguments of a collective action, and the position of the root among them.
#[track_caller]
fn shape(name: &str, n: usize) -> (usize, Option<usize>) {
    match name {
        "barrier" => (0, None),
        "bcast" => (2, Some(1)),
        "reduce" => (3, Some(2)),
        "allreduce" | "scan" | "exscan" | "allgather" | "alltoall" => (2, None),
        "gather" | "scatter" => (3, Some(2)),
        "gatherv" | "scatterv" => (n + 2, Some(n + 1)),
        "allgatherv" | "reducescatter" => (n + 1, None),
        "alltoallv" => (2 * n + 2, None),
        _ => panic!("no such action: `{name}`"),
    }
}

/// Replays the trace; returns the simulated time, or `None` if `smpirun` (or `$SMPIRUN`) is not installed.
#[track_caller]
pub(crate) fn run(dir: &Path, n_ranks: usize) -> Option<f64> {
    let named = std::env::var_os("SMPIRUN");
    let program = named.clone().unwrap_or_else(|| "smpirun".into());
    let mut command = Command::new(&program);
    command.current_dir(dir).args(["-np", &n_ranks.to_string()]);
    command.args(["-platform", "platform.xml", "-hostfile", "hostfile", "-replay", "trace.txt"]);
    let output = match command.output() {
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            println!("`smpirun` is not installed: the trace was validated but not replayed");
            return None;
        }
        run => run.unwrap(),
    };
    let text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let simulated = text.rsplit_once("Simulation time ").unwrap_or_else(|| panic!("{text}")).1;
    Some(simulated.split_whitespace().next().unwrap().parse().unwrap())
}
