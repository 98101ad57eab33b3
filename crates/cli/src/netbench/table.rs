//! The lines between pairs of ranks, for people.

use super::Pair;
use models::network::Piece;
use std::fmt::Write;

/// A table for every pair.
pub(super) fn table(pairs: &[Pair]) -> String {
    let mut text = String::new();
    for pair in pairs {
        add_pair(&mut text, pair);
    }
    text
}

fn add_pair(text: &mut String, pair: &Pair) {
    let header = format!("{:>12}  {:>20}  {:>22}", "from bytes", "latency us", "cost ns/KiB");
    let mut line = |line: String| writeln!(text, "{line}").expect("a string grows");
    line(format!("ranks {} and {}", pair.from, pair.to));
    line(header);
    for piece in &pair.model.pieces {
        line(row(piece));
    }
    let examples = [(8, "8 B"), (1 << 10, "1 KiB"), (64 << 10, "64 KiB"), (1 << 20, "1 MiB")];
    let times = examples
        .map(|(n_bytes, name)| format!("{name} {:.2} us", 1e6 * pair.model.one_way_s(n_bytes)));
    line(format!("one way: {}\n", times.join(", ")));
}

fn row(piece: &Piece) -> String {
    let latency = format!("{:.2} +- {:.2}", 1e6 * piece.latency_s, 1e6 * piece.latency_margin_s);
    let ns_per_kib = 1024e9;
    let cost = format!(
        "{:.1} +- {:.1}",
        ns_per_kib * piece.s_per_byte,
        ns_per_kib * piece.s_per_byte_margin
    );
    format!("{:>12}  {latency:>20}  {cost:>22}", piece.from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use models::network::NetModel;

    #[test]
    fn a_pair_is_a_table() {
        let piece = Piece {
            from_bytes: 0,
            latency_s: 1.5e-6,
            latency_margin_s: 1e-8,
            s_per_byte: 2e-10,
            s_per_byte_margin: 1e-12,
        };
        let model = NetModel { pieces: vec![piece], samples: Vec::new() };
        let expected = "\
ranks 0 and 1
  from bytes            latency us             cost ns/KiB
           0          1.50 +- 0.01            204.8 +- 1.0
one way: 8 B 1.50 us, 1 KiB 1.70 us, 64 KiB 14.61 us, 1 MiB 211.22 us

";
        assert_eq!(table(&[Pair { from: 0, to: 1, model }]), expected);
    }
}
