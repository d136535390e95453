// The game: whose turn it is, what a cell is called, where a mark may be, and how a game stands.
// board: {rows, cols, k}, and gravity: true where pieces fall.

const KNOWN = ["rows", "cols", "k", "gravity"];

/** The board itself. Throws an error for a board with a law that this page does not know. */
function checked(board) {
  const unknown = Object.keys(board).find((name) => !KNOWN.includes(name));
  if (unknown) throw new Error(`This page does not know the law of boards with ${unknown}.`);
  return board;
}

export const other = (side) => (side === "X" ? "O" : "X");
export const sideOf = (ply) => (ply % 2 === 0 ? "X" : "O");
export const cellName = (cell, board) =>
  String.fromCharCode(97 + (cell % board.cols)) + (Math.floor(cell / board.cols) + 1);
export const cellOf = (name, board) => (+name.slice(1) - 1) * board.cols + name.charCodeAt(0) - 97;

/**
 * The cell that is marked if somebody chooses a cell: this one, or with gravity the lowest free one
 * of its column; undefined if there is none.
 */
export function landing(cell, moves, board) {
  const { rows, cols, gravity } = checked(board);
  const column = Array.from({ length: rows }, (_, row) => row * cols + (cell % cols));
  return (gravity ? column : [cell]).findLast((one) => !moves.includes(one));
}

const DIRECTIONS = [[0, 1], [1, 0], [1, 1], [1, -1]]; // rows down, columns to the right

/**
 * How a game stands: {turn, ended, result, lines}. turn: the side to move, null at the end. ended:
 * "line", "full", "illegal" for a last move that is illegal, or "". lines: the cells of each line
 * that won.
 */
export function gameState(moves, board) {
  const { rows, cols, k } = checked(board);
  const [last, side] = [moves.at(-1), sideOf(moves.length - 1)];
  const over = (ended, result, lines = []) => ({ turn: null, ended, result, lines });
  if (moves.length && landing(last, moves.slice(0, -1), board) !== last) return over("illegal", other(side));
  const own = moves.filter((_, ply) => sideOf(ply) === side);
  const has = (row, col) =>
    row >= 0 && row < rows && col >= 0 && col < cols && own.includes(row * cols + col);
  const line = ([down, right]) => {
    let [row, col] = [Math.floor(last / cols), last % cols];
    while (has(row - down, col - right)) [row, col] = [row - down, col - right];
    const cells = [];
    for (; has(row, col); row += down, col += right) cells.push(row * cols + col);
    return cells;
  };
  const lines = DIRECTIONS.map(line).filter((cells) => cells.length >= k);
  if (lines.length) return over("line", side, lines);
  if (moves.length === rows * cols) return over("full", "draw");
  return { turn: other(side), ended: "", result: null, lines };
}

/** The end of a game in words: "You win: Perfect play resigned". nameOf(side): who played it. */
export function endText(result, ended, nameOf = (side) => side) {
  if (result === "draw") return ended === "early" ? "a draw: nobody could win any more" : "a draw";
  const [winner, loser] = [nameOf(result), nameOf(other(result))];
  const text = winner === "You" ? "You win" : `${winner} wins`;
  const why = { illegal: "made an illegal move", resigned: "resigned" }[ended];
  return why ? `${text}: ${loser === "You" ? "you" : loser} ${why}` : text;
}
