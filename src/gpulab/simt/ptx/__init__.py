"""PTX text: tokens, parser, syntax tree, call graph, and inlining of functions."""
