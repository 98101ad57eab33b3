//! Tests of `sintonia fit` and the file that it writes.

use crate::sintonia::Sandbox;
use serde_json::Value;
use std::io::Write as _;

/// Values of `n`, `p` and `2e-6 * n^3 / p + 5`.
fn points_and_values() -> Vec<[f64; 3]> {
    let at = |n: f64| [1.0, 2.0, 4.0, 8.0].map(|p| [n, p, 2e-6 * n.powi(3) / p + 5.0]);
    [100.0, 200.0, 300.0, 400.0, 500.0].map(at).concat()
}

/// These values in Extra-P's text, with parameters of these names and one disturbed repetition.
pub(crate) fn extrap_text(names: [&str; 2], region: &str) -> String {
    let (mut points, mut data) = (String::new(), String::new());
    for [n, p, value] in points_and_values() {
        let disturbed = if n < 150.0 { 3.0 * value } else { value };
        points += &format!(" ({n} {p})");
        data += &format!("DATA {value} {value} {disturbed}\n");
    }
    let [n, p] = names;
    format!("PARAMETER {n}\nPARAMETER {p}\nPOINTS{points}\nREGION {region}\nMETRIC time\n{data}")
}

/// The same measurements as rows of a table.
pub(crate) fn table(heading: &str, separator: char) -> String {
    let row = |[n, p, value]: [f64; 3]| format!("{n}{separator}{p}{separator}{value}\n");
    format!("{heading}\n{}", points_and_values().into_iter().map(row).collect::<String>())
}

#[track_caller]
fn list(sandbox: &Sandbox, words: &str) -> Vec<Value> {
    sandbox.said(words).parsed()
}

const MODEL: &str = "2e-6 * n^3 / p + 5";

#[track_caller]
fn check_read(file: &str, text: &str, options: &str, model: &str) {
    let sandbox = Sandbox::with(&[(file, text)]);
    let list = list(&sandbox, &format!("fit {file} --json{options}"));
    assert_eq!(list.len(), 1);
    assert_eq!(list[0]["model"], model, "{}", list[0]);
    assert!(list[0]["held_out_error"].as_f64().expect("a number") < 1e-3, "{}", list[0]);
}

#[test]
fn measurements_are_read_in_many_forms() {
    check_read("a.txt", &extrap_text(["n", "p"], "main->solve"), "", MODEL);
    check_read("a.txt", &extrap_text(["size", "cores"], "x"), "", "2e-6 * size^3 / cores + 5");
    check_read("a.csv", &table("n,p,time", ','), "", MODEL);
    check_read("a.csv", &table("n;p;Time (s)", ';'), "", MODEL);
    check_read("a.tsv", &table("n\tp\telapsed_s", '\t'), "", MODEL);
    check_read("a.csv", &table("n,p,what", ','), " --value what --parameter n,p", MODEL);
    let line = |[n, p, value]: [f64; 3]| {
        format!("{{\"params\":{{\"n\":{n},\"p\":{p}}},\"value\":{value}}}\n")
    };
    let lines: String = points_and_values().into_iter().map(line).collect();
    check_read("a.jsonl", &lines, "", MODEL);
    let talpas = lines
        .replace("\"params\"", "\"parameters\"")
        .replace(",\"value\"", ";\"metric\":\"time\";\"callpath\":\"a\";\"value\"");
    check_read("a.json", &talpas, "", MODEL);
}

#[test]
fn a_folder_of_an_experiment_is_read() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("out")).expect("a folder");
    let line = |p: u32, role: &str, value: f64| {
        format!(
            "{{\"params\":{{\"p\":{p}}},\"callpath\":\"{role}\",\"metric\":\"time\",\"value\":{value}}}\n"
        )
    };
    let lines: String = [1, 2, 4, 8, 16]
        .map(|p| {
            line(p, "rank 0->a.c:1 MPI_Send", 3.0)
                + &line(p, "ranks 1-->a.c:2 MPI_Recv", 16.0 / f64::from(p))
        })
        .concat();
    sandbox.write("out/measurements.jsonl", lines);
    sandbox.write("out/experiment.json", "{\"program\":\"matmul\"}");
    let list = list(&sandbox, "fit out --json -o models.json");
    assert_eq!(list.len(), 2);
    let file: Value = serde_json::from_str(&sandbox.read("models.json")).expect("it works");
    assert_eq!(file["format_version"], 1);
    assert_eq!(file["program"], "matmul");
    assert_eq!(file["roles"]["ranks 1-"][0], "ranks 1-->a.c:2 MPI_Recv");
    let predicted = sandbox.said("predict models.json --set p=4 --json").json();
    assert_eq!(predicted["predictions"][0]["role"], "ranks 1-");
    assert!((predicted["predictions"][0]["value"].as_f64().expect("a number") - 4.0).abs() < 1e-6);
    // Measurements that were kept back are compared with.
    sandbox.write("out/holdout.jsonl", line(32, "total", 2.0));
    let compared = sandbox.said("validate models.json out --json").json();
    assert_eq!(compared["summary"]["n_points"], 1);
    assert!((compared["points"][0]["predicted"].as_f64().expect("a number") - 3.0).abs() < 1e-6);
}

