//! Target: Extra-P's text, as other tools and users write it.

use fitting::formats::{Format, extrap_text};

/// Reads the text; what was understood is written, read back, and fitted.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let reading = extrap_text::read(&text);
    Format::of(&text);
    super::measurements::check(&reading);
}
