//! How Rust functions become SQL functions: under which name the server finds them, for which catalogs, and with whose rights they run.

/// Makes a Rust function callable from SQL as `$symbol`: `fn(&Call) -> Result<Option<Datum>>`, whatever the catalog is.
macro_rules! unguarded_function {
    ($symbol:ident, $finfo:ident, $function:expr) => {
        #[doc(hidden)]
        #[allow(unsafe_code, reason = "the server finds it by its name")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $finfo() -> &'static pgrx::pg_sys::Pg_finfo_record {
            const RECORD: pgrx::pg_sys::Pg_finfo_record =
                pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &RECORD
        }

        #[doc(hidden)]
        #[allow(
            unsafe_code,
            reason = "the server finds it by its name, and passes the frame of a call"
        )]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $symbol(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            // SAFETY: the function manager passes a valid call frame, and sql/schema declares the function.
            unsafe {
                $crate::pg::raised::keeping_errors(|| {
                    let call = $crate::pg::call::Call::new(fcinfo);
                    let function: fn(&$crate::pg::call::Call) -> $crate::pg::call::Outcome =
                        $function;
                    call.give(function(&call))
                })
            }
        }
    };
}
pub(crate) use unguarded_function;

/// The same for a function that reads its arguments or the tables: only where the catalog is one that the library knows.
macro_rules! sql_function {
    ($symbol:ident, $finfo:ident, $function:expr) => {
        $crate::pg::functions::unguarded_function!($symbol, $finfo, |call| {
            let function: fn(&$crate::pg::call::Call) -> $crate::pg::call::Outcome = $function;
            $crate::pg::served::must_know_catalog()?;
            function(call)
        });
    };
}
pub(crate) use sql_function;

/// The same for a SECURITY INVOKER function, which knows its caller and runs with its owner's rights.
macro_rules! sql_verb {
    ($symbol:ident, $finfo:ident, $function:path) => {
        $crate::pg::functions::sql_function!($symbol, $finfo, |call| $crate::pg::rights::as_owner(
            call.function(),
            || $function(call)
        ));
    };
}
pub(crate) use sql_verb;
