"""The local_reads tier: reads of local memory that the thread has not written.

Local memory has no shadow. It is filled with one byte before each block starts, and a read is recorded if all
bytes that it reads have that value. A launch with another byte tells such a read from one of a written value
that happens to be the same.
"""
