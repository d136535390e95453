// A small picture of a finished game, for lists.

import { svg } from "./dom.js";

/** A picture of a board of any size after these moves. */
export function thumbnail(board, moves, line, isIllegal) {
  const legal = isIllegal ? moves.slice(0, -1) : moves;
  const { rows, cols } = board;
  const lines = [
    ...Array.from({ length: cols - 1 }, (_, col) => `M${col + 1} 0V${rows}`),
    ...Array.from({ length: rows - 1 }, (_, row) => `M0 ${row + 1}H${cols}`),
  ];
  const marks = legal.map((cell, ply) => {
    const [x, y] = [cell % cols, Math.floor(cell / cols)];
    const won = line.includes(cell) ? " won" : "";
    return ply % 2 === 0
      ? svg("path", {
          class: `mark x${won}`,
          d: `M${x + 0.28} ${y + 0.28}l.44 .44m0 -.44l-.44 .44`,
        })
      : svg("circle", { class: `mark o${won}`, cx: x + 0.5, cy: y + 0.5, r: 0.23 });
  });
  return svg(
    "svg",
    {
      class: "thumbnail",
      viewBox: `-0.06 -0.06 ${cols + 0.12} ${rows + 0.12}`,
      "aria-hidden": "true",
    },
    svg("path", { class: "lines", d: lines.join("") }),
    marks,
  );
}
