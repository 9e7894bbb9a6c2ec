"""Stand-in for a validator that takes 2.5 s of processor time to import.

jsonschema imports `rfc3987_syntax`, which builds 38 parsers, in every process that reads a notebook. Without
the package, jsonschema does not check the format `iri`, which no notebook uses.
"""

raise ImportError("left out of the tests because its import takes 2.5 s")
