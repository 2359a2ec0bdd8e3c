//! As much of protobuf as is needed to read: the other half of the writer, written apart from it.

/// A field of a message.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// Its value, when that is a number.
    pub(crate) value: u64,
    /// Its value, when that has a length.
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn fields(mut bytes: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let mut field = Field { number: (key >> 3) as u32, value: 0, bytes: Vec::new() };
        match key & 7 {
            0 => field.value = varint(&mut bytes),
            1 => {
                let (value, rest) = bytes.split_at(8);
                field.value = u64::from_le_bytes(value.try_into().unwrap());
                bytes = rest;
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                field.bytes = value.to_vec();
                bytes = rest;
            }
            other => panic!("wire type {other}"),
        }
        fields.push(field);
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return value;
        }
    }
    panic!("a number of more than ten bytes");
}

/// All messages in fields of this number.
pub(crate) fn messages(message: &[Field], number: u32) -> Vec<Vec<Field>> {
    message.iter().filter(|field| field.number == number).map(|field| fields(&field.bytes)).collect()
}

/// The only field of this number. It must be there: readers of Perfetto's format refuse events without some that are zero.
pub(crate) fn number(message: &[Field], number: u32) -> u64 {
    one(message, number).unwrap_or_else(|| panic!("no field {number} in {message:?}")).value
}

pub(crate) fn double(message: &[Field], field: u32) -> f64 {
    f64::from_bits(number(message, field))
}

/// A text; empty when it is absent.
pub(crate) fn text(message: &[Field], number: u32) -> String {
    one(message, number).map_or_else(String::new, |field| String::from_utf8(field.bytes.clone()).unwrap())
}

fn one(message: &[Field], number: u32) -> Option<&Field> {
    let mut found = message.iter().filter(|field| field.number == number);
    let first = found.next();
    assert!(found.next().is_none(), "field {number} twice");
    first
}
