"""The game in the browser: the page in `static/`, and the JSON interface behind it.

`server.py` listens, `app.py` has the addresses, `api.py` the endpoints, `requests.py` and
`answers.py` the models of their JSON, `refusals.py` what is refused.
"""
