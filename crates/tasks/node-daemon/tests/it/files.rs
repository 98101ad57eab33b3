//! Cuts small files of a node's folder and changes every byte: damage is reported, or does no harm. Journals, and
//! files of ends that a keeper leaves, have tests beside their readers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use node_daemon::links::ClusterKey;
use node_daemon::members::next_incarnation;
use node_daemon::web::WebKey;

/// Every prefix of the file, and the file with each of its bytes changed in three ways.
fn faults(whole: &[u8]) -> Vec<Vec<u8>> {
    let cut = (0..whole.len()).map(|n_bytes| whole[..n_bytes].to_vec());
    let changes = (0..whole.len()).flat_map(|at| [0x01, 0x40, 0x80].map(|change| (at, change)));
    let changed = changes.map(|(at, change)| {
        let mut bytes = whole.to_vec();
        bytes[at] ^= change;
        bytes
    });
    cut.chain(changed).collect()
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Fault: the key of a cluster was cut or changed. A node with another key links to no other.
#[test]
fn a_damaged_key_is_refused_or_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    ClusterKey::create(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let n_digits = whole.len() - 1;
    for bytes in faults(&whole) {
        write(&path, &bytes);
        match ClusterKey::read(&path) {
            Ok(_) => assert!(n_digits <= bytes.len() && bytes.is_ascii()),
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains("is no key") && said.contains("node key"), "{said}");
            }
        }
    }
}

/// Fault: the key of the page was cut or changed. A short one is refused, and the error message says what to do.
#[test]
fn a_damaged_key_of_the_page_is_refused_or_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let made = WebKey::in_folder(folder.path()).unwrap();
    let path = WebKey::path(folder.path());
    let whole = fs::read(&path).unwrap();
    for bytes in faults(&whole) {
        write(&path, &bytes);
        match WebKey::in_folder(folder.path()) {
            Ok(key) => assert!(made.text().len() <= key.text().len() + 2, "{}", key.text()),
            Err(error) => assert!(error.to_string().contains("remove it"), "{error}"),
        }
    }
}

/// Fault: the last incarnation was cut or changed. The clock makes up for it.
#[test]
fn a_damaged_number_of_starts_does_not_fall_behind_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let now_ms = 1_767_323_045_000;
    next_incarnation(folder.path(), now_ms).unwrap();
    let path = folder.path().join("incarnation");
    for bytes in faults(&fs::read(&path).unwrap()) {
        fs::write(&path, &bytes).unwrap();
        let first = next_incarnation(folder.path(), now_ms + 1).unwrap();
        let second = next_incarnation(folder.path(), now_ms).unwrap();
        assert!(now_ms < first && first < second, "{bytes:?}: {first} {second}");
    }
}
