// The best moves of a position, and a sentence about them.

import { post } from "./server.js";
import { anyOf, cellName, worthText } from "./words.js";

const FORESEEING = "search-depth=2"; // where a board is too large for the truth

/** {cells, text}: the best moves after these moves. */
export async function hintFor(board, moves, signal) {
  const found = await post("/api/analysis", { board, moves, truth: true }, signal);
  const name = (cell) => cellName(cell, board);
  if (found.truth.moves) {
    const { position, moves: worths } = found.truth;
    const cells = worths.flatMap((worth, cell) =>
      worth && worth.value === position.value && worth.plies === position.plies ? [cell] : [],
    );
    const isAll = cells.length === worths.filter((worth) => worth !== null).length;
    return { cells: isAll ? [] : cells, text: sentence(cells, position, worths, name) };
  }
  const asked = { board, moves, agent: FORESEEING };
  const { thoughts } = await post("/api/analysis", asked, signal);
  const values = thoughts.values ?? thoughts.probs;
  const best = Math.max(...values.filter((value) => value !== null));
  const cells = values.flatMap((value, cell) => (value === best ? [cell] : []));
  const isAll = cells.length === values.filter((value) => value !== null).length;
  const text = isAll
    ? "Looking two moves ahead, all moves seem equally good."
    : `Looking two moves ahead, ${anyOf(cells.slice(0, 3).map(name))} seems best. The board is too large to know.`;
  return { cells: isAll ? [] : cells.slice(0, 3), text };
}

function sentence(cells, position, worths, name) {
  const names = anyOf(cells.map(name));
  const free = worths.filter((worth) => worth !== null).length;
  if (cells.length === free && free > 1)
    return position.value === 0
      ? "Every move keeps the draw."
      : `Every move ${worthText(position)}.`;
  if (position.value > 0) return `Play ${names}: it ${worthText(position)}.`;
  if (position.value === 0) return `Play ${names} to keep the draw.`;
  return `Every move loses; ${anyOf(cells.map(name))} holds out longest.`;
}
