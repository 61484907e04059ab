"""Model providers: neutral request in, neutral events out; one file a wire format.

Imports `app.protocol` and `app.errors` only. What differs between compatible servers is data
(`profiles`), how to reach one is `transport`, and what its stream looks like is `*_stream`.
"""
