"""Fast play: games as rows of tables on small boards, as bitboards on any board."""
