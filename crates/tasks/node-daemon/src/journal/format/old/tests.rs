//! Tests of journals whose last line was cut, and of changed ones.

use super::*;

const SAMPLE: &[u8] = include_bytes!("../../../../tests/samples/journal-v2");

#[test]
fn a_cut_is_told_from_damage() {
    let whole = read(SAMPLE, "alpha", |_| ()).unwrap();
    assert_eq!((whole.tail, whole.number_max), (None, 99));
    for n_bytes in 0..SAMPLE.len() {
        let contents = read(&SAMPLE[..n_bytes], "alpha", |_| ()).unwrap();
        assert!(!contents.is_tail_damaged, "{n_bytes}");
    }
    let mut bytes = SAMPLE.to_vec();
    bytes[40] ^= 1;
    assert!(read(&bytes, "alpha", |_| ()).unwrap().is_tail_damaged);
    let zeros = [SAMPLE, &[0; 99]].concat();
    assert!(!read(&zeros, "alpha", |_| ()).unwrap().is_tail_damaged);
    assert_eq!(read(SAMPLE, "beta", |_| ()), Err(NotRead::OtherNode("alpha".to_owned())));
    assert_eq!(read(b"else", "alpha", |_| ()), Err(NotRead::Unknown));
}
