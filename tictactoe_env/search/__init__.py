"""Players that think: alpha-beta and Monte Carlo tree search."""
