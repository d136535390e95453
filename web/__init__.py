"""The game in the browser: a small server (`web/server.py`) and the page that it sends (`web/static/`)."""
