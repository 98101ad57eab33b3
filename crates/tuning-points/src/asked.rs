//! Who came while the program ran and wants to have its own numbers: a tool writes the path of a folder into the
//! variable `mw_report_folder` of a process that it watches.

use crate::variables::report_folder;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// The folder that somebody asked to have them in.
pub fn asked_for_report() -> Option<PathBuf> {
    let bytes = report_folder();
    if bytes[0].load(Ordering::Acquire) == 0 {
        return None;
    }
    let bytes = bytes.iter().map(|byte| byte.load(Ordering::Relaxed));
    let path: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// Nobody is there any more who asked.
pub fn forget_report() {
    report_folder()[0].store(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_as_a_tool_writes_it() {
        assert_eq!(asked_for_report(), None);
        let path = b"/a folder\0";
        for idx in (0..path.len()).rev() {
            report_folder()[idx].store(path[idx], Ordering::Release);
        }
        assert_eq!(asked_for_report(), Some(PathBuf::from("/a folder")));
        forget_report();
        assert_eq!(asked_for_report(), None);
    }
}
