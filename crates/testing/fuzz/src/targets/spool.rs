//! Target: files in a record's spool, as a full disk, a killed writer or a stranger may leave them.

use super::folder::Folder;
use assemble::summarize;
use collector::recover;
use run_record::{RunRecord, SpoolReader, SpoolWriter};
use symbols::Resolver;

/// Reads the bytes as the one file of a run that was cut off; the first byte says what kind of file. What can be read
/// is written again and reads back the same.
pub(crate) fn run(bytes: &[u8]) {
    let Some((kind, content)) = bytes.split_first() else { return };
    let folder = Folder::new("spool");
    let dir = folder.path().join("record");
    let Ok(record) = RunRecord::create(&dir, Default::default()) else { return };
    let name = ["node.spool", "analyzer.reports", "node.sums"][usize::from(*kind) % 3];
    let path = record.spool_path(name);
    std::fs::write(&path, content).expect("a folder of ours");
    if let Some(frames) = frames(&path) {
        let again = folder.path().join("again");
        let mut writer = SpoolWriter::create(&again).expect("a folder of ours");
        for frame in &frames {
            writer.append(&[frame]).expect("it was a frame");
        }
        assert_eq!(self::frames(&again), Some(frames), "what is written is read");
    }
    let (facts, measured) = recover::unfinished(&record);
    let summary = summarize(&measured, &facts, &mut Resolver::new());
    assert!(summary.n_ranks <= content.len(), "ranks do not come out of nothing");
}

fn frames(path: &std::path::Path) -> Option<Vec<Vec<u8>>> {
    let mut reader = SpoolReader::open(path).ok()?;
    let (mut frames, mut frame) = (Vec::new(), Vec::new());
    while reader.next_frame(&mut frame).expect("it can be read") {
        frames.push(frame.clone());
    }
    Some(frames)
}
