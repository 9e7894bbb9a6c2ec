"""The simulator as a device, and the messages for the faults that it finds."""
