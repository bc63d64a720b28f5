//! Arguments and results of the SQL functions, without copies.

#![allow(unsafe_code, reason = "reads the frame of a call")]

use crate::pg::error::{Failure, Result, null_argument, too_many};
use crate::pg::jsonb::{self, Json};
use pgrx::datum::{Interval, UnboxDatum};
use pgrx::pg_sys::{self, Datum};
use pgrx::{Array, FromDatum, IntoDatum};

/// The most elements that one call may carry. Rust brings the server down when it runs out of memory, so an argument
/// is measured before it is copied.
pub const MOST_ELEMENTS: usize = 100_000;
/// The most names in an array, and the most bytes that they may have together: more than so many names need.
pub const MOST_NAMES: usize = 1_000;
const MOST_BYTES_OF_NAMES: usize = 1 << 20;
/// More bytes than so many numbers need.
const MOST_BYTES_OF_NUMBERS: usize = MOST_ELEMENTS * 16;

/// Names the arguments of a SQL function in the order in which `sql/schema` declares them. A test compares them with
/// the catalog.
macro_rules! arguments {
    ($function:ident: $($argument:ident),+ $(,)?) => {
        mod $function {
            #[allow(dead_code, non_camel_case_types, clippy::upper_case_acronyms)]
            enum Place {
                $($argument),+
            }
            $(
                #[allow(dead_code)]
                pub const $argument: usize = Place::$argument as usize;
            )+
        }
    };
}
pub(crate) use arguments;

/// What a function returns; `None` stands for NULL.
pub type Outcome = Result<Option<Datum>>;

/// One call of one SQL function.
pub struct Call {
    fcinfo: pg_sys::FunctionCallInfo,
}

impl Call {
    /// # Safety
    /// `fcinfo` must be the frame of a call that is under way. The function must be declared with arguments of the
    /// types as which they are read.
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        Self { fcinfo }
    }

    pub fn give(&self, result: Result<Option<Datum>>) -> Datum {
        match result {
            Ok(Some(datum)) => datum,
            Ok(None) => {
                // SAFETY: the frame is valid for the whole call.
                unsafe { (*self.fcinfo).isnull = true };
                Datum::null()
            }
            Err(failure) => failure.raise(),
        }
    }

    /// The argument as it was passed. A jsonb payload is passed on in this form.
    pub fn raw(&self, index: usize) -> Option<Datum> {
        // SAFETY: the frame is valid; the declared argument count is checked before the access.
        unsafe {
            let count = usize::try_from((*self.fcinfo).nargs).unwrap_or(0);
            let args = (*self.fcinfo).args.as_slice(count);
            args.get(index)
                .filter(|argument| !argument.isnull)
                .map(|argument| argument.value)
        }
    }

    fn read<'a, T: FromDatum + 'a>(&'a self, index: usize) -> Option<T> {
        // SAFETY: the argument is declared with this type, as `new` demands.
        self.raw(index)
            .and_then(|datum| unsafe { T::from_datum(datum, false) })
    }

    pub fn text(&self, index: usize) -> Option<&str> {
        self.read(index)
    }

    /// A text in the server's encoding.
    pub fn text_bytes(&self, index: usize) -> Option<&[u8]> {
        self.read(index)
    }

    pub fn int4(&self, index: usize) -> Option<i32> {
        self.read(index)
    }

    pub fn int8(&self, index: usize) -> Option<i64> {
        self.read(index)
    }

    pub fn boolean(&self, index: usize) -> Option<bool> {
        self.read(index)
    }

    /// An array of names.
    pub fn texts(&self, index: usize, name: &str) -> Result<Option<Vec<Option<String>>>> {
        let texts = self.array::<&str>(index, name, MOST_NAMES, MOST_BYTES_OF_NAMES)?;
        Ok(texts.map(|texts| texts.iter().map(|text| text.map(str::to_owned)).collect()))
    }

    pub fn int8s(&self, index: usize, name: &str) -> Result<Option<Vec<Option<i64>>>> {
        let numbers = self.array::<i64>(index, name, MOST_ELEMENTS, MOST_BYTES_OF_NUMBERS)?;
        Ok(numbers.map(|numbers| numbers.iter().collect()))
    }

    pub fn int4s(&self, index: usize, name: &str) -> Result<Option<Vec<Option<i32>>>> {
        let numbers = self.array::<i32>(index, name, MOST_ELEMENTS, MOST_BYTES_OF_NUMBERS)?;
        Ok(numbers.map(|numbers| numbers.iter().collect()))
    }

    /// An array of jsonb, each as it is to be stored.
    pub fn jsonbs(&self, index: usize, name: &str) -> Result<Option<Vec<Option<Jsonb>>>> {
        let Some(array) = self.raw(index) else {
            return Ok(None);
        };
        // SAFETY: the argument is declared as an array, as `new` demands. A copy without compression outlives what reads it here.
        let found = unsafe {
            let array = pg_sys::pg_detoast_datum(array.cast_mut_ptr());
            Array::<Datum>::from_datum(Datum::from(array), false)
        };
        match found {
            Some(found) if found.len() > MOST_ELEMENTS => Err(too_many(name, MOST_ELEMENTS)),
            found => Ok(found.map(|found| found.iter().map(|each| each.map(Jsonb)).collect())),
        }
    }

    pub fn intervals(&self, index: usize, name: &str) -> Result<Option<Vec<Option<Interval>>>> {
        let found =
            self.array::<Interval>(index, name, MOST_ELEMENTS, MOST_BYTES_OF_NUMBERS * 2)?;
        Ok(found.map(|found| found.iter().collect()))
    }

    /// How many elements an array of any type has.
    pub fn array_length(&self, index: usize, name: &str) -> Result<Option<usize>> {
        let found = self.array::<Datum>(index, name, MOST_ELEMENTS, usize::MAX)?;
        Ok(found.map(|found| found.len()))
    }

    /// Checks each text of an array that is as long as another one, which was read.
    pub fn check_texts(
        &self,
        index: usize,
        check: impl Fn(Option<&str>) -> Result<()>,
    ) -> Result<()> {
        match self.read::<Array<&str>>(index) {
            Some(texts) => texts.iter().try_for_each(check),
            None => Ok(()),
        }
    }

    /// Reads an array in place, unless it is too large.
    fn array<'a, T: UnboxDatum + 'a>(
        &'a self,
        index: usize,
        name: &str,
        most: usize,
        most_bytes: usize,
    ) -> Result<Option<Array<'a, T>>> {
        if self.raw_size(index) > most_bytes {
            return Err(too_many(name, most));
        }
        match self.read::<Array<T>>(index) {
            Some(array) if array.len() > most => Err(too_many(name, most)),
            array => Ok(array),
        }
    }

    /// A jsonb, read in place.
    pub fn json(&self, index: usize) -> Option<Json<'_>> {
        // SAFETY: the argument is declared as a jsonb, as `new` demands, and lives as long as the call.
        self.raw(index).map(|datum| unsafe { Json::of(datum) })
    }

    /// A jsonb as it is to be stored. The argument must be declared as one.
    pub fn jsonb(&self, index: usize) -> Option<Jsonb> {
        self.raw(index).map(Jsonb)
    }

    pub fn interval(&self, index: usize) -> Option<Interval> {
        self.read(index)
    }

    /// Size of a variable-length argument before compression, without its header.
    pub fn raw_size(&self, index: usize) -> usize {
        // SAFETY: the argument is declared with a type of variable length, as `new` demands.
        self.raw(index)
            .map_or(0, |datum| unsafe { raw_size(datum) })
    }

    /// Whether a procedure may not end the transaction that it runs in.
    pub fn is_atomic(&self) -> bool {
        // SAFETY: a context that is a CallContext says so in its node tag.
        unsafe {
            let context = (*self.fcinfo).context;
            context.is_null()
                || (*context).type_ != pg_sys::NodeTag::T_CallContext
                || (*context.cast::<pg_sys::CallContext>()).atomic
        }
    }

    /// The function that is called.
    pub fn function(&self) -> pg_sys::Oid {
        // SAFETY: the frame is valid, and so is its look-up of the function.
        unsafe { (*(*self.fcinfo).flinfo).fn_oid }
    }

    pub fn fcinfo(&self) -> pg_sys::FunctionCallInfo {
        self.fcinfo
    }
}

