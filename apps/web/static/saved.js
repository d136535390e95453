// The game under way, which a reload continues, and the one that was left for another.
// A game: {seats: {X, O}, board: "3x3x3", moves, first, seed, guide}.

import { session } from "./memory.js";

export const saved = {
  /** The game under way, or null. */
  get current() {
    return session.get("game", null);
  },
  keep(game) {
    session.set("game", game);
  },
  end() {
    session.set("game", null);
  },
  /** The game that was left, or null. */
  get left() {
    return session.get("left", null);
  },
  /** Put a game aside for `left`; null forgets it. */
  leave(game) {
    session.set("left", game);
  },
};

/** Whether a person has moved in a game, so that it would be a pity to lose it. */
export const isUnderWay = (game) =>
  game !== null &&
  game.moves.some((_, ply) => ply >= game.first && game.seats[ply % 2 ? "O" : "X"] === "human");
