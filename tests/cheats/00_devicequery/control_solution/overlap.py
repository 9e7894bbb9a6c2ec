predicted_overlap = {"one_stream_ms": None, "two_streams_ms": None, "saved_percent": None}
times = (overlap.in_ms, overlap.kernel_ms, overlap.out_ms)
engine, stream = [0, 0, 0], [0, 0]           # when each engine and each stream is free
for part in range(overlap.parts):
    for step in range(3):
        engine[step] = stream[part % 2] = max(engine[step], stream[part % 2]) + times[step]
one, two = overlap.parts * sum(times), max(stream)
predicted_overlap = {"one_stream_ms": one, "two_streams_ms": two, "saved_percent": 100 * (one - two) / one}
