//! As much of protobuf as is needed to write: <https://protobuf.dev/programming-guides/encoding/>.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// What was written.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets what was written and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// A field of any integer type that is not negative.
    pub(crate) fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// A field of type `double`.
    pub(crate) fn double(&mut self, field: u32, value: f64) {
        self.varint(u64::from(field) << 3 | 1);
        self.bytes.extend(value.to_le_bytes());
    }

    /// A field of type `fixed64`.
    pub(crate) fn fixed(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3 | 1);
        self.bytes.extend(value.to_le_bytes());
    }

    /// A repeated field of a type of eight bytes (`fixed64`, `double`), packed.
    pub(crate) fn packed(&mut self, field: u32, values: impl ExactSizeIterator<Item = [u8; 8]>) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(8 * values.len() as u64);
        self.bytes.extend(values.flatten());
    }

    /// A field of type `string`.
    pub(crate) fn text(&mut self, field: u32, value: &str) {
        self.field(field, value.as_bytes());
    }

    /// A message in a message, written elsewhere.
    pub(crate) fn field(&mut self, field: u32, value: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// Fields written elsewhere.
    pub(crate) fn append(&mut self, fields: &Self) {
        self.bytes.extend_from_slice(&fields.bytes);
    }

    /// A message in a message.
    pub(crate) fn message(&mut self, field: u32, build: impl FnOnce(&mut Self)) {
        self.varint(u64::from(field) << 3 | 2);
        // Its length is known only afterwards. Most have less than 128 bytes, and a length of one byte.
        let start = self.bytes.len();
        self.bytes.push(0);
        build(self);
        let length = self.bytes.len() - start - 1;
        if length < 0x80 {
            self.bytes[start] = length as u8;
            return;
        }
        let mut prefix = Self::default();
        prefix.varint(length as u64);
        self.bytes.splice(start..=start, prefix.bytes);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification() {
        let mut message = Message::default();
        message.number(1, 150);
        assert_eq!(message.bytes(), [0x08, 0x96, 0x01]);
        message.clear();
        message.text(2, "testing");
        assert_eq!(message.bytes(), b"\x12\x07testing");
        message.clear();
        message.message(3, |inner| inner.number(1, 150));
        assert_eq!(message.bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }

    #[test]
    fn a_long_message_has_a_long_length() {
        let mut message = Message::default();
        message.message(1, |inner| inner.text(1, &"x".repeat(300)));
        assert_eq!(message.bytes()[..6], [0x0a, 0xaf, 0x02, 0x0a, 0xac, 0x02]);
        assert_eq!(message.bytes().len(), 306);
    }
}
