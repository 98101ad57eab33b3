//! Prints the lines between pairs of ranks for people.

use display::table::Table;
use models::network::{Locality, NetModel, Networks, Pair};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Nanoseconds per KiB of one second per byte.
const NS_PER_KIB: f64 = 1024e9;

/// Table for every pair; where ranks lie on several nodes, also one for messages inside nodes and one for messages
/// between nodes.
pub(super) fn table(pairs: &[Pair]) -> String {
    let nodes: BTreeSet<&String> = pairs.iter().flat_map(|pair| &pair.nodes).flatten().collect();
    let are_several = 1 < nodes.len();
    let mut text = String::new();
    for pair in pairs {
        add(&mut text, &title(pair, are_several), &pair.model);
    }
    if are_several {
        let networks = Networks::of(pairs);
        let n_pairs = |place| pairs.iter().filter(|pair| pair.place == Some(place)).count();
        let within = ("inside a node", networks.within_node, n_pairs(Locality::WithinNode));
        let between = ("between nodes", networks.between_nodes, n_pairs(Locality::BetweenNodes));
        for (what, model, n_pairs) in [within, between] {
            match model {
                Some(model) if n_pairs == 1 => add(&mut text, &format!("{what}, 1 pair"), &model),
                Some(model) => {
                    add(&mut text, &format!("{what}, the middle of {n_pairs} pairs"), &model);
                }
                None => text.push_str("inside a node: no two ranks share one\n"),
            }
        }
    }
    text
}

fn title(pair: &Pair, are_several: bool) -> String {
    let ranks = format!("ranks {} and {}", pair.from, pair.to);
    match &pair.nodes {
        Some([one, other]) if are_several && one == other => format!("{ranks}, inside `{one}`"),
        Some([one, other]) if are_several => format!("{ranks}, between `{one}` and `{other}`"),
        _ => ranks,
    }
}

fn add(text: &mut String, title: &str, model: &NetModel) {
    let margin = |value: f64, margin: f64| format!("{value:.2} +- {margin:.2}");
    let table = Table::new(&model.pieces)
        .right("from bytes", |it| it.from_bytes.to_string())
        .right("latency us", |it| margin(1e6 * it.latency_s, 1e6 * it.latency_margin_s))
        .right("cost ns/KiB", |it| {
            margin(NS_PER_KIB * it.s_per_byte, NS_PER_KIB * it.s_per_byte_margin)
        });
    let examples = [(8, "8 B"), (1 << 10, "1 KiB"), (64 << 10, "64 KiB"), (1 << 20, "1 MiB")];
    let times =
        examples.map(|(n_bytes, name)| format!("{name} {:.2} us", 1e6 * model.one_way_s(n_bytes)));
    writeln!(text, "{title}\n{table}one way: {}\n", times.join(", ")).expect("a string grows");
}

#[cfg(test)]
mod tests {
    use super::*;
    use models::network::LinearPiece;

    fn model() -> NetModel {
        let piece = LinearPiece {
            from_bytes: 0,
            latency_s: 1.5e-6,
            latency_margin_s: 1e-8,
            s_per_byte: 2e-10,
            s_per_byte_margin: 1e-12,
        };
        NetModel { pieces: vec![piece], samples: Vec::new() }
    }

    const LINES: &str = "from bytes    latency us     cost ns/KiB
         0  1.50 +- 0.01  204.80 +- 1.02
one way: 8 B 1.50 us, 1 KiB 1.70 us, 64 KiB 14.61 us, 1 MiB 211.22 us

";

    #[track_caller]
    fn check(pairs: &[Pair], titles: &[&str], end: &str) {
        let tables = titles.iter().map(|title| format!("{title}\n{LINES}"));
        assert_eq!(table(pairs), tables.collect::<String>() + end);
    }

    #[test]
    fn a_pair_is_a_table() {
        check(&[Pair::new((0, 1), ["a", "a"], model())], &["ranks 0 and 1"], "");
        let older = Pair { from: 0, to: 1, nodes: None, place: None, model: model() };
        check(&[older], &["ranks 0 and 1"], "");
    }

    #[test]
    fn nodes_are_named_where_there_are_several() {
        let inside = Pair::new((0, 1), ["a", "a"], model());
        let between = Pair::new((0, 2), ["a", "b"], model());
        let title = "ranks 0 and 2, between `a` and `b`";
        check(
            &[inside, between.clone()],
            &["ranks 0 and 1, inside `a`", title, "inside a node, 1 pair", "between nodes, 1 pair"],
            "",
        );
        let said = table(&[between]);
        assert!(said.contains("inside a node: no two ranks share one\nbetween nodes, "), "{said}");
    }
}
