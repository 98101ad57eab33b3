//! Files written by earlier versions are read, and damaged ones are rejected.

use fitting::ModelFile;

/// Two pieces over `n` and `p`, written by version 0.1.0: `0.01 * n / p + 0.1`, and above 800 `0.025 * n / p + 0.1`.
const MODELS_V1: &str = include_str!("../samples/models-v1.json");

#[test]
fn models_of_version_1_are_read() {
    let file = ModelFile::read(MODELS_V1).unwrap();
    let value = |n: f64, p: f64| {
        let said = file.predict("time", &[("n", n), ("p", p)]).unwrap();
        said.total.unwrap().value
    };
    assert!((value(400.0, 2.0) - 2.1).abs() < 1e-6, "{}", value(400.0, 2.0));
    assert!((value(1600.0, 8.0) - 5.1).abs() < 1e-6, "{}", value(1600.0, 8.0));
    assert_eq!(file.models[0].breakpoints().len(), 1);
}

#[test]
fn models_that_were_cut_off_are_refused() {
    for end in (0..MODELS_V1.trim_end().len()).step_by(61) {
        let said = ModelFile::read(&MODELS_V1[..end]).unwrap_err().to_string();
        assert!(
            said.contains("ends too early") || said.contains("these are not models"),
            "{end}: {said}"
        );
    }
}

/// A flipped digit went unnoticed and changed every prediction.
#[test]
fn models_are_read_as_they_were_written_or_not_at_all() {
    let file = ModelFile::read(MODELS_V1).unwrap();
    let text = file.write().unwrap();
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1 << (at % 7);
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if let Ok(found) = ModelFile::read(&text) {
            assert_eq!(found, file, "byte {at}");
        }
    }
    let edited = text.replacen("\"program\":\"", "\"program\":\"another ", 1);
    let edited = if edited == text { text.replacen("time", "thyme", 1) } else { edited };
    let said = ModelFile::read(&edited).unwrap_err().to_string();
    assert!(said.contains("remove their `checksum`"), "{said}");
}

#[test]
fn models_with_a_flipped_bit_say_a_number_or_why_not() {
    for at in 0..MODELS_V1.len() {
        let mut bytes = MODELS_V1.as_bytes().to_vec();
        bytes[at] ^= 1 << (at % 7);
        let text = String::from_utf8_lossy(&bytes);
        let Ok(file) = ModelFile::read(&text) else { continue };
        for n in [0.0, 150.0, 1000.0, 1e9] {
            let Ok(said) = file.predict("time", &[("n", n), ("p", 3.0)]) else { continue };
            for one in said.regions.iter().map(|(_, said)| said).chain(&said.total) {
                assert!(one.low <= one.value && one.value <= one.high, "{at}: {one:?}");
                assert!(one.high.is_finite(), "{at}: {one:?}");
            }
        }
    }
}
