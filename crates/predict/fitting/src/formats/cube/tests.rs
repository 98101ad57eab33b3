//! Archives that are written here, as the format is described, and damaged.

use super::*;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;

const ANCHOR_TEXT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4">
 <metrics>
  <metric id="0" type="EXCLUSIVE"><uniq_name>visits</uniq_name><dtype>UINT64</dtype>
   <metric id="4" type="EXCLUSIVE"><uniq_name>inner</uniq_name><dtype>UINT64</dtype></metric></metric>
  <metric id="1" type="INCLUSIVE"><uniq_name>time</uniq_name><dtype>DOUBLE</dtype></metric>
  <metric id="2" type="EXCLUSIVE"><uniq_name>bytes_sent</uniq_name><dtype>UINT64</dtype></metric>
 </metrics>
 <program>
  <region id="7" mod="a.c" begin="1" end="-1"><name>main</name></region>
  <region id="8"><name>f(int, &lt;T&gt;)</name></region>
  <region id="9"><name>MPI_Send</name></region>
  <cnode id="0" calleeId="7"><cnode id="1" calleeId="8"><cnode id="2" calleeId="9"/></cnode><cnode id="3" calleeId="9"/></cnode>
 </program>
 <system><systemtreenode Id="0"><name>machine</name><locationgroup Id="0"><location Id="0"/><location Id="1"/>
  </locationgroup></systemtreenode></system>
</cube>
"#;

/// Members of an archive, by name.
type Members = Vec<(String, Vec<u8>)>;

/// Order of the bytes of numbers, and form of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    BigEndian,
    Packed,
}

fn index(rows: &[u32], form: Form) -> Vec<u8> {
    let whole = |number: u32| match form {
        Form::BigEndian => number.to_be_bytes(),
        Form::Plain | Form::Packed => number.to_le_bytes(),
    };
    let n_rows = u32::try_from(rows.len()).expect("few rows");
    let mut bytes = [&b"CUBEX.INDEX"[..], &whole(1), &[0, 0, 1], &whole(n_rows)].concat();
    bytes.extend(rows.iter().flat_map(|row| whole(*row)));
    bytes
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

/// Writes rows of values of eight bytes each.
fn data(rows: &[[u64; 2]], form: Form) -> Vec<u8> {
    let one = |value: &u64| match form {
        Form::BigEndian => value.to_be_bytes(),
        Form::Plain | Form::Packed => value.to_le_bytes(),
    };
    let rows: Vec<Vec<u8>> = rows.iter().map(|row| row.iter().flat_map(one).collect()).collect();
    if form != Form::Packed {
        return [&b"CUBEX.DATA"[..], &rows.concat()].concat();
    }
    let packed: Vec<Vec<u8>> = rows.iter().map(|row| zlib(row)).collect();
    let mut bytes = [&b"ZCUBEX.DATA"[..], &(rows.len() as u64).to_le_bytes()].concat();
    for row in &packed {
        bytes.extend([0, 0, row.len() as u64].iter().flat_map(|number| number.to_le_bytes()));
    }
    [bytes, packed.concat()].concat()
}

fn members(form: Form) -> Members {
    let visits = [[1, 1], [10, 30], [5, 5], [0, 2]];
    let seconds = |row: [f64; 2]| row.map(f64::to_bits);
    // In the order of inclusive metrics: `main`, its two callees, and the one of `f`.
    let time = [[10.0, 12.0], [6.0, 8.0], [1.0, 1.5], [2.0, 0.0]].map(seconds);
    let member = |name: &str, bytes: Vec<u8>| (name.to_owned(), bytes);
    vec![
        member("anchor.xml", ANCHOR_TEXT.into()),
        member("0.index", index(&[0, 1, 2, 3], form)),
        member("0.data", data(&visits, form)),
        member("1.index", index(&[0, 1, 2, 3], form)),
        member("1.data", data(&time, form)),
        member("2.index", index(&[2], form)),
        member("2.data", data(&[[800, 0]], form)),
    ]
}

fn tar(members: &Members) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, contents) in members {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", contents.len()).as_bytes());
        header[257..263].copy_from_slice(b"ustar\0");
        bytes.extend(header);
        bytes.extend(contents);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.extend([0; 1024]);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

/// A profile with two locations, for tests of the readers of folders.
pub(in super::super) fn profile() -> Vec<u8> {
    tar(&members(Form::Plain))
}

#[track_caller]
fn check(bytes: &[u8]) {
    let (run, problems) = run(bytes, vec![("p".into(), 2.0)]);
    assert_eq!(problems, []);
    let (f, in_f) = ("main->f(int, <T>)", "main->f(int, <T>)->MPI_Send");
    let expected = [
        ("main", "visits", 1.0),
        (f, "visits", 20.0),
        (in_f, "visits", 5.0),
        ("main->MPI_Send", "visits", 1.0),
        ("main", "time", 2.75),
        (f, "time", 6.0),
        ("main->MPI_Send", "time", 1.25),
        (in_f, "time", 1.0),
        (in_f, "bytes_sent", 400.0),
    ];
    let expected: Vec<RunValue> = expected
        .iter()
        .map(|(region, metric, x)| ((*region).into(), (*metric).into(), *x))
        .collect();
    let run = run.expect("the file is whole");
    assert_eq!((run.values, run.settings), (expected, vec![("p".to_owned(), 2.0)]));
}

#[test]
fn values_are_means_over_locations_without_inner_calls() {
    for form in [Form::Plain, Form::BigEndian, Form::Packed] {
        check(&tar(&members(form)));
    }
}

#[test]
fn the_archive_and_its_anchor_may_be_compressed() {
    let mut packed = members(Form::Plain);
    packed[0].1 = gzip(ANCHOR_TEXT.as_bytes());
    check(&tar(&packed));
    check(&gzip(&tar(&packed)));
}

/// Checks the first problem, and whether something is left.
#[track_caller]
fn check_damaged(bytes: &[u8], is_left: bool, expected: &str) {
    let (run, problems) = run(bytes, Vec::new());
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said, [expected]);
    assert_eq!(run.is_some(), is_left);
}