/// A jsonb that was passed.
#[derive(Clone, Copy)]
pub struct Jsonb(Datum);

impl Jsonb {
    pub fn datum(self) -> Datum {
        self.0
    }

    /// Before compression, without its header.
    pub fn size(self) -> usize {
        // SAFETY: it is a jsonb, as who made it says.
        unsafe { raw_size(self.0) }
    }

    /// Without compression and its header.
    pub fn bytes<'c>(self) -> &'c [u8] {
        // SAFETY: as in `size`; what it is copied to lives as long as the call.
        unsafe { jsonb::bytes(self.0) }
    }
}

/// # Safety
/// The datum must be of a type of variable length.
unsafe fn raw_size(datum: Datum) -> usize {
    // SAFETY: as the caller says.
    unsafe { pg_sys::toast_raw_datum_size(datum) }.saturating_sub(pg_sys::VARHDRSZ)
}

/// As much of a text in the server's encoding as fits into so many bytes.
pub fn clipped(text: &[u8], most: usize) -> &[u8] {
    if text.len() <= most {
        return text;
    }
    let [length, limit] = [text.len(), most].map(|it| i32::try_from(it).unwrap_or(i32::MAX));
    // SAFETY: it reads no more than the length.
    let kept = unsafe { pg_sys::pg_mbcliplen(text.as_ptr().cast(), length, limit) };
    let kept = usize::try_from(kept).unwrap_or(0);
    text.get(..kept).unwrap_or_default()
}

pub fn required<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| null_argument(name))
}

pub fn datum(value: impl IntoDatum) -> Option<Datum> {
    value.into_datum()
}

/// A text of the program, as the server stores a short one: nothing is allocated for it.
pub struct Word<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Word<BYTES> {
    /// Does not compile unless `BYTES` is one more than the text has, and small.
    pub const fn of(text: &str) -> Self {
        let mut stored = [0; BYTES];
        if let Some((length, bytes)) = stored.split_first_mut() {
            bytes.copy_from_slice(text.as_bytes());
            assert!(BYTES < 128);
            *length = match cfg!(target_endian = "big") {
                true => BYTES as u8 | 0x80,
                false => (BYTES as u8) << 1 | 1,
            };
        }
        Self(stored)
    }

    pub fn datum(&'static self) -> Datum {
        Datum::from(self.0.as_ptr())
    }
}

macro_rules! word {
    ($text:expr) => {{
        static WORD: $crate::pg::call::Word<{ $text.len() + 1 }> =
            $crate::pg::call::Word::of($text);
        WORD.datum()
    }};
}
pub(crate) use word;

/// A count, as an int.
pub fn count(number: usize) -> Option<Datum> {
    datum(i32::try_from(number).unwrap_or(i32::MAX))
}

/// Fails unless the server accepts writes from this transaction.
pub fn must_be_writable() -> std::result::Result<(), Failure> {
    // SAFETY: both read process-local state.
    unsafe {
        if pg_sys::RecoveryInProgress() {
            return Err(crate::pg::error::on_standby());
        }
        if pg_sys::XactReadOnly {
            return Err(crate::pg::error::read_only());
        }
    }
    Ok(())
}
