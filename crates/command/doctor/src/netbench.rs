//! `sintonia netbench`: measures how long messages take between the ranks of a launcher.
//!
//! The launcher starts this program again, as ranks that measure (`netbench-rank`). Rank 0 prints the result as one
//! line of JSON behind a mark, so that output of the launcher itself does not disturb it.
//!
//! # Not here
//! Measuring (`comm::netbench`), and fitting lines to the times (`models::network`).

pub mod rank;

use anyhow::{Context, bail};
use clap::Args;
use display::chart::{self, ChartLine, Panel, Unit};
use display::table::Table;
use models::network::{Locality, NetModel, Networks, Pair};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use user_io::option_value::seconds;
use user_io::result_file;
use user_io::terminal::Terminal;

/// Prefix of the result in the output of rank 0.
const MARK: &str = "sintonia-netbench ";
/// Time for a launcher to end its ranks.
const GRACE: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Examples:
  sintonia netbench -- mpirun -np 2
  sintonia netbench --seconds 5 -- mpirun -np 4 --host a:2,b:2
  sintonia netbench --json -- srun -n 8 > network.json
  sintonia netbench --plot network.svg -- mpirun -np 2

When the ranks lie on several nodes, messages inside a node and between nodes are told apart, by `place` in the JSON.
A time is that of one message, half of a round trip. What stands behind `+-` is half of the interval
that holds the true value with 95 percent. A master/worker program begins with what was measured
when it is run with `--network network.json`.";

/// Measure latency and cost per byte between the ranks of a launcher
///
/// Times messages of 0 bytes to 4 MiB between rank 0 and each of the others, and between two ranks of each further
/// node, and fits lines to the medians, one for each protocol of the library (short messages are copied, long ones are
/// announced first).
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Time for each pair of ranks
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true, value_parser = |text: &str| seconds(text, 1e-3..=1e5))]
    seconds: f64,
    /// Time after which the measurement is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, allow_negative_numbers = true, value_parser = |text: &str| seconds(text, 1e-3..=1e5))]
    at_most: f64,
    /// Print the times and the lines as JSON
    #[arg(long)]
    json: bool,
    /// Write a picture of the times and the lines
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Launcher with its options, without a program
    #[arg(required = true, last = true, value_name = "LAUNCHER")]
    launcher: Vec<OsString>,
}

/// Measures and shows the result.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let output = ranks(options)?;
    let Some(line) = output.lines().find_map(|line| Some(line.split_once(MARK)?.1)) else {
        bail!("the ranks printed no result; the messages above say why");
    };
    let pairs: Vec<Pair> = serde_json::from_str(line).context("the result of rank 0 is damaged")?;
    if let Some(path) = &options.plot {
        result_file::write(path, &picture(&pairs))?;
    }
    let text =
        if options.json { format!("{:#}\n", serde_json::to_value(&pairs)?) } else { table(&pairs) };
    user_io::print::result(&text)
}