#[test]
fn standard_input_is_a_file() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.start(&["fit", "-", "--json"]);
    let mut input = child.stdin.take().expect("piped");
    input.write_all(extrap_text(["n", "p"], "a").as_bytes()).expect("read");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let list: Value = serde_json::from_slice(&output.stdout).expect("a list");
    assert_eq!(list[0]["model"], MODEL);
}

#[test]
fn the_list_says_what_was_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", extrap_text(["n", "p"], "main->solve"));
    let all = list(&sandbox, "fit a.txt --json");
    let one = &all[0];
    assert_eq!(["region", "metric"].map(|key| &one[key]), ["main->solve", "time"]);
    assert_eq!(["dropped", "n_samples", "n_points"].map(|key| &one[key]), [4, 60, 20]);
    assert_eq!(one["warnings"], serde_json::json!([]));
    assert_eq!(one["measured_between"]["p"], serde_json::json!([1.0, 8.0]));
    let mean = list(&sandbox, "fit a.txt --json --samples mean");
    assert_eq!(mean[0]["dropped"], 0);
    let kept = list(&sandbox, "fit a.txt --json --holdout p=8 --holdout n=400,500");
    assert_eq!(kept[0]["unseen"]["n_points"], 2);
    assert!(kept[0]["unseen"]["smape_percent"].as_f64().expect("a number") < 0.1, "{}", kept[0]);
    let given = list(&sandbox, "fit a.txt --json --method pseudo-inverse --terms 1,n^3/p");
    assert_eq!(given[0]["model"], "5 + 2e-6 * n^3 / p");
}

#[test]
fn people_get_a_table_a_picture_and_files() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", extrap_text(["n", "p"], "main->solve"));
    let said = sandbox.said("fit a.txt --plot a.svg --csv a.csv --write-extrap a.json");
    assert!(sandbox.read("a.svg").contains("measured / predicted"), "residuals");
    insta::assert_snapshot!("fit-table", said.silent());
    let [svg, csv] = ["a.svg", "a.csv"].map(|name| sandbox.read(name));
    assert!(svg.starts_with("<svg ") && svg.contains("<polygon"));
    assert!(csv.starts_with("region,metric,model,held_out_error,"), "{csv}");
    let again = list(&sandbox, "fit a.json --json");
    assert_eq!(again[0]["model"], MODEL);
}

#[track_caller]
fn check(words: &str, code: i32, part: &str) {
    let sandbox = Sandbox::with(&[
        ("a.txt", &extrap_text(["n", "p"], "a")),
        ("bad.txt", "PARAMETER p\nPOINTS 1 2\nREGION a\nDATA x\n"),
        ("cut.json", "{\"parameters\": [\"p\"],\n \"measure"),
        ("empty.txt", ""),
    ]);
    // In a folder whose name has no parameters, which that of the sandbox may have.
    for name in ["packed/a.cubex", "packed/a.p4.cubex"] {
        sandbox.write(name, [0x1f, 0x8b, 0x08, 0xff]);
    }
    let said = sandbox.said(words);
    said.check_errors(code, part);
    assert_eq!(said.output, "");
    assert!(code == 2 || said.errors.lines().count() == 1, "{}", said.errors);
}

