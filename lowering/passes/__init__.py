"""The road as passes by name: what each takes and makes (table), pipelines as text (syntax), how they run (manager)."""
