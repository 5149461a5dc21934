"""What a program is: IR core, dialects, text and bytecode forms, verifier, reference interpreter."""
