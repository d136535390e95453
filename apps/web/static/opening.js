// Which game the page begins with: the one of its address, the one under way, or that of the last
// players.

import { memory } from "./memory.js";
import { EASY, HUMAN, anyOf, boardKey, parseBoard } from "./words.js";

const SQUARE = "3x3x3";
const SMALL = 12; // cells of a board that need not be among those to choose from

/** {seats, board, guide, moves} that an address names; what it leaves out is as in `last`. */
export function askedGame(parameters, last) {
  const board = parameters.get("board") ?? (parameters.size ? SQUARE : last.board);
  return {
    seats: { X: parameters.get("x") ?? last.seats.X, O: parameters.get("o") ?? last.seats.O },
    board: board === "3x3" ? SQUARE : board,
    guide: cellsOf(parameters.get("line")),
    moves: cellsOf(parameters.get("moves")),
  };
}

/** Whether an address asks for the game that is under way. */
export function isSameGame(asked, before, parameters) {
  return (
    before !== null &&
    !parameters.has("moves") &&
    asked.board === before.board &&
    asked.seats.X === before.seats.X &&
    asked.seats.O === before.seats.O &&
    (parameters.size === 0 || asked.guide.join() === before.guide.join())
  );
}

/** Who played last in this browser, and where; at first a person against one that is easy to beat. */
export function lastPlayers(agents, boards) {
  const first = { seats: { X: HUMAN, O: EASY }, board: boardKey(boards[0]) };
  const last = memory.get("players", first);
  const isThere = (id) => id === HUMAN || agents.some((agent) => agent.id === id);
  const isBoard = boards.some((board) => boardKey(board) === last.board);
  return isBoard && isThere(last.seats?.X) && isThere(last.seats?.O) ? last : first;
}

/** The board of "3x4x3" if the page plays on it: one to choose from, or any small one; else null. */
export function boardOf(text, boards) {
  const wanted = parseBoard(text);
  if (!wanted) return null;
  const found = boards.find((board) => boardKey(board) === boardKey(wanted));
  if (found) return found;
  const { rows, cols, k } = wanted;
  const isSmall = rows && cols && k && rows * cols <= SMALL && k <= Math.max(rows, cols);
  return isSmall ? wanted : null;
}

/** Why there is no board of this text; "4x4" does not say how many in a row win. */
export function noBoardText(text) {
  const said = `There is no board “${text}” on this page.`;
  const size = /^(\d{1,2})x(\d{1,2})$/.exec(text);
  if (!size) return said;
  const longest = Math.max(+size[1], +size[2]);
  const lengths = [...new Set([Math.min(3, longest), longest])];
  return `${said} Say how many in a row win: ${anyOf(lengths.map((k) => `${text}x${k}`))}.`;
}

/** The cells of "4,0,8". */
function cellsOf(text) {
  return (text ?? "")
    .split(",")
    .filter((word) => /^\d{1,2}$/.test(word))
    .map(Number);
}
