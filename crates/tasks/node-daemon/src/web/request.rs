//! Requests of browsers and programs: who may ask, and who may change something.

use super::WebKey;
use hyper::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};

/// Request that has shown the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    path: String,
    query: String,
    /// Body of a request that is to change something: JSON. `None` if the request only reads.
    pub order: Option<Vec<u8>>,
}

/// Reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRefusal {
    /// Status of the answer.
    pub status: StatusCode,
    /// Text of the answer.
    pub sentence: &'static str,
}

/// Header by which browsers tell whether a request comes from a page of the same server.
const FETCH_SITE: &str = "sec-fetch-site";

impl PageRequest {
    /// Request that reads.
    #[must_use]
    pub fn new(path: &str, query: &str) -> Self {
        Self { path: path.to_owned(), query: query.to_owned(), order: None }
    }

    /// Checks a head; the body of an order is added by [`Self::with_order`].
    ///
    /// # Errors
    /// When the method is unknown, the key is missing, or an order comes from elsewhere or is no JSON.
    pub fn admit(head: &Parts, key: &WebKey) -> Result<Self, PageRefusal> {
        let request = Self::new(head.uri.path(), head.uri.query().unwrap_or_default());
        match head.method {
            Method::GET => request.check_reader(&head.headers, key)?,
            Method::POST => check_order(&head.headers, key)?,
            _ => {
                let sentence = "only `GET` and `POST` are answered";
                return Err(PageRefusal { status: StatusCode::METHOD_NOT_ALLOWED, sentence });
            }
        }
        Ok(request)
    }

    /// The same request with its body.
    #[must_use]
    pub fn with_order(self, body: Vec<u8>) -> Self {
        Self { order: Some(body), ..self }
    }

    /// Path, between the host and the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Value of a name in the query, decoded; `None` where it is missing or empty.
    pub fn value(&self, name: &str) -> Option<String> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        let value = pairs.into_iter().find(|(given, _)| *given == name).map(|(_, value)| value);
        value.map(decoded).filter(|value| !value.is_empty())
    }

    fn check_reader(&self, headers: &HeaderMap, key: &WebKey) -> Result<(), PageRefusal> {
        let in_address = self.value("key");
        if in_address.as_deref().into_iter().chain(bearer(headers)).any(|given| key.is(given)) {
            return Ok(());
        }
        let sentence =
            "this page needs the node's key: `sintonia nodes --web` prints the whole address";
        Err(PageRefusal { status: StatusCode::UNAUTHORIZED, sentence })
    }
}

/// Checks the head of an order. A page of another site cannot send the header with the key without asking first, which
/// is not answered; where the browser says where an order comes from, it must be this server.
fn check_order(headers: &HeaderMap, key: &WebKey) -> Result<(), PageRefusal> {
    if !bearer(headers).is_some_and(|given| key.is(given)) {
        let sentence = "an order needs the node's key in the header `Authorization: Bearer ...`";
        return Err(PageRefusal { status: StatusCode::UNAUTHORIZED, sentence });
    }
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let from_here = |origin: &str| {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        host.is_some_and(|host| origin.strip_prefix("http://") == Some(host))
    };
    let is_foreign = text(FETCH_SITE).is_some_and(|site| site != "same-origin")
        || text(ORIGIN.as_str()).is_some_and(|origin| !from_here(origin));
    if is_foreign {
        let sentence = "an order of another site's page is not taken";
        return Err(PageRefusal { status: StatusCode::FORBIDDEN, sentence });
    }
    let kind = text(CONTENT_TYPE.as_str()).and_then(|kind| kind.split(';').next());
    if kind.is_none_or(|kind| !kind.trim().eq_ignore_ascii_case("application/json")) {
        let sentence = "an order is JSON: send it with `Content-Type: application/json`";
        return Err(PageRefusal { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, sentence });
    }
    Ok(())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// Value of a query without its escapes; bytes that are no UTF-8 become signs for that.
fn decoded(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escape = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let escape = escape.and_then(|digits| std::str::from_utf8(digits).ok());
        // A sign before a digit would be taken for a part of the number.
        let escape = escape.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                plain.push(escaped);
                at += 3;
            }
            None => {
                plain.push(if *byte == b'+' { b' ' } else { *byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_decoded() {
        assert_eq!(decoded("a+b%20c%C3%BC"), "a b cü");
        assert_eq!(decoded("100%"), "100%");
        assert_eq!(decoded("%+1%zz%2"), "% 1%zz%2");
        assert_eq!(decoded("%ff"), "\u{fffd}");
    }
}
