//! Report requests of tools that attached while the program runs: a tool writes the path of a folder into the
//! variable `mw_report_folder` of the process.

use super::Variables;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Folder in which a tool wants the report, if one has asked.
pub(crate) fn asked_for_report() -> Option<PathBuf> {
    let bytes = Variables::mw_report_folder();
    if bytes[0].load(Ordering::Acquire) == 0 {
        return None;
    }
    let bytes = bytes.iter().map(|byte| byte.load(Ordering::Relaxed));
    let path: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// Clears the request, when the tool that asked is gone.
pub(crate) fn forget_report() {
    Variables::mw_report_folder()[0].store(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_as_a_tool_writes_it() {
        assert_eq!(asked_for_report(), None);
        let path = b"/a folder\0";
        for idx in (0..path.len()).rev() {
            Variables::mw_report_folder()[idx].store(path[idx], Ordering::Release);
        }
        assert_eq!(asked_for_report(), Some(PathBuf::from("/a folder")));
        forget_report();
        assert_eq!(asked_for_report(), None);
    }
}
