//! Target: a C header, as `messages` reads it.

/// Reads the text; generates the code of a valid header, and shows the problems of an invalid one.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (header, problems) = c_structs::read(&text);
    for problem in &problems {
        assert!(!problem.render("header.h", &text).is_empty(), "a problem has words");
    }
    header.remarks();
    if problems.is_empty() {
        assert!(!c_structs::messages(&header, "header.h").is_empty(), "there is code");
    }
}
