"""The game in the browser: the page in `static/`, and the JSON interface behind it.

`server.py` has the addresses and listens, `api.py` has the endpoints, `requests.py` the models of
what is asked, `refusals.py` what is refused, and `work.py` what is computed, with the processes for
what is heavy. `demo.py` writes the page as one file.
"""
