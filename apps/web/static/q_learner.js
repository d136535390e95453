// A Q-learner, as in agents/tabular_q.py: a table holds what each position is worth to the side that
// has just moved, and each finished game corrects those that the learner moved to, the last one first.
//
// The last one moves towards the result, an earlier one towards the best that could follow it. There
// are two tables, and each game corrects one by what the other says, because the best of several
// noisy values is too high on average (double Q-learning). Images of a position share a value.

import { START } from "./positions.js";

const SLIP = 0.6; // of the opponent's moves are random, the others perfect
const EXPLORES = [0.7, 0.3]; // the share of random moves at first, and at least
const TENTH = 50_000; // moves after which it falls by a tenth
const POWER = 0.85; // the n-th correction of a value goes n ** -POWER of the way

export class QLearner {
  /** The same seed learns the same. */
  constructor(seed) {
    this.random = randomFrom(seed);
    this.tables = [new Map(), new Map()]; // by position: {value, count}
    this.games = 0;
    this.moves = 0; // of the learner
  }

  /** Play a game and learn from it, with X and O in turn. */
  play() {
    const side = this.games % 2 === 0 ? "X" : "O";
    const own = []; // its moves: the positions before and after each
    let position = START;
    while (position.turn) {
      const isOwn = position.turn === side;
      const next = position.after[isOwn ? this.explore(position) : this.reply(position)];
      if (isOwn) own.unshift([position, next]);
      position = next;
    }
    const [table, other] = this.random() < 0.5 ? this.tables : this.tables.toReversed();
    let target = rewardOf(position, side);
    for (const [before, after] of own) {
      correct(table, after, target);
      const best = bestOf(before, (cell) => valueIn(table, before.after[cell]));
      target = valueIn(other, before.after[best]);
    }
    this.games += 1;
    this.moves += own.length;
  }

  /** What it expects of each cell, for the side to move: null for those that are taken. */
  values({ after }) {
    return after.map((next) => next && this.valueOf(next));
  }

  /** The cell that it marks when it plays in earnest: of the best ones the first. */
  move(position) {
    return bestOf(position, (cell) => this.valueOf(position.after[cell]));
  }

  valueOf(position) {
    const [one, two] = this.tables;
    return (valueIn(one, position) + valueIn(two, position)) / 2;
  }

  explore(position) {
    const [first, least] = EXPLORES;
    const share = Math.max(least, first - 0.1 * Math.floor(this.moves / TENTH));
    if (this.random() < share) return this.oneOf(position.free);
    const values = position.free.map((cell) => this.valueOf(position.after[cell]));
    const best = Math.max(...values);
    return this.oneOf(position.free.filter((_, n) => values[n] === best));
  }

  reply({ free, best }) {
    return this.oneOf(this.random() < SLIP ? free : best);
  }

  oneOf(cells) {
    return cells[Math.floor(this.random() * cells.length)];
  }
}

const rewardOf = ({ result }, side) => {
  if (result === "draw") return 0;
  return result === side ? 1 : -1;
};

const valueIn = (table, { image }) => table.get(image)?.value ?? 0;

function correct(table, { image }, target) {
  const { value, count } = table.get(image) ?? { value: 0, count: 0 };
  const rate = (count + 1) ** -POWER;
  table.set(image, { value: value + rate * (target - value), count: count + 1 });
}

/** The first free cell with the highest value. */
function bestOf({ free }, valueOf) {
  return free.reduce((best, cell) => (valueOf(cell) > valueOf(best) ? cell : best));
}

/** Random numbers from 0 to 1: mulberry32. */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
