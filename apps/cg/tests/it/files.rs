//! Files read together by all ranks, plain and compressed.

use crate::matrices::entries;
use crate::threads::on_ranks;
use cg::{CgError, Generator, Group, Model, read_market, rows_of, write_market};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Reads a file on several ranks: returns the entries of all, or the error of the one rank that
/// reports it.
fn read(path: &Path, n_ranks: usize) -> Result<BTreeMap<(usize, usize), f64>, String> {
    let parts = on_ranks(n_ranks, |group| {
        read_market(path, group).map(|(n_rows, csr)| {
            let own = rows_of(n_rows, group.rank(), n_ranks);
            assert_eq!(csr.n_rows(), own.len());
            let entries = entries(&csr).into_iter();
            entries.map(|((row, column), value)| ((row + own.start, column), value)).collect()
        })
    });
    let (read, failed): (Vec<_>, Vec<_>) = parts.into_iter().partition(Result::is_ok);
    if failed.is_empty() {
        return Ok(read
            .into_iter()
            .flat_map(|part: Result<BTreeMap<_, _>, CgError>| part.unwrap())
            .collect());
    }
    assert!(read.is_empty(), "all fail");
    let errors = failed.into_iter().filter_map(Result::err);
    let told: Vec<String> = errors
        .filter(|error| !matches!(error, CgError::Elsewhere { .. }))
        .map(|error| error.to_string().replace(path.to_str().unwrap(), "FILE"))
        .collect();
    assert_eq!(told.len(), 1, "one rank tells it");
    Err(told[0].clone())
}

type Entry = ((usize, usize), f64);

/// Checks the plain and the compressed file, on several numbers of ranks.
#[track_caller]
fn check(text: &str, expected: Result<&[Entry], &str>) {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("a.mtx");
    std::fs::write(&plain, text).unwrap();
    let zipped = folder.path().join("a.mtx.gz");
    let mut encoder = GzEncoder::new(std::fs::File::create(&zipped).unwrap(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap();
    let expected = expected.map(|entries| entries.iter().copied().collect()).map_err(str::to_owned);
    for path in [&plain, &zipped] {
        for n_ranks in [1, 2, 3, 5] {
            assert_eq!(read(path, n_ranks), expected, "{n_ranks} ranks");
        }
    }
}

const HEAD: &str = "%%MatrixMarket matrix coordinate real symmetric\n";

#[test]
fn kinds_are_read() {
    let both = [((0, 0), 2.0), ((0, 1), -1.0), ((1, 0), -1.0), ((1, 1), 2.5)];
    check(
        "%%MatrixMarket matrix coordinate real symmetric\n% made by hand\n\n2 2 3\n1 1 2\n2 1 -1\n2 2 25e-1",
        Ok(&both),
    );
    check(
        "%%matrixmarket MATRIX coordinate Real General\n2 2 4\n2 1 -1\n2 2 2.5\n% here too\n1 1 2\n\n1 2 -1.0\n",
        Ok(&both),
    );
    let whole = [((0, 0), 3.0), ((1, 2), -7.0), ((2, 1), -7.0)];
    check(
        "%%MatrixMarket matrix coordinate integer symmetric\r\n3 3 2\r\n1 1 3\r\n2 3 -7\r\n",
        Ok(&whole),
    );
    let pattern = [((0, 0), 1.0), ((0, 1), 1.0), ((1, 0), 1.0)];
    check("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", Ok(&pattern));
    check(&format!("{HEAD}0 0 0\n"), Ok(&[]));
}

#[test]
fn what_is_wrong_is_told_once_with_its_line() {
    let line = |line: u32, expected: &str| {
        format!("line {line} of `FILE` is not understood; write {expected}")
    };
    let entry = "a row, a column and a number, all within the matrix";
    check(&format!("{HEAD}2 2 2\n1 1 2\n2 1\n"), Err(&line(4, entry)));
    check(&format!("{HEAD}% a\n% b\n2 2 3\n1 1 2\n3 1 1\n2 2 x\n"), Err(&line(6, entry)));
    let size = "the number of rows, of columns and of entries, before the entries";
    check(&format!("{HEAD}2 2\n1 1 2\n"), Err(&line(2, size)));
    check(HEAD, Err(&line(2, size)));
    let banner = "`%%MatrixMarket matrix coordinate real symmetric`, as Matrix Market files begin";
    check("1 1 2\n", Err(&line(1, banner)));
    check("", Err(&line(1, banner)));
    check(
        "%%MatrixMarket matrix array complex general\n2 2\n",
        Err(
            "`FILE` holds a matrix of the kind `array complex general`; convert it to `coordinate`, `real`, `integer` or \
             `pattern`, and `general` or `symmetric`",
        ),
    );
    check(
        &format!("{HEAD}2 3 1\n1 1 2\n"),
        Err(
            "`FILE` holds a matrix of 2 rows and 3 columns; give a square one of at most 4294967295 rows",
        ),
    );
    check(
        &format!("{HEAD}2 2 3\n1 1 2\n2 2 2\n"),
        Err("`FILE` has 2 entries where its head says 3; get the whole file again"),
    );
    check(
        &format!("{HEAD}2 2 3\n1 1 2\n2 1 2\n1 2 2\n"),
        Err(
            "`FILE` has more than one entry for row 1 and column 2; add them up, and in a symmetric file write one of both \
             halves",
        ),
    );
    check(
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n2 1 1\n2 2 1\n",
        Err(
            "`FILE` holds a matrix that is not symmetric; give a symmetric one, conjugate gradients solve no other",
        ),
    );
}

#[test]
fn a_missing_file_is_told() {
    let missing = "`FILE` cannot be read; check its name, and that every node sees it";
    assert_eq!(read(Path::new("/nowhere/a.mtx"), 3), Err(missing.to_owned()));
}

#[test]
fn a_file_that_is_cut_off_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx.gz");
    write_market(&path, &Generator::new(Model::Laplace3d(6), 1)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(read(&path, 2).unwrap_err().starts_with("`FILE` cannot be read; "));
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for (model, seed) in [(Model::Tetrahedra([2, 3, 4]), 5), (Model::Laplace3d(11), 1)] {
        let generator = Generator::new(model, seed);
        let expected = entries(&generator.rows(0..generator.n_rows()));
        for name in ["a.mtx", "a.mtx.gz"] {
            let path = folder.path().join(name);
            write_market(&path, &generator).unwrap();
            for n_ranks in [1, 3] {
                assert!(read(&path, n_ranks).as_ref() == Ok(&expected), "{name} on {n_ranks}");
            }
        }
    }
}
