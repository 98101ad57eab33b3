//! Secret of a run, shared by its analyzer and collectors only.

/// Secret of a run, shared by its analyzer and collectors only: 32 bytes, the key of the connections.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// The text of a secret is not 64 hexadecimal digits.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`SINTONIA_SECRET` must be 64 hexadecimal digits; unset it to let `sintonia run` choose one"
)]
pub struct SecretError;

impl std::fmt::Debug for Secret {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Secret(..)")
    }
}

impl Secret {
    /// Makes a secret of (random) bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads a secret of 64 hexadecimal digits.
    ///
    /// # Errors
    /// When the text has another form.
    pub fn from_hex(text: &str) -> Result<Self, SecretError> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(SecretError);
        }
        for (place, byte) in bytes.iter_mut().enumerate() {
            let pair = &text[2 * place..][..2];
            *byte = u8::from_str_radix(pair, 16).map_err(|_| SecretError)?;
        }
        Ok(Self(bytes))
    }

    /// Returns its bytes, the key of the run's connections.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the secret as 64 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_survives_the_environment() {
        let bytes = std::array::from_fn(|place| if place % 2 == 0 { 0x0f } else { 0xe5 });
        let secret = Secret::from_bytes(bytes);
        assert_eq!(Secret::from_hex(&secret.to_hex()), Ok(secret.clone()));
        assert_eq!(Secret::from_hex(&secret.to_hex().to_uppercase()), Ok(secret));
    }

    #[test]
    fn other_texts_are_no_secrets() {
        for text in ["", "00", &"+f".repeat(32), &"g0".repeat(32), &"0".repeat(63), &"é".repeat(32)]
        {
            assert_eq!(Secret::from_hex(text), Err(SecretError), "{text}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Secret::from_bytes([0xab; 32])), "Secret(..)");
    }
}
