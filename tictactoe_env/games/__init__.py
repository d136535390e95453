"""Games as text, JSON and a store of games in one SQLite file."""
