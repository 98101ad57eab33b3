//! Paraver records, parsed line by line.

use crate::sample;
use std::fs;

fn export() -> [String; 3] {
    let sample = sample::three_ranks();
    let dir = sample.dir.path();
    export::paraver(&sample.record, dir, "cg").unwrap();
    ["prv", "pcf", "row"]
        .map(|ending| fs::read_to_string(dir.join(format!("cg.{ending}"))).unwrap())
}

#[test]
fn a_trace_as_paraver_reads_it() {
    let [prv, pcf, row] = export();
    insta::assert_snapshot!("paraver_prv", prv);
    insta::assert_snapshot!("paraver_pcf", pcf);
    insta::assert_snapshot!("paraver_row", row);
}

#[test]
fn records_are_well_formed_and_in_order() {
    let [prv, pcf, row] = export();
    let mut lines = prv.lines();
    let header = lines.next().unwrap();
    let (_, header) = header.split_once("):").unwrap();
    let end_ns: u64 = header.split_once("_ns:").unwrap().0.parse().unwrap();
    let n_threads: usize =
        row.rsplit_once("THREAD SIZE ").unwrap().1.lines().next().unwrap().parse().unwrap();
    assert_eq!(row.lines().filter(|line| line.starts_with("THREAD ")).count(), n_threads);
    let mut before_ns = 0;
    for line in lines {
        let fields: Vec<u64> = line.split(':').map(|field| field.parse().unwrap()).collect();
        let expected = match fields[0] {
            1 => fields.len() == 8 && fields[5] < fields[6],
            2 => fields.len().is_multiple_of(2) && 8 <= fields.len(),
            3 => fields.len() == 15 && fields[5] <= fields[12],
            _ => false,
        };
        assert!(expected, "{line}");
        assert!(fields[1] <= n_threads as u64 && 1 <= fields[1], "{line}");
        assert!(before_ns <= fields[5] && fields[5] <= end_ns, "{line}");
        before_ns = fields[5];
        if fields[0] == 2 {
            for kind in fields[6..].chunks(2) {
                assert!(pcf.contains(&format!("9    {}    ", kind[0])), "{line}");
                assert!(pcf.contains(&format!("\n{}    ", kind[1])), "{line}");
            }
        }
    }
}
