// What the moves of a game were worth, and what decided it, for the person who played it.

import { anyOf, cellName, inMoves, other, winnersMoves, worthText } from "./words.js";

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
  const who = (one) => (one === you ? "you" : one);
  // A cell that was chosen twice stands for two moves.
  const move = name(cell) + (game.ended === "illegal" ? ` (move ${ply + 1})` : "");
  if (replies.length === 0 && game.ended === "illegal") {
    const whose = side === you ? "Your" : `${side}'s`;
    return `${whose} ${move} was on a taken cell, and that loses at once.`;
  }
  const was = side === you ? "You were" : `${side} was`;
  const had =
    before.value > 0
      ? `${was} winning, but played ${move}`
      : `The game was a draw until ${who(side)} played ${move}`;
  const reply = name(replies.includes(game.moves[ply + 1]) ? game.moves[ply + 1] : replies[0]);
  const result = after.value === 0 ? "draw" : after.plies === 2 ? "win" : "force a win";
  const how = `that let ${who(other(side))} ${result}${after.value === 0 ? "" : ` with ${reply}`}`;
  const kept = before.value > 0 ? "won" : "kept the draw";
  return `${had}: ${how}. With ${named(better, name)}, ${who(side)} would have ${kept}.`;
}

/** The class of that sentence: whether it tells of a mistake, or of one that was good for `you`. */
export function toneOf({ verdicts, decisive }, you) {
  if (!decisive) return "";
  return you && verdicts[decisive.ply].side !== you ? "gain" : "wrong";
}

/**
 * What a move was worth. verdict: one of an answer of /api/verdicts. isIllegal: whether the move
 * ended the game on a taken cell.
 */
export function verdictText({ side, before, after }, isIllegal) {
  if (isIllegal) return "was taken already: a move on a taken cell loses";
  const more = winnersMoves(after) - (after.value > 0 ? 1 : 0); // this move is made
  const winner = after.value > 0 ? side : other(side);
  if (after.value < before.value) {
    const had = `gives away the ${before.value > 0 ? "win" : "draw"}`;
    return after.value === 0
      ? `${had}: now it is a draw`
      : `${had}: now ${winner} can win ${inMoves(more)}`;
  }
  if (after.value === 0) return "keeps the draw";
  if (after.value < 0)
    return after.plies < before.plies ? "was lost already, and loses sooner" : "was lost already";
  if (after.plies === 1) return worthText(after);
  const kept = after.plies > before.plies ? "still wins, but takes longer" : "keeps the win";
  return `${kept}: ${winner} can win ${more === 1 ? "with its next move" : inMoves(more)}`;
}

const named = (cells, name) =>
  cells.length > MANY ? `any of ${cells.length} other moves` : anyOf(cells.map(name));
