predicted_overlap = {'one_stream_ms': 48, 'two_streams_ms': 36.0, 'saved_percent': 25.0}
