//! A macro that expands a table of algorithms to an enum, its dispatch and its rows.

/// The table of a family: one `module::Type` per line, followed by `: implementing type` if that is another type
/// (`Classic<Reno>` for the rule Reno), and by `|` and its Linux form, likewise, if there is one. The macro generates
/// the exports, the rows of `TABLE`, an enum of the instances, which avoids virtual calls except for external
/// algorithms, and `each!`, which dispatches a call.
#[macro_export]
macro_rules! built_in {
    (
        $(#[$meta:meta])*
        enum $built:ident, $outside:ty:
        $($module:ident::$name:ident $(: $type:ty)? $(| $linux_module:ident::$linux:ident $(: $linux_type:ty)?)?),* $(,)?
    ) => {
        $(pub use $module::$name; $(pub use $linux_module::$linux;)?)*

        $(#[$meta])*
        #[derive(Debug)]
        pub enum $built {
            $(
                #[doc = concat!("[`", stringify!($name), "`].")]
                $name($crate::built_in!(@ $name $($type)?)),
                $(
                    #[doc = concat!("[`", stringify!($linux), "`].")]
                    $linux($crate::built_in!(@ $linux $($linux_type)?)),
                )?
            )*
            /// An external algorithm.
            Custom(Box<$outside>),
        }

        static TABLE: &[$crate::Row<$built>] = &[$($crate::Row {
            about: <$name as $crate::Algorithm>::ABOUT,
            capabilities: <$name as $crate::Algorithm>::capabilities,
            check: <$name as $crate::Algorithm>::check,
            make: |given, origin| {
                $(if given.is_linux() {
                    return $built::$linux($crate::Make::make(given, origin));
                })?
                $built::$name($crate::Make::make(given, origin))
            },
        }),*];

        macro_rules! each {
            ($self:expr, $algorithm:ident => $call:expr) => {
                match $self {
                    $($built::$name($algorithm) => $call, $($built::$linux($algorithm) => $call,)?)*
                    $built::Custom($algorithm) => $call,
                }
            };
        }
    };
    (@ $name:ident) => { $name };
    (@ $name:ident $type:ty) => { $type };
}
