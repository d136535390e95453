// Names and words that every part of the page uses.

export const HUMAN = "human";
export const EASY = "minimax-slip=0.3"; // the opponent to begin with
export const PERFECT = "minimax-ties=fastest";
/** Those whom a list shows first; the others are behind "more". */
export const FIRST = ["random", EASY, "search-depth=1", "runs/learner", "dqn-duel-second", "tabular_q", PERFECT];
export const MORE = "more";
export const SIDES = ["X", "O"];

/** A board as addresses name it: "3x4x3", or "6x7x4-gravity=true". */
export const boardKey = ({ rows, cols, k, ...variant }) =>
  [`${rows}x${cols}x${k}`, ...Object.entries(variant).map((one) => one.join("="))].join("-");
/** A space that does not break keeps the parts of "3 × 3, 3 in a row" together. */
export const boardName = ({ rows, cols, k, gravity }) => {
  const size = `${rows}\u00a0×\u00a0${cols}`;
  return gravity ? `Connect\u00a0${k === 4 ? "Four" : k}, ${size}` : `${size}, ${k}\u00a0in\u00a0a\u00a0row`;
};
export const pathOf = (id) => id.split("/").map(encodeURIComponent).join("/");
export const agentPath = (id) => `/agents/${pathOf(id)}`;
/** The path of a game of these players. */
export const gamePath = (seats, board, more = {}) =>
  `/?${new URLSearchParams({ x: seats.X, o: seats.O, board: boardKey(board), ...more })}`;

/** True if an agent plays on a board. */
export const plays = ({ boards }, board) => boards.some((one) => boardKey(one) === boardKey(board));
/** The boards of an agent in words. */
export const whereIt = ({ boards, where }) => (boards.length === 1 ? boardName(boards[0]) : where);

export const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
export const compact = (count) => count.toLocaleString("en", { notation: "compact" }); // "20M"
export const plural = (count, word) =>
  `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
/** Sentences of texts, without those that are empty. */
export const sentences = (...texts) =>
  texts
    .filter(Boolean)
    .map((text) => `${capital(text).replace(/\.$/, "")}.`)
    .join(" ");

/** A name as it stands inside a sentence: "the gambler". */
export const inside = (name) => name.replace(/^The /, "the ");

/** "a", "a or b", "a, b or c". */
export const anyOf = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

export const percent = (share) =>
  `${share > 0 && share < 0.005 ? "<1" : Math.round(100 * share)}\u00a0%`;
export const signed = (value) =>
  Math.abs(value) < 0.005 ? "0.00" : (value > 0 ? "+" : "−") + Math.abs(value).toFixed(2);

/** The worth of a move in three short words: "wins now", "loses in 1". */
export const shortly = ({ text }) =>
  text.replace("at once", "now").replace("to the next move", "in 1");

/** "trained as O only" of an agent that was trained, or made, for one side; else "". */
export const oneSided = ({ side, group }) =>
  side ? `${group === "perfect" ? "made" : "trained"} as ${side} only` : "";

/** What an agent plays on the other side. */
export const otherMoves = ({ group }) => (group === "perfect" ? "random moves" : "untrained moves");

/** The number of games that an agent has learned from since its training, if any. */
export const learnedText = ({ learned }) =>
  learned ? `It has learned from ${plural(learned, "game")}` : "";
