// The best moves of a position, and a sentence about them.

import { analysis } from "./data.js";
import { cellName, cellOf } from "./rules.js";
import { anyOf, sentences } from "./words.js";

const FORESEEING = "search-depth=2"; // where the truth is unknown

/**
 * {cells, text}: the best moves after these moves; no cells where all are equally good.
 * isImperfect: whether the opponent is known to make mistakes. line: the names of the cells of a game
 * that it loses, to be told while these moves follow it; or null.
 */
export async function hintFor(board, moves, isImperfect, line) {
  const { truth, unknown } = await analysis({ board, moves, truth: true });
  const name = (cell) => cellName(cell, board);
  const bestOf = (worths, isBest) => {
    const free = worths.flatMap((worth, cell) => (worth === null ? [] : [cell]));
    const best = free.filter((cell) => isBest(worths[cell]));
    return [best.map(name), best.length < free.length ? best : [], free];
  };
  if (!truth) {
    const { thoughts } = await analysis({ board, moves, agent: FORESEEING });
    const values = thoughts.values ?? thoughts.probs;
    const most = Math.max(...values.filter((value) => value !== null));
    const [names, cells] = bestOf(values, (value) => value === most);
    const good = cells.length
      ? `${anyOf(names.slice(0, 3))} seems best`
      : "all moves seem equally good";
    return { cells: cells.slice(0, 3), text: sentences(`Looking two moves ahead, ${good}`, unknown) };
  }
  const { value, plies, text } = truth.position;
  if (value <= 0 && line?.[moves.length] && moves.every((cell, ply) => name(cell) === line[ply])) {
    const next = line[moves.length];
    return { cells: [cellOf(next, board)], text: `${next} ${moves.length < 2 ? "begins" : "continues"} a game that it loses.` };
  }
  const isBest = (worth) => worth.value === value && worth.plies === plies;
  const [names, cells, free] = bestOf(truth.moves, isBest);
  const [one, isAll] = [anyOf(names), cells.length === 0 && free.length > 1];
  const drawn = `keeps the draw against perfect play${isImperfect ? ". This opponent isn’t perfect" : ""}`;
  const all = `Every move ${value ? text : drawn}.`;
  const best = [
    `Every move loses; ${one} holds out longest.`,
    `Play ${one} to keep the draw.`,
    `Play ${one}: it ${text}.`,
  ];
  return { cells, text: isAll ? all : best[value + 1] };
}
