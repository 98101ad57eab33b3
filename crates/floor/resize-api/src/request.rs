//! Resize requests.

use serde::{Deserialize, Serialize};

/// Request for another size, the content of `JOB.wish`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResizeRequest {
    /// Id by which the answer refers to the request.
    pub id: u64,
    /// Number of ranks wanted.
    pub size: u32,
    /// Source of the request: `person`, `slurm-policy`, ...
    pub from: String,
    /// Hosts for new ranks, in order of preference; empty where the program may choose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_short() {
        let text = r#"{"id":7,"size":4,"from":"person"}"#;
        let wish = serde_json::from_str::<ResizeRequest>(text).unwrap();
        let expected =
            ResizeRequest { id: 7, size: 4, from: "person".to_owned(), hosts: Vec::new() };
        assert_eq!(wish, expected);
        assert_eq!(serde_json::to_string(&wish).unwrap(), text);
    }
}