/// Starts the ranks; returns what they print.
fn ranks(options: &Options) -> anyhow::Result<String> {
    let own = std::env::current_exe().context("the path of this program is unknown")?;
    let (launcher, words) = options.launcher.split_first().context("a launcher is missing")?;
    let mut command = Command::new(launcher);
    command.args(words).arg(own).args(["netbench-rank", "--seconds", &options.seconds.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let name = launcher.to_string_lossy();
    let mut child = command.spawn().with_context(|| format!("cannot start `{name}`"))?;
    let output = match reader(&mut child) {
        Ok(output) => output,
        Err(error) => {
            end(&mut child)?;
            return Err(error).context("no thread can be started; see `ulimit -u`");
        }
    };
    let at_most =
        Duration::try_from_secs_f64(options.at_most).context("`--at-most` is out of range")?;
    let Ok(output) = output.recv_timeout(at_most) else {
        // On `SIGTERM` a launcher ends its ranks.
        end(&mut child)?;
        bail!("the ranks did not end within {} s; allow more with `--at-most`", options.at_most);
    };
    let status = child.wait().with_context(|| format!("`{name}` cannot be waited for"))?;
    if !status.success() {
        bail!("`{name}` ended with {status}; its messages above say why");
    }
    Ok(output)
}

/// Reads everything that the child prints, until it closes its output.
fn reader(child: &mut Child) -> std::io::Result<Receiver<String>> {
    let (tell, output) = channel();
    if let Some(mut pipe) = child.stdout.take() {
        let read = move || {
            let mut bytes = Vec::new();
            if pipe.read_to_end(&mut bytes).is_ok() {
                // After the time limit the receiver is gone.
                tell.send(String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
            }
        };
        std::thread::Builder::new().name("output".to_owned()).spawn(read)?;
    }
    Ok(output)
}

/// Sends `SIGTERM` to the launcher, and kills it if it goes on.
fn end(child: &mut Child) -> anyhow::Result<()> {
    kill_process(Pid::from_child(child), Signal::TERM)?;
    if timed_command::wait(child, GRACE)?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

/// Most pairs; further ones are not drawn.
const N_PAIRS_MAX: usize = 12;

/// Draws the picture as SVG.
fn picture(pairs: &[Pair]) -> String {
    let panel = Panel {
        x_name: "length of a message".to_owned(),
        y_name: "time one way".to_owned(),
        x_unit: Unit::Bytes,
        y_unit: Unit::Seconds,
        lines: pairs.iter().take(N_PAIRS_MAX).map(line).collect(),
        ..Panel::default()
    };
    chart::panels(&[panel], 1)
}

/// Medians of a pair with their intervals, and the times of its model.
fn line(pair: &Pair) -> ChartLine {
    let samples = &pair.model.samples;
    // A message of 0 bytes is drawn where one of 1 byte is.
    let x = |n_bytes: u64| n_bytes.max(1) as f64;
    let longest = samples.iter().map(|sample| x(sample.n_bytes)).fold(1.0, f64::max);
    let one_way = |at: f64| [at, pair.model.one_way_s(display::units::whole(at))];
    ChartLine {
        name: format!("{} and {}", pair.from, pair.to),
        line: chart::steps(1.0, longest).into_iter().map(one_way).collect(),
        intervals: samples.iter().map(|it| [x(it.n_bytes), it.low_s, it.high_s]).collect(),
        points: samples.iter().map(|it| [x(it.n_bytes), it.median_s]).collect(),
        ..ChartLine::default()
    }
}

/// Nanoseconds per KiB of one second per byte.
const NS_PER_KIB: f64 = 1024e9;

/// Table for every pair; where ranks lie on several nodes, also one for messages inside nodes and one for messages
/// between nodes.
fn table(pairs: &[Pair]) -> String {
    let nodes: BTreeSet<&String> = pairs.iter().flat_map(|pair| &pair.nodes).flatten().collect();
    let are_several = 1 < nodes.len();
    let section_of = |pair: &Pair| section(&title(pair, are_several), &pair.model);
    let mut text: String = pairs.iter().map(section_of).collect();
    if are_several {
        let networks = Networks::of(pairs);
        let n_pairs = |place| pairs.iter().filter(|pair| pair.place == Some(place)).count();
        let within = ("inside a node", networks.within_node, n_pairs(Locality::WithinNode));
        let between = ("between nodes", networks.between_nodes, n_pairs(Locality::BetweenNodes));
        for (what, model, n_pairs) in [within, between] {
            let of =
                if n_pairs == 1 { "1 pair" } else { &format!("the middle of {n_pairs} pairs") };
            text += &match model {
                Some(model) => section(&format!("{what}, {of}"), &model),
                None => "inside a node: no two ranks share one\n".to_owned(),
            };
        }
    }
    text
}

fn title(pair: &Pair, are_several: bool) -> String {
    let ranks = format!("ranks {} and {}", pair.from, pair.to);
    match &pair.nodes {
        Some([one, other]) if are_several && one == other => format!("{ranks}, inside `{one}`"),
        Some([one, other]) if are_several => format!("{ranks}, between `{one}` and `{other}`"),
        _ => ranks,
    }
}

/// Title, with the table of a model and examples.
fn section(title: &str, model: &NetModel) -> String {
    let margin = |value: f64, margin: f64| format!("{value:.2} +- {margin:.2}");
    let table = Table::new(&model.pieces)
        .right("from bytes", |it| it.from_bytes.to_string())
        .right("latency us", |it| margin(1e6 * it.latency_s, 1e6 * it.latency_margin_s))
        .right("cost ns/KiB", |it| {
            margin(NS_PER_KIB * it.s_per_byte, NS_PER_KIB * it.s_per_byte_margin)
        });
    let examples = [(8, "8 B"), (1 << 10, "1 KiB"), (64 << 10, "64 KiB"), (1 << 20, "1 MiB")];
    let times =
        examples.map(|(n_bytes, name)| format!("{name} {:.2} us", 1e6 * model.one_way_s(n_bytes)));
    format!("{title}\n{table}one way: {}\n\n", times.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use models::network::{LengthSample, LinearPiece};

    fn pair(to: u32) -> Pair {
        let sample = |power: u32| {
            let n_bytes = 1_u64 << power;
            let median_s = 1e-6 + 1e-9 * n_bytes as f64;
            let (low_s, high_s) = (0.9 * median_s, 1.1 * median_s);
            LengthSample { n_bytes, median_s, low_s, high_s, n_times: 9 }
        };
        let samples: Vec<LengthSample> = (0..21).map(sample).collect();
        Pair::new((0, to), ["a"; 2], NetModel::fit(&samples).expect("enough samples"))
    }

    #[test]
    fn every_pair_has_its_times_and_a_line() {
        let drawn = picture(&[pair(1), pair(2)]);
        assert_eq!(drawn.matches("<circle").count(), 42, "{drawn}");
        assert_eq!(drawn.matches("<polyline").count(), 2, "{drawn}");
        assert!(drawn.contains(">0 and 2<") && drawn.contains(">1 MiB<"), "{drawn}");
        assert!(drawn.contains(">100 µs<") && drawn.contains(">1 ms<"), "{drawn}");
    }

    fn model() -> NetModel {
        let piece = LinearPiece {
            from_bytes: 0,
            latency_s: 1.5e-6,
            latency_margin_s: 1e-8,
            s_per_byte: 2e-10,
            s_per_byte_margin: 1e-12,
        };
        NetModel { pieces: vec![piece], samples: Vec::new(), exchange_ratio: None }
    }

    const LINES: &str = "from bytes    latency us     cost ns/KiB
         0  1.50 +- 0.01  204.80 +- 1.02
one way: 8 B 1.50 us, 1 KiB 1.70 us, 64 KiB 14.61 us, 1 MiB 211.22 us

";

    #[track_caller]
    fn check(pairs: &[Pair], titles: &[&str], end: &str) {
        let tables = titles.iter().map(|title| format!("{title}\n{LINES}"));
        assert_eq!(table(pairs), tables.collect::<String>() + end);
    }

    #[test]
    fn a_pair_is_a_table() {
        check(&[Pair::new((0, 1), ["a", "a"], model())], &["ranks 0 and 1"], "");
        let older = Pair { from: 0, to: 1, nodes: None, place: None, model: model() };
        check(&[older], &["ranks 0 and 1"], "");
    }

    #[test]
    fn nodes_are_named_where_there_are_several() {
        let inside = Pair::new((0, 1), ["a", "a"], model());
        let between = Pair::new((0, 2), ["a", "b"], model());
        let title = "ranks 0 and 2, between `a` and `b`";
        check(
            &[inside, between.clone()],
            &["ranks 0 and 1, inside `a`", title, "inside a node, 1 pair", "between nodes, 1 pair"],
            "",
        );
        let said = table(&[between]);
        assert!(said.contains("inside a node: no two ranks share one\nbetween nodes, "), "{said}");
    }
}
