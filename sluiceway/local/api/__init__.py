"""The Cloudflare v4 API of the local stage: one module or folder per product, rules and words of the platform.

To add an endpoint: a function ``async def name(call: Call) -> Response`` in the product's module and a line in
its ``ROUTES``; a new product also needs its table in ``app.py``. Reads use ``call.state``; writes go through
``call.control.change``, whose function checks the rules and touches the records, since it runs in a transaction and
is pushed to the data plane before it is answered. What the data plane must know of it belongs in ``world.py``;
the shape of the body in ``shapes.py``; a refusal is an ``ApiError`` with the platform's status, code and words.
"""
