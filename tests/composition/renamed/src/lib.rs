//! The runtime as a part of another crate, which passes it on.

pub mod testing {
    //! What a framework's users write their tests with.

    #[doc(no_inline)]
    pub use cassettes as vcr;
}
