//! Counters of OpenMP regions.

use super::pair;
use std::sync::atomic::Ordering;

#[test]
fn regions_are_read_as_they_were_counted() {
    let pair = pair(1, 8, 0);
    assert_eq!(pair.reader.openmp(), [], "before there is room");
    let slots = pair.writer.open_openmp().expect("room for regions");
    assert_eq!(pair.reader.openmp(), [], "before the first region");
    let slot = &slots[7];
    slot.address.store(0x4011, Ordering::Relaxed);
    slot.n_executions.store(2, Ordering::Relaxed);
    slot.team_ticks.store(100, Ordering::Relaxed);
    slot.busy_ticks.store(70, Ordering::Relaxed);
    slot.late_ticks.store(10, Ordering::Relaxed);
    let regions = pair.reader.openmp();
    assert_eq!(regions.len(), 1);
    assert_eq!((regions[0].address, regions[0].waiting_ticks()), (0x4011, 20));
}
