ends = {}
for part in range(overlap.parts):
    for step, ms in enumerate((overlap.in_ms, overlap.kernel_ms, overlap.out_ms)):
        before = (ends.get((part - 1, step), 0), ends.get((part, step - 1), 0), ends.get((part - 2, 2), 0))
        ends[part, step] = max(before) + ms
one = overlap.parts * (overlap.in_ms + overlap.kernel_ms + overlap.out_ms)
two = max(ends.values())
predicted_overlap = {"one_stream_ms": one, "two_streams_ms": two, "saved_percent": 100 - 100 * two / one}
