"""Values of games: replays, states, networks, runs."""
