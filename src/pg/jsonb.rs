//! Reads values inside a jsonb in place. The only reader of `JsonbValue`.

#![allow(unsafe_code, reason = "reads values inside of a jsonb")]

use crate::pg::unguarded::JsonbIteratorNext;
use pgrx::pg_sys::{self, Datum, JsonbIteratorToken as Token, jbvType};
use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

// utils/jsonb.h, whose macros the bindings leave out.
const COUNT: u32 = 0x0FFF_FFFF;
const IS_SCALAR: u32 = 0x1000_0000;
const IS_OBJECT: u32 = 0x2000_0000;
const IS_ARRAY: u32 = 0x4000_0000;

/// An array of them.
pub fn array(elements: &[Option<Datum>]) -> Option<Datum> {
    let mut values: Vec<Datum> = elements
        .iter()
        .map(|element| element.unwrap_or_else(Datum::null))
        .collect();
    let mut nulls: Vec<bool> = elements.iter().map(Option::is_none).collect();
    let (mut length, mut first) = (i32::try_from(elements.len()).unwrap_or(i32::MAX), 1);
    // SAFETY: there are as many values as the length says, of the type; what is made is a copy.
    let array = unsafe {
        pg_sys::construct_md_array(
            values.as_mut_ptr(),
            nulls.as_mut_ptr(),
            1,
            &raw mut length,
            &raw mut first,
            pg_sys::JSONBOID,
            -1,
            false,
            pg_sys::TYPALIGN_INT as c_char,
        )
    };
    Some(Datum::from(array))
}

/// A jsonb, or a part of one.
pub struct Json<'j> {
    value: pg_sys::JsonbValue,
    lives: PhantomData<&'j pg_sys::Jsonb>,
}

/// The elements of an array, or the keys and values of an object.
pub struct Items<'j> {
    iterator: *mut pg_sys::JsonbIterator,
    lives: PhantomData<&'j pg_sys::Jsonb>,
}

impl<'j> Json<'j> {
    /// # Safety
    /// The datum must be a jsonb, and it and the memory context of the call must live as long as what is read.
    pub unsafe fn of(jsonb: Datum) -> Self {
        // SAFETY: a container is what a jsonb holds behind its header.
        unsafe {
            let jsonb: *mut pg_sys::Jsonb = pg_sys::pg_detoast_datum(jsonb.cast_mut_ptr()).cast();
            let mut value: pg_sys::JsonbValue = std::mem::zeroed();
            value.type_ = jbvType::jbvBinary;
            value.val.binary.data = &raw mut (*jsonb).root;
            value.val.binary.len = pgrx::varsize_any_exhdr(jsonb.cast()) as i32;
            Self::new(value)
        }
    }

    fn new(value: pg_sys::JsonbValue) -> Self {
        Self {
            value,
            lives: PhantomData,
        }
    }

    pub fn is_null(&self) -> bool {
        self.value.type_ == jbvType::jbvNull
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&'j str> {
        if self.value.type_ != jbvType::jbvString {
            return None;
        }
        // SAFETY: a string lies in the jsonb, with its length and without a zero at its end.
        let bytes = unsafe {
            let string = self.value.val.string;
            let length = usize::try_from(string.len).unwrap_or(0);
            std::slice::from_raw_parts(string.val.cast::<u8>(), length)
        };
        std::str::from_utf8(bytes).ok()
    }

    /// A whole number of 32 bits.
    pub fn whole(&self) -> Option<i32> {
        if self.value.type_ != jbvType::jbvNumeric {
            return None;
        }
        // SAFETY: a number lies in the jsonb; the functions take and give numbers.
        unsafe {
            let number = self.value.val.numeric;
            let mut is_too_large = false;
            let whole = pg_sys::numeric_int4_opt_error(number, &mut is_too_large);
            let arguments = [
                Some(Datum::from(number.cast::<c_char>())),
                Some(Datum::from(
                    pg_sys::int64_to_numeric(whole.into()).cast::<c_char>(),
                )),
            ];
            let is_same: Option<bool> = pgrx::direct_function_call(pg_sys::numeric_eq, &arguments);
            (!is_too_large && is_same == Some(true)).then_some(whole)
        }
    }

