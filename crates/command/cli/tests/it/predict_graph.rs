//! Tests of `sintonia predict MODELS --graph`: models of regions along the graph of a program.

use crate::sintonia::Sandbox;
use serde_json::Value;
use std::fmt::Write;

/// Program in which the master sends to every worker and waits for the answers.
const PROGRAM: &str = "\
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size;
    double x[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        for (int to = 1; to < size; to++)
            MPI_Send(x, 4, MPI_DOUBLE, to, 0, MPI_COMM_WORLD); /* 12 */
        for (int from = 1; from < size; from++)
            MPI_Recv(x, 4, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(x, 4, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(x, 4, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); /* 17 */
    }
    MPI_Finalize();
    return 0;
}
";

const PREDICT: &str = "predict measured.jsonl --graph program.c";

/// Sandbox with measurements: workers compute `1e-3 * n^2 / p`, half of it in a function, the master `1e-4 * n` before it
/// sends.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("program.c", PROGRAM);
    let mut lines = String::new();
    for n in [100.0, 200.0, 300.0, 400.0, 500.0_f64] {
        for p in [1.0, 2.0, 4.0, 8.0, 16.0] {
            for (region, value) in [
                ("master->program.c:12 MPI_Send", 1e-4 * n),
                ("workers->program.c:17 MPI_Send", 5e-4 * n * n / p),
                ("workers->program.c:17 MPI_Send->multiply", 5e-4 * n * n / p),
            ] {
                writeln!(
                    lines,
                    r#"{{"params":{{"n":{n},"p":{p}}},"callpath":"{region}","metric":"computation","value":{value}}}"#
                )
                .expect("text grows");
            }
        }
    }
    sandbox.write("measured.jsonl", lines);
    sandbox
}

/// Checks the time of the whole program at each point.
#[track_caller]
fn check(words: &str, expected_s: &[f64]) {
    let all = sandbox().said(&format!("{PREDICT} --json {words}")).json();
    let list = all["predictions"].as_array().expect("a list");
    let totals: Vec<&Value> = list.iter().filter(|one| one["region"].is_null()).collect();
    assert_eq!(totals.len(), expected_s.len());
    for (total, expected_s) in totals.iter().zip(expected_s) {
        let value = total["value"].as_f64().expect("a time");
        assert!((value / expected_s - 1.0).abs() < 1e-3, "{total}, not {expected_s}");
    }
}

#[test]
fn a_program_takes_what_its_graph_makes_of_its_regions() {
    // The master computes, then all workers do; nothing else takes time.
    check("--set n=1000 --set p=4 --ranks p+1 --machine ideal", &[0.1 + 250.0]);
    check("--set n=1000 --set p=4,8 --machine ideal", &[0.1 + 250.0, 0.1 + 125.0]);
}

#[test]
fn another_network_makes_another_time() {
    let sandbox = sandbox();
    // Each message takes a second: the master sends four, one after the other, and receives four.
    sandbox.write("slow.toml", "latency_us = 1e6\nper_byte_ns = 0\neager_bytes = 0\n");
    let words = "--json --set n=1000 --set p=4 --ranks p+1 --machine slow.toml";
    let all = sandbox.said(&format!("{PREDICT} {words}")).json();
    let value = all["predictions"][0]["value"].as_f64().expect("a time");
    // The last worker ends a second after the one before it, when the master is ready to receive.
    assert!((value - (0.1 + 4.0 + 250.0 + 1.0)).abs() < 0.3, "{value}");
}

#[test]
fn draws_have_a_mean_and_an_interval() {
    let sandbox = sandbox();
    let branch = PROGRAM.replace(
        "    MPI_Finalize",
        "    for (int i = 0; i < 100; i++)\n        if (diverges(x))\n            \
         MPI_Barrier(MPI_COMM_WORLD);\n    MPI_Finalize",
    );
    sandbox.write("program.c", branch);
    sandbox.write("slow.toml", "latency_us = 1e6\nper_byte_ns = 0\n");
    let words = "--json --set n=100 --set p=2 --seed 7 --draws 100 --machine slow.toml";
    let all = sandbox.said(&format!("{PREDICT} {words}")).json();
    let [low, value, high] =
        ["low", "value", "high"].map(|key| all["predictions"][0][key].as_f64().expect(key));
    // Half of a hundred barriers of a second, with a tolerance of two deviations of five, two messages and 5 s of work.
    assert!((value - 57.0).abs() < 3.0, "{value}");
    assert!((5.0..15.0).contains(&(value - low)) && (5.0..15.0).contains(&(high - value)));
}

#[test]
fn members_and_expressions_are_given_as_they_are_printed() {
    let sandbox = sandbox();
    let text = PROGRAM.replace(
        "    MPI_Finalize",
        "    for (int i = 0; i < 2 * sim->nSteps + box[1]; i++)\n        MPI_Barrier(MPI_COMM_WORLD);\n    MPI_Finalize",
    );
    sandbox.write("program.c", text);
    sandbox.write("slow.toml", "latency_us = 1e6\nper_byte_ns = 0\n");
    let point = format!("{PREDICT} --json --set n=100 --set p=2 --machine slow.toml");
    let said = sandbox.said(&point);
    said.check_errors(
        100,
        "needs the value of `box[1]` and `sim->nSteps`: give it (`--let 'NAME=EXPRESSION'`)",
    );
    let time_s = |words: &str| {
        let all = sandbox.said(&format!("{point} {words}")).json();
        all["predictions"][0]["value"].as_f64().expect("a time")
    };
    let given = time_s("--let sim->nSteps=n/10 --let box[1]=1");
    assert!(time_s("--let sim->nSteps=1 --let box[1]=1") + 15.0 < given);
    assert_eq!(time_s("--let sim.nSteps=n/10 --let box[1]=1").to_bits(), given.to_bits());
    assert_eq!(time_s("--let 2*sim->nSteps+box[1]=21").to_bits(), given.to_bits());
    assert_eq!(time_s("--let 2·sim->nSteps=20 --let box[1]=1").to_bits(), given.to_bits());
}

#[test]
fn what_no_model_knows_is_a_note_and_what_makes_no_sense_is_refused() {
    let sandbox = sandbox();
    let point = format!("{PREDICT} --set n=100 --set p=2");
    let told = sandbox.said(&format!("{point} --ranks p+1"));
    assert!(told.output.contains("`master->program.c:14 MPI_Recv` has no model"), "{told:?}");
    sandbox.said(&format!("{point} --ranks p-2")).check_errors(2, "--ranks");
    sandbox.said(&format!("{point} --engine smpi")).check_errors(2, "--engine");
    sandbox.said(&format!("{point} --let x")).check_errors(2, "--let");
    let without = sandbox.said("predict measured.jsonl --set n=100 --set p=2 --ranks p");
    without.check_errors(2, "--graph");
}
