// Every position of 3 × 3 that play can reach, as an object:
//
// moves: cells that lead to it. turn, result: see `gameState`. free: its free cells. after: the
// positions after each of them, by cell. image: the position that stands for it and for its mirror
// images and rotations. value: its exact worth for X, 1, 0 or -1. best: the cells that keep it.

import { gameState, sideOf } from "./rules.js";

export const BOARD = { rows: 3, cols: 3, k: 3 };
const CELLS = [...Array(9).keys()];
const turned = (cell) => (cell % 3) * 3 + 2 - Math.floor(cell / 3);
const mirrored = (cell) => cell + 2 - 2 * (cell % 3);
const known = new Map(); // by their marks

/** The marks on each cell. place(cell): the cell that a mark is put on. */
function marksOf(moves, place = (cell) => cell) {
  const marks = Array(9).fill("-");
  moves.forEach((cell, ply) => (marks[place(cell)] = sideOf(ply)));
  return marks.join("");
}

/** The marks that are the first by alphabet among those of all images. */
function imageOf(moves) {
  let [one, other] = [(cell) => cell, mirrored];
  const images = [];
  for (let turns = 0; turns < 4; turns++) {
    images.push(marksOf(moves, one), marksOf(moves, other));
    const [before, beside] = [one, other];
    one = (cell) => turned(before(cell));
    other = (cell) => turned(beside(cell));
  }
  return images.sort()[0];
}

/** The position after these moves. */
export function positionAfter(moves) {
  const marks = marksOf(moves);
  return known.get(marks) ?? made(moves, marks);
}

/** The position that is not known yet, with all that follow. */
function made(moves, marks) {
  const { turn, result } = gameState(moves, BOARD);
  const position = { moves, turn, result, after: Array(9).fill(null) };
  known.set(marks, position);
  position.free = turn ? CELLS.filter((cell) => !moves.includes(cell)) : [];
  for (const cell of position.free) position.after[cell] = positionAfter([...moves, cell]);
  const sign = turn === "X" ? 1 : -1;
  const values = position.free.map((cell) => sign * position.after[cell].value);
  position.value = turn ? sign * Math.max(...values) : { X: 1, O: -1, draw: 0 }[result];
  position.best = position.free.filter((cell) => position.after[cell].value === position.value);
  return position;
}

export const START = positionAfter([]);
for (const position of known.values()) position.image = known.get(imageOf(position.moves));

/** The positions that are not over, as the package numbers them: by ply, then by ternary code. */
export const UNFINISHED = [...known.values()]
  .filter(({ turn }) => turn)
  .sort((one, two) => one.moves.length - two.moves.length || codeOf(one) - codeOf(two));

/** Of the first cell X adds 1 and O adds 2, of the second cell 3 and 6, and so on. */
function codeOf({ moves }) {
  return moves.reduce((sum, cell, ply) => sum + (1 + (ply % 2)) * 3 ** cell, 0);
}
