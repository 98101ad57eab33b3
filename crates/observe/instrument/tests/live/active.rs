//! Probes that are installed and removed while their function is active.

use crate::child;
use instrument::{Instrument, Site, SiteEvent, ThreadHooks};
use object::{Object, ObjectSymbol};
use ring::RingCursor;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::OnceLock;

const SITE: u32 = 7;
const DEPTH: u32 = 3;

static PROBES: OnceLock<Instrument> = OnceLock::new();

/// Provides no ring: passages are only counted.
extern "C" fn attach() -> *mut RingCursor {
    null_mut()
}

/// Calls itself recursively, and `meanwhile` at the bottom.
#[unsafe(no_mangle)]
#[inline(never)]
fn sintonia_test_recursion(depth: u32, meanwhile: fn()) -> u32 {
    if depth == 0 {
        meanwhile();
        return black_box(1);
    }
    black_box(sintonia_test_recursion(black_box(depth - 1), meanwhile)) * 2 + depth
}

fn probes() -> &'static Instrument {
    PROBES.get_or_init(|| Instrument::start(ThreadHooks { attach }).expect("nothing forbids it"))
}

fn site() -> Site {
    let own = std::env::current_exe().expect("this program has a path");
    let bytes = std::fs::read(own).expect("this program can be read");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok("sintonia_test_recursion"));
    let n_bytes = symbol.and_then(|symbol| usize::try_from(symbol.size()).ok());
    let n_bytes = n_bytes.expect("it is exported");
    let function = sintonia_test_recursion as *const () as usize;
    let point = || Some(SiteEvent { event: 0, attributes: Vec::new(), is_on: true });
    Site {
        id: SITE,
        function,
        n_bytes,
        n_bytes_to_next: n_bytes,
        entry: point(),
        exit: point(),
        is_sync: true,
    }
}

fn put_in() {
    assert_eq!(probes().install(&[site()]), [Ok(None)]);
}

fn take_out() {
    assert_eq!(probes().remove(&[SITE]), [Ok(())]);
}

fn nothing() {}

fn n_passed() -> (u32, u32) {
    let hits = |place| probes().n_hits(SITE, place);
    (hits(events::ProbePoint::Entry), hits(events::ProbePoint::Exit))
}

#[track_caller]
fn check_call(meanwhile: fn()) {
    // ((1 * 2 + 1) * 2 + 2) * 2 + 3
    assert_eq!(sintonia_test_recursion(black_box(DEPTH), meanwhile), 19);
}

#[test]
fn a_probe_goes_while_its_function_is_active() {
    child::run("active::a_probe_goes_while_its_function_is_active", || {
        put_in();
        check_call(nothing);
        assert_eq!(n_passed(), (4, 4));
        check_call(take_out);
        assert_eq!(n_passed(), (0, 0), "there is no site any more");
        check_call(nothing);
        put_in();
        check_call(|| {
            take_out();
            put_in();
        });
        // Calls entered before return through the removed site.
        assert_eq!(n_passed(), (0, 0));
        check_call(nothing);
        assert_eq!(n_passed(), (4, 4));
    });
}

#[test]
fn a_probe_comes_while_its_function_is_active() {
    child::run("active::a_probe_comes_while_its_function_is_active", || {
        check_call(put_in);
        assert_eq!(n_passed(), (0, 0), "no exit without its entry");
        check_call(nothing);
        assert_eq!(n_passed(), (4, 4));
    });
}
