//! What somebody wants of a program.

use serde::{Deserialize, Serialize};

/// A wish for another size, in the file `JOB.wish`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// By which its answer is known.
    pub id: u64,
    /// How many ranks the program is to have.
    pub size: u32,
    /// Who wants it: `person`, `slurm-policy`, ...
    pub from: String,
    /// Where new ranks are to run, in this order; nothing where the program may choose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_short() {
        let text = r#"{"id":7,"size":4,"from":"person"}"#;
        let wish = serde_json::from_str::<Wish>(text).unwrap();
        let expected = Wish { id: 7, size: 4, from: "person".to_owned(), hosts: Vec::new() };
        assert_eq!(wish, expected);
        assert_eq!(serde_json::to_string(&wish).unwrap(), text);
    }
}