#[test]
fn what_is_wrong_is_said_with_a_code() {
    check("fit none.txt", 105, "`none.txt`: ");
    check("fit bad.txt", 105, "`bad.txt`: line 4: `x` is not a number: write it like 12 or 1.5e-3");
    check("fit cut.json", 105, "`cut.json`: line 2: ");
    check("fit empty.txt", 105, "`empty.txt`: line 1: ");
    check(
        "fit packed/a.cubex",
        105,
        "`packed/a.cubex`: archive: neither its folder's name nor its own",
    );
    check("fit packed/a.p4.cubex", 105, "`packed/a.p4.cubex`: archive: it cannot be unpacked");
    check("fit shm", 105, "name a folder that `sintonia experiment` wrote");
    check("fit a.txt --value time", 2, "not CSV");
    check("fit a.txt --metric bytes", 2, "there is no metric `bytes`; there are time");
    check("fit a.txt --region b*", 2, "no region matches `b*`");
    check("fit a.txt --holdout q=1", 2, "there is no parameter `q`; there are n, p");
    check("fit a.txt --holdout p=3", 2, "matches no point");
    check("fit a.txt --holdout p", 2, "write NAME=VALUE");
    check("fit a.txt --terms n", 2, "`--terms` belong to `--method pseudo-inverse`");
    check("fit a.txt --method pseudo-inverse", 2, "needs `--terms`");
    check("fit a.txt --method pseudo-inverse --terms q", 2, "`q` is no part of a term");
    check("fit a.txt --role q=size", 2, "there is no parameter `q`");
    check("fit a.txt --samples best", 2, "near-minimum");
    check("fit a.txt -o none/models.json", 102, "none/models.json");
}

#[test]
fn a_bad_line_costs_itself_and_is_told() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", table("n,p,time", ',') + "x,1,2\n");
    let said = sandbox.said("fit a.csv --json");
    said.check_errors(0, "`a.csv`: line 22: `x` is not a number");
}

/// Profile of Score-P with the time of `main` on two threads, in seconds.
fn cube_profile(seconds: [f64; 2]) -> Vec<u8> {
    let anchor = r#"<?xml version="1.0"?><cube version="4.4">
        <metrics><metric id="0" type="INCLUSIVE"><uniq_name>time</uniq_name><dtype>DOUBLE</dtype></metric></metrics>
        <program><region id="1"><name>main</name></region><cnode id="0" calleeId="1"/></program>
        <system><systemtreenode><location/><location/></systemtreenode></system></cube>"#;
    let index =
        [&b"CUBEX.INDEX"[..], &1_u32.to_le_bytes(), &[0, 0, 1], &1_u32.to_le_bytes(), &[0; 4]];
    let values = seconds.map(f64::to_le_bytes);
    let data = [&b"CUBEX.DATA"[..], &values[0], &values[1]].concat();
    let mut bytes = Vec::new();
    for (name, contents) in
        [("anchor.xml", anchor.as_bytes()), ("0.index", &index.concat()), ("0.data", &data)]
    {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", contents.len()).as_bytes());
        header[257..262].copy_from_slice(b"ustar");
        bytes.extend(header);
        bytes.extend(contents);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes
}

#[test]
fn folders_of_other_tools_are_read_and_written_as_a_table() {
    let sandbox = Sandbox::new();
    sandbox.write("scorep/notes.json", "{\"author\": \"me\"}");
    for [n, p, value] in points_and_values() {
        let profile = cube_profile([value - 1.0, value + 1.0]);
        sandbox.write(&format!("scorep/mm.n{n}.p{p}.r1/profile.cubex"), profile);
        let scan = format!("{{\"results\": [{{\"command\": \"a\", \"times\": [{value}]}}]}}");
        sandbox.write(&format!("scans/a.n{n}.p{p}.json"), scan);
    }
    let said = sandbox.said("fit scorep --json --write-table table.csv");
    said.check_errors(0, "`notes.json` is not used: it is no profile, summary or scan");
    assert_eq!(said.parsed::<Vec<Value>>()[0]["region"], "main");
    for input in ["scorep", "scans", "table.csv"] {
        assert_eq!(list(&sandbox, &format!("fit {input} --json"))[0]["model"], MODEL, "{input}");
    }
    let table = sandbox.read("table.csv");
    assert!(table.starts_with("region,metric,p,n,value\nmain,time,"), "{table}");
    sandbox.write("scorep/mm.n9.p9.r1/profile.cubex", &cube_profile([1.0, 1.0])[..600]);
    let part = "`mm.n9.p9.r1/profile.cubex`, `anchor.xml`: it ends early: copy the file again";
    sandbox.said("fit scorep").check_errors(0, part);
}
