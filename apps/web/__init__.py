"""The game in the browser: the page in `static/`, and the JSON interface behind it.

`server.py` has the addresses and listens, `api.py` has the endpoints, `requests.py` and
`answers.py` the models of their JSON with `examples.json`, `refusals.py` what is refused; `work.py`
what is computed, and `processes.py` the processes for what is heavy.
"""
