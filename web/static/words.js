// Words and names that every part of the page uses.

export const HUMAN = "human";
export const other = (side) => (side === "X" ? "O" : "X");
export const sideOf = (ply) => (ply % 2 === 0 ? "X" : "O");
export const cellName = (cell, board) =>
  String.fromCharCode(97 + (cell % board.cols)) + (Math.floor(cell / board.cols) + 1);
export const cellOf = (name, board) => (+name.slice(1) - 1) * board.cols + name.charCodeAt(0) - 97;
export const boardKey = (board) => `${board.rows}x${board.cols}x${board.k}`;
/** A space that does not break keeps the parts of "3 × 3, 3 in a row" together. */
export const boardName = (board) =>
  `${board.rows}\u00a0×\u00a0${board.cols}, ${board.k}\u00a0in\u00a0a\u00a0row`;
export const agentPath = (id) => "/agents/" + pathOf(id);
export const pathOf = (id) => id.split("/").map(encodeURIComponent).join("/");

/** The board of "3x3x3", or null. */
export function parseBoard(text) {
  const found = /^(\d{1,2})x(\d{1,2})x(\d{1,2})$/.exec(text ?? "");
  return found && { rows: +found[1], cols: +found[2], k: +found[3] };
}

/** Whether an agent plays on a board. */
export function plays(agent, board) {
  if (agent.broken) return false;
  return agent.board
    ? boardKey(agent.board) === boardKey(board)
    : board.rows * board.cols <= agent.max_cells;
}

const ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split(" ");
export const ordinal = (number) => ORDINALS[number - 1] ?? `${number}th`;
export const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
export const plural = (count, word) =>
  `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** "a", "a or b", "a, b or c". */
export const anyOf = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

export const percent = (share) =>
  `${share > 0 && share < 0.005 ? "<1" : Math.round(100 * share)}\u00a0%`;
export const signed = (value, digits = 2) =>
  Math.abs(value) < 0.5 * 10 ** -digits
    ? (0).toFixed(digits)
    : (value > 0 ? "+" : "−") + Math.abs(value).toFixed(digits);

/** The result of a game in words. */
export function endText(result, ended) {
  if (result === "draw") return ended === "early" ? "a draw: nobody could win any more" : "a draw";
  const why =
    { illegal: `: ${other(result)} chose a taken cell`, resigned: `: ${other(result)} resigned` }[
      ended
    ] ?? "";
  return `${result} wins${why}`;
}

/** How many games an agent has learned from since its training, if any. */
export function learnedText({ learned }) {
  return learned ? `It has learned from ${plural(learned, "game")} since its training.` : "";
}

/** How strong an agent is, in a few words; "" where nothing is proven. */
export function strengthText(agent) {
  if (agent.broken || agent.unbeatable === null) return "";
  const claim = agent.verified ? "" : "said to be: ";
  return claim + (agent.unbeatable ? "unbeatable" : "can be beaten");
}
