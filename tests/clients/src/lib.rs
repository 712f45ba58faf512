//! What the tests of every client share.
