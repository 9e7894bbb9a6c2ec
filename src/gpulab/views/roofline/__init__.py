"""Static pictures of a roofline."""
