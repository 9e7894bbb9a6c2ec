"""PTX text: tokens, parser, syntax tree, inlining, and the instruction forms that are executed."""
