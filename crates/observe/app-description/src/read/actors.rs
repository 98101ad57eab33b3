//! Reads `[actors]`: names for sets of ranks.

use super::Named;
use super::fields::{Fields, Findings};
use crate::description::{Actor, Ranks};

pub(super) fn read<'a>(fields: &mut Fields<'a>, findings: &mut Findings<'a>) -> Named<Actor> {
    let mut actors = Named::new("actor");
    let table = fields.need("actors", "{ all = \"all\" }", findings);
    let table = table.and_then(|node| Fields::of("`actors`", node, findings));
    for (name, node) in table.iter().flat_map(Fields::in_order) {
        let what = format!("actor `{}`", name.text);
        let ranks = findings.word(&what, node).and_then(|word| {
            let ranks = ranks(word.text);
            if let Err(reason) = &ranks {
                findings.error(&word.at, format!("{what} is `{}`; {reason}", word.text));
            }
            ranks.ok()
        });
        let line = findings.line(&name.at);
        let actor = ranks.map(|ranks| Actor { name: name.text.to_owned(), ranks, line });
        actors.add(&name, actor, findings);
    }
    actors
}

const FORMS: &str = "write ranks such as `0`, `1-`, `0-3,8` or `all`";

fn ranks(text: &str) -> Result<Ranks, String> {
    if text.trim() == "all" {
        return Ok(Ranks { spans: vec![(0, None)] });
    }
    let spans = text.split(',').map(|span| {
        let (first, last) = match span.split_once('-') {
            None => (number(span)?, Some(number(span)?)),
            Some((first, last)) if last.trim().is_empty() => (number(first)?, None),
            Some((first, last)) => (number(first)?, Some(number(last)?)),
        };
        match last {
            Some(last) if last < first => {
                Err(format!("`{}` is no rank at all; write the smaller number first", span.trim()))
            }
            _ => Ok((first, last)),
        }
    });
    spans.collect::<Result<_, _>>().map(|spans| Ranks { spans })
}

fn number(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| FORMS.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(u32, Option<u32>)]) {
        assert_eq!(ranks(text).unwrap().spans, expected);
    }

    #[test]
    fn ranks_are_single_or_in_spans() {
        check("0", &[(0, Some(0))]);
        check("1-", &[(1, None)]);
        check("0-3,8", &[(0, Some(3)), (8, Some(8))]);
        check(" 0 - 3 , 8 - ", &[(0, Some(3)), (8, None)]);
        check("all", &[(0, None)]);
    }

    #[test]
    fn no_rank_at_all_is_no_actor() {
        for text in ["", "-", "-3", "3-1", "0,", "x", "0-x", "99999999999"] {
            assert!(ranks(text).is_err(), "{text}");
        }
    }
}
