"""Messages about a source: the log of the compiler, with places and words for students."""
