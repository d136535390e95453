"""For people: who can play, the terminal, and the page."""
