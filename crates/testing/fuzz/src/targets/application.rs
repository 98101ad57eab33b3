//! Target: an application description, `APP.toml`, as its author may have mistyped it.

/// Reads the text and renders each of its problems.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (_, problems) = app_description::read(&text);
    for problem in problems {
        assert!(!problem.render("APP.toml", &text).is_empty(), "a problem has words");
    }
}
