//! Windows, by hand and at random; screens.
