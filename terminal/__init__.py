"""Play, watch and look at old games in a terminal; `play.py` is its command line. No torch is needed."""
