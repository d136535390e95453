// The learners that can be watched: the Q-learner, which learns in the browser, and a network, which
// the server trains. Each has:
//
// count: the games or moves that it has learned from. look(moves): what it expects after these moves,
// as notes for a Board, null at the end of a game. advance(moves): learn until the next check, then
// look. moveIn(position): the cell that it marks.

import * as data from "./data.js";
import { session } from "./memory.js";
import { UNFINISHED, positionAfter } from "./positions.js";
import { QLearner } from "./q_learner.js";
import { percent, signed } from "./words.js";

const GROWTH = 1.1; // times as many games at the next check, since it learns most at the beginning

class Local {
  constructor(seed) {
    this.learner = new QLearner(seed);
  }

  get count() {
    return this.learner.games;
  }

  async advance(moves) {
    const goal = Math.max(this.count + 5, Math.ceil(this.count * GROWTH));
    while (this.count < goal) this.learner.play();
    return this.look(moves);
  }

  async look(moves) {
    const position = positionAfter(moves);
    return position.turn && this.learner.values(position).map(valueNote);
  }

  moveIn(position) {
    return this.learner.move(position);
  }
}

class Remote {
  constructor(seed, signal) {
    this.id = Math.floor(Math.random() * 2 ** 53);
    Object.assign(this, { seed, signal, count: 0, instead_of: session.get("training", null) });
    session.set("training", this.id);
  }

  advance(moves) {
    return this.ask(moves, true);
  }

  look(moves) {
    return this.ask(moves, false);
  }

  async ask(moves, further) {
    const { id, instead_of, seed, signal } = this;
    const found = await data.train({ id, instead_of, seed, moves, further }, signal);
    const isLost = found.steps < this.count;
    this.count = found.steps;
    this.cells = new Map(UNFINISHED.map((position, n) => [position, Number(found.cells[n])]));
    if (isLost) throw new Error("The server no longer has this training, and begins anew.");
    return found.probs && found.probs.map(shareNote);
  }

  moveIn(position) {
    return this.cells.get(position);
  }
}

const valueNote = (value) =>
  value !== null && {
    kind: "own",
    text: signed(value),
    at: (1 + value) / 2,
    words: `thought to be worth ${signed(value)}`,
  };

const shareNote = (share) =>
  share !== null && {
    kind: "chance",
    text: percent(share),
    at: share,
    words: `played with ${percent(share)}`,
  };

/**
 * By their names in addresses. name: in a sentence. unit: what `count` counts. end: where the axis of the count ends at
 * first. caption: what the numbers on the board are, for the side to move.
 */
export const LEARNERS = {
  tabular_q: {
    title: "Q-learner",
    name: "The Q-learner",
    unit: "games",
    end: 10_000,
    story: "It begins with the rules and an empty table. Its opponent makes 60\u00a0% random moves, and after each game the table says a little better what the positions in it are worth.",
    caption: (side) => `What it expects as ${side}: +1.00 a sure win, −1.00 a sure loss.`,
    make: (seed) => new Local(seed),
  },
  maskable_ppo: {
    title: "Neural network (PPO)",
    name: "The network",
    unit: "moves",
    end: 150_000,
    story: "It begins with the rules and a random network. After every 4,096 moves, those that turned out better than expected become more likely. The server trains it now, with MaskablePPO of Stable-Baselines3; its opponent makes 30\u00a0% random moves. The most likely moves are judged.",
    caption: (side) => `How likely it makes each move as ${side}.`,
    make: (seed, signal) => new Remote(seed, signal),
  },
};
