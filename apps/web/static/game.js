// A game under way: its moves, how it stands, and what is saved of it.

import { session } from "./memory.js";
import { gameState, other, sideOf } from "./rules.js";
import { HUMAN, boardKey } from "./words.js";

const anySeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

export class Game {
  /**
   * rules: the board. players: see `Players`. moves: those that it begins with; a person may take
   * back later ones only. guide: the cells of a game that is to be followed. shown: see `Numbers`.
   * first, seed: of a saved game that is continued.
   */
  constructor(rules, players, { moves = [], guide = [], shown = {}, first = moves.length, seed = anySeed() }) {
    Object.assign(this, { rules, players, guide, shown: { ...shown }, first, seed });
    this.moves = [...moves];
    this.resigned = null; // the side that has given up
    this.isCounted = false; // in the score
  }

  /** See `gameState`; `ended` may be "resigned" too. */
  get state() {
    const stands = gameState(this.moves, this.rules);
    if (this.resigned === null) return stands;
    return { ...stands, turn: null, ended: "resigned", result: other(this.resigned) };
  }

  /** The side to move, null at the end. */
  get turn() {
    return this.state.turn;
  }

  get isOver() {
    return this.turn === null;
  }

  /** What is saved of it: see memory.js. */
  get saved() {
    const { rules, players, moves, first, seed, guide, shown } = this;
    return { seats: { ...players.seats }, board: boardKey(rules), moves, first, seed, guide, shown };
  }

  /** True if a person has moved in it. */
  get isUnderWay() {
    return isUnderWay(this.saved);
  }

  add(cell) {
    this.moves = [...this.moves, cell];
  }

  /** Take back the last move of a person, and what was played after it. */
  takeBack() {
    let moves = this.moves.slice(0, -1);
    while (moves.length > this.first && !this.players.isHuman(sideOf(moves.length)))
      moves = moves.slice(0, -1);
    this.moves = moves;
    this.resigned = null;
  }

  /** Put it aside if it is not over, so that the note can lead back to it. */
  leave() {
    if (!this.isOver) putAside(this.saved);
  }
}

/** Put a saved game aside if a person has moved in it, so that it would be a pity to lose it. */
export function putAside(saved) {
  if (isUnderWay(saved)) session.set("left", saved);
}

const isUnderWay = ({ moves, first, seats }) =>
  moves.some((_, ply) => ply >= first && seats[sideOf(ply)] === HUMAN);
