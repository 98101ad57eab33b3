//! Target: the first bytes of a connection from anyone: to the analyzer, to a collector, and from a peer that lies.

use ::wire::hello::{Hello, Verdict, earlier_version, unversioned, versioned};
use channel::{ChannelError, Handshake, KEY_BYTES, read_record};

const KEY: [u8; KEY_BYTES] = [7; KEY_BYTES];

/// Reads the bytes as records of the handshake, as the contents of such records, and as what follows them.
pub(crate) fn run(bytes: &[u8]) {
    let version = earlier_version(bytes);
    assert!(
        version.is_none_or(|version| version < ::wire::PROTOCOL),
        "an earlier version is earlier"
    );
    if let Ok(record) = read_record(&mut &*bytes) {
        let opened = Handshake::answering(b"fuzz", &KEY).open(&record);
        assert_eq!(opened.err(), Some(ChannelError::Unproved), "nobody guesses a key");
    }
    if let Ok(hello) = unversioned::<Hello>(bytes) {
        let again = versioned(&hello).and_then(|bytes| unversioned(&bytes));
        assert_eq!(again, Ok(hello));
    }
    unversioned::<Verdict>(bytes).map(drop).unwrap_or(());
    follow(bytes);
}

/// Reads the bytes after a good handshake, in pieces whose length is the first byte.
fn follow(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    let (mut near, mut far) =
        (Handshake::dialing(b"fuzz", &KEY), Handshake::answering(b"fuzz", &KEY));
    let mut wire = Vec::new();
    near.seal(b"", &mut wire).expect("short");
    far.open(&wire[2..]).expect("the same key");
    wire.clear();
    far.seal(b"", &mut wire).expect("short");
    near.open(&wire[2..]).expect("the same key");
    let (mut sealer, _) = near.finish().expect("both have spoken");
    let (_, mut opener) = far.finish().expect("both have spoken");
    let (mut sealed, mut heard) = (Vec::new(), Vec::new());
    sealer.seal(b"good", &mut sealed).expect("short");
    opener.hear(&sealed, &mut heard).expect("it was sealed");
    for piece in stream.chunks(usize::from(*piece).max(1)) {
        if opener.hear(piece, &mut heard).is_err() {
            break;
        }
    }
    assert_eq!(heard, b"good", "nobody guesses a key");
}
