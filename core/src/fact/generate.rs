//! Generates what the table of facts says: the enum, its codec, its groups, its accessors.

/// Makes [`Fact`](super::Fact) and all that follows from its table.
///
/// A group is an enum of borrowed facts. A row names a fact, which is also the name of its body and
/// its kind in the log, and what readers may ask of it:
///
/// - `turn(Outside)` or `turn(Opens)`: see [`FactTurn`](super::FactTurn); without it, `Inside`.
/// - `starts(Effect)`: it starts runs of this effect.
/// - `settings(field)`, `call(field)`, `dequeues(field)`, `keys(fields)`: the fields that hold them.
macro_rules! facts {
    // The value of a field that a row names, and `None` where it names none.
    (@field $fact:ident) => {{
        let _: &_ = $fact;
        None
    }};
    (@field $fact:ident $field:ident) => { Some(&$fact.$field) };
    (@start $fact:ident) => {{
        let _: &_ = $fact;
        None
    }};
    (@start $fact:ident $start:ident) => { Some(EffectStart::$start($fact)) };
    (@keys $fact:ident) => {{
        let _: &_ = $fact;
        [None, None]
    }};
    (@keys $fact:ident $key:ident) => { [$fact.$key.as_ref(), None] };
    (@keys $fact:ident $key:ident $other:ident) => {
        [$fact.$key.as_ref(), $fact.$other.as_ref()]
    };
    (@turn) => { FactTurn::Inside };
    (@turn $turn:ident) => { FactTurn::$turn };

    ($(
        $(#[$doc:meta])*
        $Group:ident: $View:ident {
            $(
                $Fact:ident
                $( turn($turn:ident) )?
                $( starts($start:ident) )?
                $( settings($settings:ident) )?
                $( call($call:ident) )?
                $( dequeues($dequeues:ident) )?
                $( keys($($key:ident)+) )?;
            )*
        }
    )*) => {
        /// One thing that happened.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is its struct, which is documented")]
        pub enum Fact {
            $($( $Fact($Fact), )*)*
        }

        /// A fact by the group that it belongs to, for readers that decide by one group alone.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FactGroup<'a> {
            $( $(#[$doc])* $Group($View<'a>), )*
        }

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            #[expect(missing_docs, reason = "each variant is its struct, which is documented")]
            pub enum $View<'a> {
                $( $Fact(&'a $Fact), )*
            }
        )*

        /// A fact that starts effects, by the effect; see [`EffectKey`](crate::EffectKey).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is an effect, which is documented there")]
        pub enum EffectStart<'a> {
            $($( $( $start(&'a $Fact), )? )*)*
        }

        impl Fact {
            /// The kinds of all facts, as envelopes spell them.
            pub const KINDS: &'static [&'static str] = &[ $($( stringify!($Fact), )*)* ];

            /// The kind, as the envelope spells it.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $($( Self::$Fact(_) => stringify!($Fact), )*)*
                }
            }

            /// The fact by its group.
            #[must_use]
            pub fn group(&self) -> FactGroup<'_> {
                match self {
                    $($( Self::$Fact(fact) => FactGroup::$Group($View::$Fact(fact)), )*)*
                }
            }

            /// The fact by the effect that it starts, if it starts one.
            #[must_use]
            pub fn start(&self) -> Option<EffectStart<'_>> {
                match self {
                    $($( Self::$Fact(fact) => facts!(@start fact $($start)?), )*)*
                }
            }

            /// Its place towards the turns of its session.
            #[must_use]
            pub fn turn(&self) -> FactTurn {
                match self {
                    $($( Self::$Fact(_) => facts!(@turn $($turn)?), )*)*
                }
            }

            /// The settings that hold from here on, if it says so.
            #[must_use]
            pub fn settings(&self) -> Option<&Arc<Settings>> {
                match self {
                    $($( Self::$Fact(fact) => facts!(@field fact $($settings)?), )*)*
                }
            }

            /// The call that it decides on, runs or observes, if it is about one.
            #[must_use]
            pub fn call(&self) -> Option<CallId> {
                let call: Option<&CallId> = match self {
                    $($( Self::$Fact(fact) => facts!(@field fact $($call)?), )*)*
                };
                call.copied()
            }

            /// The input that waits no longer, because this lets it in or blocks it.
            #[must_use]
            pub fn dequeued_input(&self) -> Option<InputId> {
                let input: Option<&InputId> = match self {
                    $($( Self::$Fact(fact) => facts!(@field fact $($dequeues)?), )*)*
                };
                input.copied()
            }

            /// The fields that hold a key which it was said under.
            pub(super) fn key_fields(&self) -> [Option<&String>; 2] {
                match self {
                    $($( Self::$Fact(fact) => facts!(@keys fact $($($key)+)?), )*)*
                }
            }

            /// Writes the body.
            pub(crate) fn encode_body<S: SerializeStruct>(&self, out: &mut S) -> Result<(), S::Error> {
                match self {
                    $($( Self::$Fact(body) => out.serialize_field("body", body), )*)*
                }
            }
        }

        /// A kind as it was read, and with it the body that follows.
        #[derive(Clone, Copy, Deserialize)]
        pub(crate) enum Kind {
            $($( $Fact, )*)*
        }

        impl<'de> DeserializeSeed<'de> for Kind {
            type Value = Fact;

            fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Fact, D::Error> {
                match self {
                    $($( Self::$Fact => Deserialize::deserialize(from).map(Fact::$Fact), )*)*
                }
            }
        }
    };
}

pub(super) use facts;
