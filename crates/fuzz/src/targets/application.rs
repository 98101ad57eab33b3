//! An application description, `APP.toml`, as its author may have mistyped it.

/// Reads it and renders each problem that it has.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (_, problems) = application::read(&text);
    for problem in problems {
        assert!(!problem.render("APP.toml", &text).is_empty(), "a problem has words");
    }
}
