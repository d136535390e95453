"""The game in the browser: the page in `static/`, and the JSON interface behind it.

`server.py` has the addresses and listens, `api.py` has the endpoints, `requests.py` and
`answers.py` the models of their JSON, `refusals.py` what is refused, and `work.py` what is
computed, with the processes for what is heavy.
"""
