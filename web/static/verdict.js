// What decided a game, in a sentence for the person who played it.

import { anyOf, cellName, ordinal, other } from "./words.js";

const MANY = 3; // moves that are named

/**
 * judged: an answer of /api/verdicts. game: {board, moves, ended, result}. you: the side of the
 * person who is addressed, or null.
 */
export function turningText({ verdicts, decisive, turning_point: said }, game, you) {
  if (game.ended === "resigned" && !decisive) {
    const loser = other(game.result);
    const had = /was won/.test(said) ? "won" : "drawn";
    return `${loser === you ? "You" : loser} resigned a ${had} game.`;
  }
  if (!decisive)
    return game.result === "draw"
      ? "Nobody made a mistake: the game was a draw throughout."
      : `Nobody gave anything away: ${game.result} could win from the first move on.`;
  const { ply, better, replies } = decisive;
  const { side, before, after, cell } = verdicts[ply];
  const name = (one) => cellName(one, game.board);
  const number = Math.floor(ply / 2) + 1;
  const whose = side === you ? "Your" : `${side}'s`;
  const move = `${whose} ${ordinal(number)} move, ${name(cell)},`;
  if (replies.length === 0 && game.ended === "illegal")
    return `${move} was on a taken cell, and that loses at once.`;
  const kept = before.value > 0 ? "won" : "kept the draw";
  const instead = `Playing ${named(better, name)} would have ${kept}.`;
  if (after.value === 0) return `${move} gave away a won game. ${instead}`;
  const lost = before.value > 0 ? "a won game" : "a drawn game";
  const reply = name(replies.includes(game.moves[ply + 1]) ? game.moves[ply + 1] : replies[0]);
  const winner = other(side);
  const isYou = winner === you;
  const how =
    after.plies === 2
      ? `${isYou ? "you win" : `${winner} wins`} with ${reply}`
      : `${isYou ? "you" : winner} can force a win with ${reply}`;
  return `${move} lost ${lost}: ${how}. ${instead}`;
}

const named = (cells, name) =>
  cells.length > MANY ? `any of ${cells.length} other moves` : anyOf(cells.map(name));
