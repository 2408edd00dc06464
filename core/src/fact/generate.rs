//! Generates code from the table of facts: the enum, its codec, its groups, its accessors.

/// Generates [`Fact`](super::Fact) and its companions from the table.
///
/// A group is an enum of borrowed facts. A row names a fact, which is also the name of its body and
/// its kind in the log. Then it lists the properties of the fact:
///
/// - `turn(Outside)` or `turn(Opens)`: see [`FactTurn`](super::FactTurn); without it, `Inside`.
/// - `starts(Effect)`: it starts runs of this effect.
/// - `settings(field)`, `call(field)`, `dequeues(field)`, `keys(fields)`: the fields that hold
///   them.
macro_rules! facts {
    // The value of a field that a row names; `None` if it names none.
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
        /// One event in a session.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is its struct, which is documented")]
        #[non_exhaustive]
        pub enum Fact {
            $($( $Fact($Fact), )*)*
        }

        /// A fact by its group, for readers that handle one group.
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

        /// A fact that starts effects, by effect; see [`EffectKey`](crate::EffectKey).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is an effect, which is documented there")]
        pub enum EffectStart<'a> {
            $($( $( $start(&'a $Fact), )? )*)*
        }

        impl Fact {
            /// Kinds of all facts, as envelopes spell them.
            pub const KINDS: &'static [&'static str] = &[ $($( stringify!($Fact), )*)* ];

            /// Returns the kind, as the envelope spells it.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $($( Self::$Fact(_) => stringify!($Fact), )*)*
                }
            }

            /// Returns the fact by its group.
            #[must_use]
            pub fn group(&self) -> FactGroup<'_> {
                match self {
                    $($( Self::$Fact(fact) => FactGroup::$Group($View::$Fact(fact)), )*)*
                }
            }

            /// Returns the fact by the effect that it starts, if it starts one.
            #[must_use]
            pub fn start(&self) -> Option<EffectStart<'_>> {
                match self {
                    $($( Self::$Fact(fact) => facts!(@start fact $($start)?), )*)*
                }
            }

            /// Returns the relation of the fact to the turns of its session.
            #[must_use]
            pub fn turn(&self) -> FactTurn {
                match self {
                    $($( Self::$Fact(_) => facts!(@turn $($turn)?), )*)*
                }
            }

            /// Returns the settings that apply from this fact on, if it sets them.
            #[must_use]
            pub fn settings(&self) -> Option<&Arc<Settings>> {
                match self {
                    $($( Self::$Fact(fact) => facts!(@field fact $($settings)?), )*)*
                }
            }

            /// Returns the call that it decides on, runs or observes, if it is about one.
            #[must_use]
            pub fn call(&self) -> Option<CallId> {
                let call: Option<&CallId> = match self {
                    $($( Self::$Fact(fact) => facts!(@field fact $($call)?), )*)*
                };
                call.copied()
            }

            /// Returns the input that this fact admits, blocks or withdraws, and so removes from the
            /// queue.
            #[must_use]
            pub fn dequeued_input(&self) -> Option<InputId> {
                let input: Option<&InputId> = match self {
                    $($( Self::$Fact(fact) => facts!(@field fact $($dequeues)?), )*)*
                };
                input.copied()
            }

            /// Returns the fields that hold a key of the input.
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

        /// A kind that was read, used to read the body that follows.
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