    /// A whole number of 64 bits.
    pub fn long(&self) -> Option<i64> {
        if self.value.type_ != jbvType::jbvNumeric {
            return None;
        }
        // SAFETY: a number lies in the jsonb; the function gives a C string.
        let text: Option<&CStr> = unsafe {
            let number = self.value.val.numeric;
            let arguments = [Some(Datum::from(number.cast::<c_char>()))];
            pgrx::direct_function_call(pg_sys::numeric_out, &arguments)
        };
        text?.to_str().ok()?.parse().ok()
    }

    pub fn boolean(&self) -> Option<bool> {
        match self.value.type_ == jbvType::jbvBool {
            // SAFETY: the type says what the value is.
            true => Some(unsafe { self.value.val.boolean }),
            false => None,
        }
    }

    /// A copy as a jsonb of its own, and its bytes.
    pub fn to_datum(&self) -> (Option<Datum>, &'j [u8]) {
        let mut value = self.value;
        // SAFETY: what is read is copied, to the memory context of the call.
        unsafe {
            let jsonb = Datum::from(pg_sys::JsonbValueToJsonb(&mut value));
            (Some(jsonb), bytes(jsonb))
        }
    }

    /// Elements of an array, or keys of an object.
    pub fn count(&self) -> usize {
        if self.value.type_ != jbvType::jbvBinary {
            return 0;
        }
        // SAFETY: the container lies in the jsonb.
        let header = unsafe { (*self.value.val.binary.data).header };
        usize::try_from(header & COUNT).unwrap_or(usize::MAX)
    }

    pub fn elements(&self) -> Option<impl Iterator<Item = Json<'j>>> {
        self.items(IS_ARRAY)
            .map(|items| items.map(|(_, item)| item))
    }

    pub fn fields(&self) -> Option<Items<'j>> {
        self.items(IS_OBJECT)
    }

    fn items(&self, wanted: u32) -> Option<Items<'j>> {
        if self.value.type_ != jbvType::jbvBinary {
            return None;
        }
        // SAFETY: the container lies in the jsonb; the iterator first says that it begins.
        unsafe {
            let container = self.value.val.binary.data;
            if (*container).header & (wanted | IS_SCALAR) != wanted {
                return None;
            }
            let mut items = Items {
                iterator: pg_sys::JsonbIteratorInit(container),
                lives: PhantomData,
            };
            items.step();
            Some(items)
        }
    }
}

impl<'j> Items<'j> {
    fn step(&mut self) -> (Token::Type, Json<'j>) {
        // SAFETY: the iterator is set to null at the end, and may be asked again then. It passes over what is nested.
        unsafe {
            let mut value: pg_sys::JsonbValue = std::mem::zeroed();
            let token = JsonbIteratorNext(&mut self.iterator, &mut value, true);
            (token, Json::new(value))
        }
    }
}

impl<'j> Iterator for Items<'j> {
    /// The key, which elements of an array do not have, and the value.
    type Item = (&'j str, Json<'j>);

    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            (Token::WJB_ELEM, value) => Some(("", value)),
            (Token::WJB_KEY, key) => Some((key.text().unwrap_or_default(), self.step().1)),
            _ => None,
        }
    }
}

/// A jsonb as it is stored, without compression and its header.
///
/// # Safety
/// The datum must be a jsonb, and it and the memory context of the call must live as long as what is read.
pub unsafe fn bytes<'j>(jsonb: Datum) -> &'j [u8] {
    // SAFETY: as the caller promises. Only what is compressed or stored elsewhere is copied.
    unsafe {
        let jsonb = jsonb.cast_mut_ptr();
        let is_whole = pgrx::varatt_is_4b_u(jsonb)
            || pgrx::varatt_is_1b(jsonb) && !pgrx::varatt_is_1b_e(jsonb);
        let jsonb = match is_whole {
            true => jsonb,
            false => pg_sys::pg_detoast_datum_packed(jsonb),
        };
        pgrx::varlena_to_byte_slice(jsonb)
    }
}

/// `{}`
pub fn empty_object() -> Option<Datum> {
    // SAFETY: the function takes no arguments.
    unsafe { pgrx::direct_function_call_as_datum(pg_sys::jsonb_build_object_noargs, &[]) }
}
