"""Instructions as records: matrix (mma), data movement (copy)."""
