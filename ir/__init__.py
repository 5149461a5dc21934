"""The representation of programs: IR core, dialects, text and bytecode forms, verifier, reference interpreter."""
