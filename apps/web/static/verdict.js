// What decided a game, in a sentence for the person who played it.

import { anyOf } from "./words.js";
import { cellName, other } from "./rules.js";

const MANY = 3; // moves that are named

/** judged: an answer of `verdicts`. game: {board, moves, ended, result}. you: the side of the person who is addressed, or null. */
export function turningText({ verdicts, decisive, turning_point: said }, game, you) {
  const who = (side) => (side === you ? "you" : side);
  if (!decisive && game.ended === "resigned") {
    const loser = other(game.result);
    return `${loser === you ? "You" : loser} resigned a ${/was won/.test(said) ? "won" : "drawn"} game.`;
  }
  if (!decisive)
    return game.result === "draw"
      ? "Nobody made a mistake: the game was a draw throughout."
      : `Nobody gave anything away: ${game.result} could win from the first move on.`;
  const { ply, better, replies } = decisive;
  const { side, before, after, cell } = verdicts[ply];
  const name = (one) => cellName(one, game.board);
  // A cell that was chosen twice stands for two moves.
  const move = name(cell) + (game.ended === "illegal" ? ` (move ${ply + 1})` : "");
  if (replies.length === 0 && game.ended === "illegal")
    return `${side === you ? "Your" : `${side}'s`} ${move} was on a taken cell, and that loses at once.`;
  const had =
    before.value > 0
      ? `${side === you ? "You were" : `${side} was`} winning, but played ${move}`
      : `The game was a draw until ${who(side)} played ${move}`;
  const reply = name(replies.includes(game.moves[ply + 1]) ? game.moves[ply + 1] : replies[0]);
  const win = `${after.plies === 2 ? "win" : "force a win"} with ${reply}`;
  const how = `that let ${who(other(side))} ${after.value === 0 ? "draw" : win}`;
  const others =
    better.length > MANY ? `any of ${better.length} other moves` : anyOf(better.map(name));
  const kept = before.value > 0 ? "won" : "kept the draw";
  return `${had}: ${how}. With ${others}, ${who(side)} would have ${kept}.`;
}

/** The class of that sentence: whether it tells of a mistake, or of one that was good for `you`. */
export function toneOf({ verdicts, decisive }, you) {
  if (!decisive) return "";
  return you && verdicts[decisive.ply].side !== you ? "gain" : "wrong";
}
