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
/** Shapes beside the colours of the truth. */
export const SIGNS = { wins: "▲", draws: "=", loses: "▼" };
/** The groups of players in the order of a list: id, heading, and what they are. */
export const GROUPS = [
  ["easy", "Easy to beat", "They make mistakes. Begin here."],
  ["strong", "Strong, without training", "They calculate, and seldom make a mistake."],
  ["perfect", "Perfect play", "They calculate every game to its end. Nobody can beat them."],
  [
    "proven",
    "Trained, proven unbeatable",
    "They have learned to play, and come with the program. No line of play beats them.",
  ],
  [
    "beatable",
    "Trained, can be beaten",
    "Trained, but somebody can beat them. Each shows a game that it loses.",
  ],
  ["run", "Your training runs", "Trained on this computer."],
  ["other", "Added by other packages", "They belong to other packages on this computer."],
];
/** What players without training do, for people who have not read about such programs. */
const IN_PLAIN_WORDS = {
  random: "It plays any free cell, each equally likely",
  "search-depth=1": "It takes a win and blocks yours, but it does not see a fork",
  "search-depth=2": "It thinks two moves ahead",
  "search-depth=4": "It thinks four moves ahead",
  search: "It works out every game to its end",
  "mcts-playouts=50":
    "It tries 50 games (playouts) in its head before each move. It plays well, with mistakes",
  "mcts-playouts=1000": "It tries 1,000 games (playouts) in its head before each move",
  "runs/learner": "It remembers your games and learns from them; it knows none yet",
};
export const aboutText = (agent) => IN_PLAIN_WORDS[agent.id] ?? capital(agent.about);
export const EASY = "minimax-slip=0.3"; // the opponent to begin with
export const PERFECT = "minimax";

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

/**
 * What a position or a move is worth with best play, for the side to move: {value, plies}, plies
 * until the end. In words as in chess, where "in 2 moves" counts the moves of the winner.
 */
export function worthText({ value, plies }) {
  if (value === 0) return "draws";
  const moves = winnersMoves({ value, plies });
  if (value > 0) return moves === 1 ? "wins at once" : `wins in ${moves} moves`;
  return moves === 1 ? "loses to the next move" : `loses in ${moves} moves`;
}

/** The same where there is room for three short words only: "wins now", "loses in 1". */
export const worthInShort = (worth) =>
  worthText(worth)
    .replace("at once", "now")
    .replace("to the next move", "in 1")
    .replace(" moves", "");

/** The moves that the winner still has to make. */
export const winnersMoves = ({ value, plies }) => (value > 0 ? Math.ceil : Math.floor)(plies / 2);

/** "with the next move", "in 3 moves". */
export const inMoves = (moves) => (moves === 1 ? "with the next move" : `in ${moves} moves`);

/** The result of a game in words. */
export function endText(result, ended) {
  if (result === "draw") return ended === "early" ? "a draw: nobody could win any more" : "a draw";
  const why =
    { illegal: `: ${other(result)} chose a taken cell`, resigned: `: ${other(result)} resigned` }[
      ended
    ] ?? "";
  return `${result} wins${why}`;
}

/** "trained as O only" of an agent that was trained for one side; else "". */
export const oneSided = ({ side }) => (side ? `trained as ${side} only` : "");

/** How many games an agent has learned from since its training, if any. */
export function learnedText({ learned }) {
  return learned ? `It has learned from ${plural(learned, "game")} since its training.` : "";
}

/** How strong an agent is, in a few words; "" where nothing is proven. */
export function strengthText({ broken, unbeatable }) {
  if (broken || unbeatable === null) return "";
  return unbeatable ? "unbeatable" : "can be beaten";
}
