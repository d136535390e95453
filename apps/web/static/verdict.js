// The verdicts on the moves of a game, and a sentence on the one that decided it for its player.

import * as data from "./data.js";
import { cellName, other } from "./rules.js";
import { anyOf, sentences } from "./words.js";

const MANY = 3; // moves that are named

/**
 * {verdicts, ply, text, tone, unknown} of a finished game; no verdicts where the truth is unknown, and why.
 * ply: of the move that decided it, if one did. tone: the class of the text: a mistake, or one that
 * was good for `you`. game: {board, moves, ended, result}. you: the side of the person who is
 * addressed, or null.
 */
export async function judged(game, you) {
  const { verdicts, unknown } = await data.verdicts(game);
  if (!verdicts) return { verdicts: [], unknown, text: sentences(`No move is judged: ${unknown}`), tone: "" };
  const decisive = verdicts.find((one) => one.threw_away);
  const text = decisive ? decidedText(verdicts, decisive, game, you) : evenText(verdicts, game, you);
  const tone = you && decisive?.side !== you ? "gain" : "wrong";
  return { verdicts, ply: decisive?.ply, text, tone: decisive ? tone : "" };
}

/** Of a game that no move decided. */
function evenText(verdicts, { ended, result }, you) {
  const [loser, last] = [other(result), verdicts.at(-1)];
  const held = last ? last.after.value * (last.side === loser ? 1 : -1) : 0; // by the loser in the end
  if (ended === "resigned" && held >= 0)
    return `${loser === you ? "You" : loser} resigned a ${held ? "won" : "drawn"} game.`;
  return result === "draw"
    ? "Nobody made a mistake: the game was a draw throughout."
    : `Nobody gave anything away: ${result} could win from the first move on.`;
}

function decidedText(verdicts, { ply, side, before, after, cell, best }, game, you) {
  const who = (side) => (side === you ? "you" : side);
  const name = (one) => cellName(one, game.board);
  // A cell that was chosen twice stands for two moves.
  const move = name(cell) + (game.ended === "illegal" ? ` (move ${ply + 1})` : "");
  const replies = verdicts[ply + 1]?.best ?? [];
  if (replies.length === 0 && game.ended === "illegal")
    return `${side === you ? "Your" : `${side}'s`} ${move} was illegal, and that loses at once.`;
  const had =
    before.value > 0
      ? `${side === you ? "You were" : `${side} was`} winning, but played ${move}`
      : `The game was a draw until ${who(side)} played ${move}`;
  const reply = replies.includes(game.moves[ply + 1]) ? game.moves[ply + 1] : replies[0];
  const win = after.plies === 2 ? "win" : "force a win";
  const way = reply === undefined ? "" : ` with ${name(reply)}`;
  const how = `that let ${who(other(side))} ${after.value === 0 ? "draw" : win + way}`;
  const others = best.length > MANY ? `any of ${best.length} other moves` : anyOf(best.map(name));
  const kept = before.value > 0 ? "won" : "kept the draw";
  return `${had}: ${how}. With ${others}, ${who(side)} would have ${kept}.`;
}