/// The archive with other contents of a member.
fn with(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut members = members(Form::Packed);
    let member = members.iter_mut().find(|member| member.0 == name).expect("it is there");
    member.1 = contents.to_vec();
    tar(&members)
}

const AGAIN: &str = "copy the file again, or repeat the run";

#[test]
fn what_is_no_archive_is_refused() {
    let none = "archive: it is not a CUBE file: give `profile.cubex` as Score-P wrote it";
    check_damaged(b"", false, none);
    check_damaged(&[b'x'; 2000], false, none);
    check_damaged(&[0; 2000], false, none);
    let whole = tar(&members(Form::Plain));
    check_damaged(&whole[..900], false, &format!("`anchor.xml`: it ends early: {AGAIN}"));
    let packed = gzip(&whole);
    check_damaged(&packed[..200], false, &format!("archive: it cannot be unpacked: {AGAIN}"));
    let without: Members = members(Form::Plain).split_off(1);
    check_damaged(
        &tar(&without),
        false,
        &format!("`anchor.xml`: it is missing in the archive: {AGAIN}"),
    );
}

#[test]
fn a_damaged_metric_costs_itself() {
    let begins = "it does not begin as values of CUBE 4 do, perhaps because it is compressed in an unknown way: open the file with Cube \
                  and save it again";
    check_damaged(&with("1.data", b"LZ4CUBEX.DATA"), true, &format!("`1.data`: {begins}"));
    check_damaged(&with("1.index", b"CUBEY.INDEX"), true, &format!("`1.index`: {begins}"));
    let whole = data(&[[1, 1]; 4], Form::Packed);
    check_damaged(
        &with("1.data", &whole[..whole.len() - 1]),
        true,
        &format!("`1.data`: it ends early: {AGAIN}"),
    );
    check_damaged(
        &with("1.data", &whole[..30]),
        true,
        &format!("`1.data`: it ends early: {AGAIN}"),
    );
    let cut = index(&[0, 1, 2, 3], Form::Plain);
    check_damaged(
        &with("1.index", &cut[..30]),
        true,
        &format!("`1.index`: it ends early: {AGAIN}"),
    );
    let few = format!("`1.data`: it has 48 bytes of values instead of 64: {AGAIN}");
    check_damaged(&with("1.data", &data(&[[1, 1]; 3], Form::Packed)), true, &few);
    let other = format!("`1.index`: it does not belong to the call tree in `anchor.xml`: {AGAIN}");
    check_damaged(&with("1.index", &index(&[0, 1, 2, 9], Form::Plain)), true, &other);
    let mut flipped = whole;
    let at = flipped.len() - 8;
    flipped[at] ^= 0xff;
    check_damaged(
        &with("1.data", &flipped),
        true,
        &format!("`1.data`: it cannot be unpacked: {AGAIN}"),
    );
    let histogram = ANCHOR_TEXT.replace("DOUBLE", "HISTOGRAM(5)");
    let what = "`1.data`: its values have the type `HISTOGRAM(5)`, which is not read: choose other metrics";
    check_damaged(&with("anchor.xml", histogram.as_bytes()), true, what);
}

#[track_caller]
fn check_anchor(from: &str, to: &str, expected: &str) {
    let anchor = ANCHOR_TEXT.replacen(from, to, 1);
    let remedy = "open the file with Cube and save it again";
    let what = format!("`anchor.xml`: it is not as Score-P writes it ({expected}): {remedy}");
    check_damaged(&with("anchor.xml", anchor.as_bytes()), false, &what);
}

#[test]
fn a_wrong_anchor_is_refused() {
    check_anchor("calleeId=\"9\"", "calleeId=\"1\"", "a call is of an unknown region");
    check_anchor("<program>", "<programs>", "expected 'programs' tag, not 'program' at 14:2");
    check_anchor("<uniq_name>time</uniq_name>", "", "a metric has no number or no name");
    check_anchor("<location Id=\"0\"/><location Id=\"1\"/>", "", "it has no locations");
}

/// Unpacking is bounded by what the description promises, and by [`BYTES_MAX`].
#[test]
fn a_bomb_is_refused() {
    let mut rows = data(&[[1, 1]; 1], Form::Packed);
    rows.truncate(11 + 8 + 16);
    let bomb = zlib(&vec![0; 1 << 20]);
    let packed = [&rows[..], &(bomb.len() as u64).to_le_bytes(), &bomb].concat();
    let too_large = "it has more than 256 MiB, the most that is read: measure fewer call paths, with a filter of Score-P";
    check_damaged(&with("1.data", &packed), true, &format!("`1.data`: {too_large}"));
    let deep = "<cnode calleeId=\"8\">".repeat(20_000);
    let calls = format!("{deep}{}<cnode id=\"0\"", "</cnode>".repeat(20_000));
    let anchor = ANCHOR_TEXT.replacen("<cnode id=\"0\"", &calls, 1);
    check_damaged(
        &with("anchor.xml", anchor.as_bytes()),
        false,
        &format!("`anchor.xml`: {too_large}"),
    );
}

/// No single changed or missing byte makes the reader panic.
#[test]
fn any_damage_is_survived() {
    for form in [Form::Plain, Form::Packed] {
        let whole = tar(&members(form));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x91;
            run(&damaged, Vec::new());
            run(&whole[..at], Vec::new());
        }
    }
}
