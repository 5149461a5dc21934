"""The e-graph of a program: the egglog adapter, encoding, rules, saturation and its reports. Imports only ir."""
