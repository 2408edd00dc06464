//! Generates code from the table of hook points: the points, their occurrences, their properties.

/// Generates [`HookPoint`](super::HookPoint), [`HookOccurrence`](super::HookOccurrence) and their
/// accessors.
///
/// A row names a point, the fields of its occurrences, and all of its
/// [`HookPointProperties`](super::HookPointProperties).
macro_rules! hook_points {
    // Returns a field of an occurrence, if the field and the accessor have the same name.
    (@get input input $at:ident $Point:ident) => { hook_points!(@found input $at $Point) };
    (@get call call $at:ident $Point:ident) => { hook_points!(@found call $at $Point) };
    (@get trigger trigger $at:ident $Point:ident) => { hook_points!(@found trigger $at $Point) };
    (@get start start $at:ident $Point:ident) => { hook_points!(@found start $at $Point) };
    (@get continued continued $at:ident $Point:ident) => {
        hook_points!(@found continued $at $Point)
    };
    (@get $wanted:ident $other:ident $at:ident $Point:ident) => {};
    (@found $field:ident $at:ident $Point:ident) => {
        if let Self::$Point { $field, .. } = $at {
            return Some(*$field);
        }
    };

    ($(
        $(#[$doc:meta])*
        $Point:ident
        $({ $( $(#[$field_doc:meta])* $field:ident: $Type:ty, )* })?
        => {
            topic: $topic:ident,
            level: $level:ident,
            denial: $denial:ident,
            after_denial: $after_denial:ident,
            edits: $edits:ident,
            context: $context:ident,
            lifetime: $lifetime:ident,
        }
    )*) => {
        /// Point in a turn at which hooks are asked.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum HookPoint {
            $( $(#[$doc])* $Point, )*
        }

        /// One occurrence of a hook point.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(tag = "point", rename_all = "snake_case")]
        pub enum HookOccurrence {
            $(
                $(#[$doc])*
                $Point $({ $( $(#[$field_doc])* $field: $Type, )* })?,
            )*
        }

        impl HookPoint {
            /// All points, in order.
            pub const ALL: &'static [Self] = &[ $( Self::$Point, )* ];

            /// Returns the properties of the point.
            #[must_use]
            pub const fn properties(self) -> HookPointProperties {
                match self {
                    $( Self::$Point => HookPointProperties {
                        topic: HookTopic::$topic,
                        level: HookLevel::$level,
                        denial: DenialEffect::$denial,
                        after_denial: AfterDenial::$after_denial,
                        edits: Editable::$edits,
                        context: ContextUse::$context,
                        lifetime: ContextLifetime::$lifetime,
                    }, )*
                }
            }
        }

        impl HookOccurrence {
            /// Returns the point of this occurrence.
            #[must_use]
            pub fn point(&self) -> HookPoint {
                match self {
                    $( Self::$Point { .. } => HookPoint::$Point, )*
                }
            }

            /// Returns the input that it is about, if it is about one.
            #[must_use]
            pub fn input(&self) -> Option<InputId> {
                $($($( hook_points!(@get input $field self $Point); )*)?)*
                None
            }

            /// Returns the call that it is about, if it is about one.
            #[must_use]
            pub fn call(&self) -> Option<CallId> {
                $($($( hook_points!(@get call $field self $Point); )*)?)*
                None
            }

            /// Returns the trigger of the compaction that it is about, if it is about one.
            #[must_use]
            pub fn trigger(&self) -> Option<CompactionTrigger> {
                $($($( hook_points!(@get trigger $field self $Point); )*)?)*
                None
            }

            /// Returns the start that it is about, if it is about one.
            #[must_use]
            pub fn start(&self) -> Option<SessionStart> {
                $($($( hook_points!(@get start $field self $Point); )*)?)*
                None
            }

            /// Returns the number of continuations by hooks so far, if the turn is about to
            /// complete.
            #[must_use]
            pub fn continued(&self) -> Option<u32> {
                $($($( hook_points!(@get continued $field self $Point); )*)?)*
                None
            }
        }
    };
}

pub(super) use hook_points;
