//! Files of other tools: hyperfine, TALP, Caliper, and tables with units.

use fitting::formats::csv::Columns;
use fitting::formats::run_files::RunFiles;
use fitting::formats::{Format, Reading};

/// Profile of Caliper with two regions; `RANKS`, `SIZE` and `TIME` stand for numbers.
const PROFILE: &str = "\
__rec=node,id=12,attr=10,data=64,parent=3
__rec=node,id=13,attr=8,data=attribute.unit,parent=12
__rec=node,id=14,attr=13,data=sec,parent=5
__rec=node,id=15,attr=10,data=65,parent=14
__rec=node,id=16,attr=8,data=avg#inclusive#sum#time.duration,parent=15
__rec=node,id=17,attr=10,data=268,parent=3
__rec=node,id=18,attr=8,data=function,parent=17
__rec=node,id=19,attr=18,data=main
__rec=ctx,ref=19,attr=16,data=TIME
__rec=node,id=20,attr=18,data=operator<<(std::ostream&\\, T),parent=19
__rec=ctx,ref=20,attr=16,data=0.25
__rec=node,id=21,attr=10,data=1612,parent=1
__rec=node,id=22,attr=8,data=jobsize,parent=21
__rec=node,id=23,attr=8,data=problem_size,parent=21
__rec=node,id=24,attr=8,data=elapsed_time,parent=21
__rec=node,id=25,attr=22,data=RANKS
__rec=node,id=26,attr=23,data=SIZE,parent=25
__rec=node,id=27,attr=24,data=TIME,parent=26
__rec=globals,ref=27
";

fn profile(n_ranks: u32, size: u32, seconds: f64) -> String {
    let text = PROFILE.replace("RANKS", &n_ranks.to_string()).replace("SIZE", &size.to_string());
    text.replace("TIME", &seconds.to_string())
}

/// Checks parameters, and points with values of the region `main` or the only one.
#[track_caller]
fn check(reading: &Reading, parameters: &[&str], points: &[(&[f64], &[f64])]) {
    assert_eq!(reading.problems, []);
    assert_eq!(reading.measured.parameters, parameters, "{:?}", reading.notes);
    let series = reading.measured.series.iter().find(|it| it.metric == "time").unwrap();
    let found: Vec<(&[f64], &[f64])> =
        series.points.iter().map(|point| (&point.at[..], &point.values[..])).collect();
    assert_eq!(found, points);
}

#[test]
fn profiles_of_caliper_are_runs() {
    let sizes = [(8, 30), (8, 40), (27, 30), (27, 30)];
    let text: String = sizes.iter().map(|(p, n)| profile(*p, *n, 1.5)).collect();
    let points: &[(&[f64], &[f64])] =
        &[(&[8.0, 30.0], &[1.5]), (&[8.0, 40.0], &[1.5]), (&[27.0, 30.0], &[1.5, 1.5])];
    let reading = Format::of(&text).read(&text);
    check(&reading, &["p", "problem_size"], points);
    assert_eq!(reading.measured.series[1].region, "main->operator<<(std::ostream&, T)");
}

#[test]
fn problems_of_a_folder_name_the_file() {
    let mut files = RunFiles::default();
    for (name, n_ranks) in [("a.cali", 8), ("b.cali", 27)] {
        files.add(name, Format::Caliper, &profile(n_ranks, 30, 1.5));
    }
    let cut = &profile(64, 30, 1.5)[..500];
    files.add("cut.cali", Format::Caliper, cut);
    files.add("table.json", Format::Csv, "p,time\n");
    let reading = files.reading(&Columns::default());
    assert_eq!(reading.measured.series[0].points.len(), 2);
    let places: Vec<&str> = reading.problems.iter().map(|problem| &problem.place[..]).collect();
    assert_eq!(places, ["`cut.cali`, line 11", "`cut.cali`, line 1"]);
    let note = "`table.json` is not used: it is no profile, summary or scan";
    assert_eq!(reading.notes.last().map(String::as_str), Some(note));
}

#[test]
fn summaries_of_talp_are_runs() {
    let summary = |n_ranks: u32, elapsed_ns: u32| {
        format!(
            "{{\"dlbVersion\": \"3.5.0\", \"resources\": {{\"numCpus\": {}, \"numMpiRanks\": {n_ranks}}}, \
             \"Application\": {{\"Global\": {{\"elapsedTime\": {elapsed_ns}, \"averageIPC\": 1.5, \"cycles\": 0}}}}}}\n",
            2 * n_ranks
        )
    };
    let text = summary(2, 3_000_000_000) + &summary(4, 1_500_000_000);
    let reading = Format::of(&text).read(&text);
    check(&reading, &["p"], &[(&[2.0], &[3.0]), (&[4.0], &[1.5])]);
    let metrics: Vec<&str> =
        reading.measured.series.iter().map(|series| &series.metric[..]).collect();
    assert_eq!(metrics, ["averageIPC", "time"]);
}

#[test]
fn scans_of_hyperfine_are_points() {
    let text = r#"{
  "results": [
    {"command": "sort 10", "mean": 1.5, "times": [1.0, 2.0], "parameters": {"n": "10"}},
    {"command": "sort 20", "mean": 4.0, "times": [4.0], "parameters": {"n": "20"}}
  ]
}"#;
    let reading = Format::of(text).read(text);
    check(&reading, &["n"], &[(&[10.0], &[1.0, 2.0]), (&[20.0], &[4.0])]);
}

#[test]
fn units_in_headings_are_converted() {
    let text = "p,size [KiB],time (ms)\n2,1,500\n";
    check(&Format::of(text).read(text), &["p", "size"], &[(&[2.0, 1024.0], &[0.5])]);
    let text = "p,time\n2,500\n";
    check(&Format::of(text).read(text), &["p"], &[(&[2.0], &[500.0])]);
}
