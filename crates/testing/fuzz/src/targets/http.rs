//! Target: addresses that a browser, or anyone, sends to the server of a node's pages. Heads are read by `hyper`.

use node_daemon::web::PageRequest;

/// Reads the bytes as an address, and finds them again in one that has them escaped.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (path, query) = text.split_once('?').unwrap_or((&text, ""));
    let request = PageRequest::new(path, query);
    assert_eq!(request.path(), path);
    for name in ["key", "after"] {
        assert!(
            request.value(name).is_none_or(|value| !value.is_empty()),
            "an empty value is none"
        );
    }
    let escaped: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let again = PageRequest::new("/", &format!("key=%6b&after={escaped}"));
    assert_eq!(again.value("after").unwrap_or_default(), text, "what is escaped is read");
}
