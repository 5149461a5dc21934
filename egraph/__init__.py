"""A program as an e-graph: the egglog adapter, encoding, rules, saturation and its reports. Imports only ir."""
