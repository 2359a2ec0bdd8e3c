"""The shared library `libswtch_pipe.so`, which `swtch_function` loads for its method `pipe-native`."""
