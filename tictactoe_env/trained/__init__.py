"""The trained players that come with the package, and own values of moves."""
