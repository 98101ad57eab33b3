//! Proof that both sides of a connection know the run's secret, without sending it.
//!
//! `mac = HMAC-SHA256(secret, role | run | length of node | node | collector's nonce | analyzer's nonce)`.
//! The role keeps one side from sending back the other's proof.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// Fresh random bytes.
pub type Nonce = [u8; 32];
/// A proof.
pub type Mac = [u8; 32];

/// What the analyzer and the collectors of one run know and nobody else.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// Why a text is no secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretError {
    /// Not 64 hexadecimal digits.
    #[error(
        "`SINTONIA_SECRET` has to be 64 hexadecimal digits; unset it and let `sintonia run` choose one"
    )]
    NotHexadecimal,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Secret(..)")
    }
}

impl Secret {
    /// A secret of random bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The secret written as 64 hexadecimal digits.
    ///
    /// # Errors
    /// When it is not.
    pub fn from_hex(text: &str) -> Result<Self, SecretError> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(SecretError::NotHexadecimal);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Ok(Self(bytes))
    }

    /// 64 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn hex_digit(digit: u8) -> Result<u8, SecretError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(SecretError::NotHexadecimal),
    }
}

/// Which side proves itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The analyzer, in `Challenge`.
    Analyzer,
    /// The collector, in `Proof`.
    Collector,
}

/// What a proof is bound to: one connection of one node in one run.
#[derive(Clone, Debug)]
pub struct Session<'a> {
    /// Number of the run.
    pub run: u64,
    /// The collector's name of its node.
    pub node: &'a str,
    /// From `Hello`.
    pub collector_nonce: Nonce,
    /// From `Challenge`.
    pub analyzer_nonce: Nonce,
}

impl Session<'_> {
    /// The proof that `role` knows `secret`.
    pub fn mac(&self, secret: &Secret, role: Role) -> Mac {
        self.digest(secret, role).finalize().into_bytes().into()
    }

    /// Whether `mac` proves that `role` knows `secret`; takes the same time for every wrong proof.
    pub fn verify(&self, secret: &Secret, role: Role, mac: &Mac) -> bool {
        self.digest(secret, role).verify_slice(mac).is_ok()
    }

    fn digest(&self, secret: &Secret, role: Role) -> Hmac<Sha256> {
        let mut digest =
            Hmac::<Sha256>::new_from_slice(&secret.0).expect("HMAC takes any key length");
        digest.update(match role {
            Role::Analyzer => b"sintonia analyzer ",
            Role::Collector => b"sintonia collector",
        });
        digest.update(&self.run.to_le_bytes());
        digest.update(&(self.node.len() as u64).to_le_bytes());
        digest.update(self.node.as_bytes());
        digest.update(&self.collector_nonce);
        digest.update(&self.analyzer_nonce);
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(node: &str) -> Session<'_> {
        Session { run: 7, node, collector_nonce: [1; 32], analyzer_nonce: [2; 32] }
    }

    #[test]
    fn a_proof_holds_for_its_role_session_and_secret_only() {
        let secret = Secret::from_bytes([3; 32]);
        let mac = session("n0").mac(&secret, Role::Collector);
        let check = |expected, session: Session<'_>, secret: &Secret, role| {
            assert_eq!(session.verify(secret, role, &mac), expected);
        };
        check(true, session("n0"), &secret, Role::Collector);
        check(false, session("n0"), &secret, Role::Analyzer);
        check(false, session("n1"), &secret, Role::Collector);
        check(false, session("n0"), &Secret::from_bytes([4; 32]), Role::Collector);
        check(false, Session { run: 8, ..session("n0") }, &secret, Role::Collector);
        check(
            false,
            Session { collector_nonce: [9; 32], ..session("n0") },
            &secret,
            Role::Collector,
        );
        check(
            false,
            Session { analyzer_nonce: [9; 32], ..session("n0") },
            &secret,
            Role::Collector,
        );
    }

    #[test]
    fn a_secret_survives_the_environment() {
        let secret =
            Secret::from_bytes(std::array::from_fn(
                |place| if place % 2 == 0 { 0x0f } else { 0xe5 },
            ));
        assert_eq!(Secret::from_hex(&secret.to_hex()), Ok(secret.clone()));
        assert_eq!(Secret::from_hex(&secret.to_hex().to_uppercase()), Ok(secret));
    }

    #[test]
    fn other_texts_are_no_secrets() {
        for text in ["", "00", &"g0".repeat(32), &"0".repeat(63), &"é".repeat(32)] {
            assert_eq!(Secret::from_hex(text), Err(SecretError::NotHexadecimal), "{text}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Secret::from_bytes([0xab; 32])), "Secret(..)");
    }
}
