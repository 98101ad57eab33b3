//! Measures the cost of the channel: processor time of both sides to prove the key, and to seal and open
//! messages of several lengths.
//!
//! `cargo run --release -p channel --example throughput`
#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program whose result is printed")]

use channel::{Handshake, KEY_BYTES, Opener, Sealer};

const N_BYTES: usize = 128 << 20;

fn main() {
    let n_shakes = 500;
    let begun_s = cpu_s();
    (0..n_shakes).for_each(|_| drop(connect()));
    let shake_us = (cpu_s() - begun_s) * 1e6 / f64::from(n_shakes);
    println!("handshake: {shake_us:.0} us on both sides together");
    for message_bytes in [32, 512, 4096, 65_536, 1 << 20] {
        let (mut sealer, mut opener) = connect();
        let (message, mut wire, mut plain) = (vec![7; message_bytes], Vec::new(), Vec::new());
        let n_messages = N_BYTES.min(message_bytes << 17) / message_bytes;
        let begun_s = cpu_s();
        (0..n_messages).for_each(|_| sealer.seal(&message, &mut wire).expect("few records"));
        let sealed_s = cpu_s();
        for piece in wire.chunks(256 << 10) {
            plain.clear();
            opener.hear(piece, &mut plain).expect("sealed for it");
        }
        let opened_s = cpu_s();
        let ns = |seconds: f64| seconds * 1e9 / n_messages as f64;
        let gb_s = |seconds: f64| (n_messages * message_bytes) as f64 * 1e-9 / seconds;
        let (seal_s, open_s) = (sealed_s - begun_s, opened_s - sealed_s);
        println!(
            "{message_bytes} bytes: sealed in {:.0} ns ({:.2} GB/s), opened in {:.0} ns ({:.2} GB/s)",
            ns(seal_s),
            gb_s(seal_s),
            ns(open_s),
            gb_s(open_s)
        );
    }
}

/// Processor seconds of this thread.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let ns = text.split_ascii_whitespace().next().and_then(|ns| ns.parse::<f64>().ok());
    ns.unwrap_or(0.0) * 1e-9
}

fn connect() -> (Sealer, Opener) {
    let key = [7; KEY_BYTES];
    let (mut near, mut far) = (Handshake::dialing(b"", &key), Handshake::answering(b"", &key));
    let mut wire = Vec::new();
    near.seal(b"hello", &mut wire).expect("short");
    far.open(&wire[2..]).expect("the same key");
    wire.clear();
    far.seal(b"welcome", &mut wire).expect("short");
    near.open(&wire[2..]).expect("the same key");
    (near.finish().expect("both spoke").0, far.finish().expect("both spoke").1)
}
