// A board: a grid of cells that are chosen by mouse, finger or keyboard, or a picture of one.

import { cellName, h, sideOf, svg } from "./dom.js";

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/**
 * board: {rows, cols, k}. choose(cell): called when a person chooses a free cell; without it the
 * board is a picture. `show` draws a game, `tell` writes on the free cells what moves are worth.
 */
export class Board {
  constructor(board, choose) {
    this.board = board;
    this.choose = choose;
    this.moves = [];
    this.open = false;
    this.focused = Math.floor(board.rows / 2) * board.cols + Math.floor(board.cols / 2);
    this.cells = Array.from({ length: board.rows * board.cols }, (_, cell) => this.makeCell(cell));
    const rows = Array.from({ length: board.rows }, (_, row) =>
      h(
        "div",
        { role: choose && "row", class: "row" },
        this.cells.slice(row * board.cols, (row + 1) * board.cols),
      ),
    );
    this.strike = svg("svg", {
      class: "strike",
      viewBox: `0 0 ${board.cols} ${board.rows}`,
      "aria-hidden": "true",
    });
    this.grid = h(
      "div",
      {
        class: "grid",
        role: choose ? "grid" : "img",
        "aria-label": `Board of ${board.rows} by ${board.cols}`,
        onkeydown: choose && ((event) => this.key(event)),
      },
      rows,
      this.strike,
    );
    const letters = Array.from({ length: board.cols }, (_, col) =>
      h("span", {}, cellName(col, board)[0]),
    );
    const numbers = Array.from({ length: board.rows }, (_, row) => h("span", {}, String(row + 1)));
    this.element = h(
      "div",
      { class: "board" },
      h("div", { class: "letters", "aria-hidden": "true" }, letters),
      h("div", { class: "numbers", "aria-hidden": "true" }, numbers),
      this.grid,
    );
    this.element.style.setProperty("--rows", board.rows);
    this.element.style.setProperty("--cols", board.cols);
    this.show([]);
  }

  makeCell(cell) {
    const tile = h("span", { class: "tile" });
    if (!this.choose) return h("div", { class: "cell" }, tile);
    return h(
      "button",
      {
        type: "button",
        role: "gridcell",
        class: "cell",
        tabindex: "-1",
        onclick: () => this.press(cell),
        onfocus: () => this.rove(cell),
      },
      tile,
    );
  }

  press(cell) {
    if (this.open && !this.moves.includes(cell)) this.choose(cell);
  }

  rove(cell) {
    this.cells[this.focused].tabIndex = -1;
    this.cells[cell].tabIndex = 0;
    this.focused = cell;
  }

  /** Give the keyboard to the board. */
  focus() {
    this.cells[this.focused].focus();
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { rows, cols } = this.board;
    const row = Math.floor(this.focused / cols);
    const col = this.focused % cols;
    const step = STEPS[event.key];
    let cell = null;
    if (step) {
      cell =
        Math.min(Math.max(row + step[0], 0), rows - 1) * cols +
        Math.min(Math.max(col + step[1], 0), cols - 1);
    } else if (event.key === "Home") {
      cell = row * cols;
    } else if (event.key === "End") {
      cell = row * cols + cols - 1;
    } else if (/^[1-9]$/.test(event.key) && this.cells.length === 9) {
      cell = +event.key - 1;
      this.cells[cell].focus();
      this.press(cell);
      event.preventDefault();
      return;
    }
    if (cell === null) return;
    this.cells[cell].focus();
    event.preventDefault();
  }

  /**
   * Draw the game after these moves. line: cells to strike through. open: whether a person may
   * choose a cell. hint: a cell to suggest. illegal: whether the last move was on a taken cell.
   */
  show(moves, { line = [], open = false, hint = null, illegal = false } = {}) {
    const legal = illegal ? moves.slice(0, -1) : moves;
    const before = new Set(this.moves);
    this.moves = legal;
    this.open = open;
    this.line = line;
    this.grid.classList.toggle("open", open);
    this.grid.classList.toggle("won", line.length > 0);
    this.cells.forEach((element, cell) => {
      const ply = legal.indexOf(cell);
      const side = ply < 0 ? "" : sideOf(ply);
      const tile = element.firstChild;
      if (tile.dataset.side !== side) {
        tile.dataset.side = side;
        tile.replaceChildren(...(side ? [drawMark(side, !before.has(cell))] : []));
      }
      clearNotes(tile);
      element.classList.toggle("last", cell === moves.at(-1));
      element.classList.toggle("winning", line.includes(cell));
      element.classList.toggle("hint", cell === hint);
      element.classList.toggle("wrong", illegal && cell === moves.at(-1));
      if (this.choose) element.setAttribute("aria-disabled", String(!open || side !== ""));
    });
    if (this.choose) this.rove(this.focused);
    this.hint = hint;
    this.drawLines(line);
    this.label();
  }

  /**
   * Write on the free cells. notes: null for none, or by cell {value, unknown, scale, probability,
   * truth}, where truth is {value, text} and each may be undefined. scale: the values of a sure
   * loss and of a sure win. unknown: whether the value of this cell alone is not known.
   */
  tell(notes) {
    const likeliest = Math.max(...(notes ?? []).map((note) => note.probability ?? 0));
    this.cells.forEach((element, cell) => {
      const tile = element.firstChild;
      clearNotes(tile);
      const note = notes && !tile.dataset.side ? notes[cell] : null;
      tile.dataset.note = note ? describe(note) : "";
      if (!note) return;
      if (note.value !== undefined || note.probability > 0 || note.unknown) {
        const [low, high] = note.scale ?? [-1, 1];
        const place = (2 * note.value - low - high) / (high - low); // from -1, lost, to 1, won
        const heat =
          note.value === undefined ? note.probability / likeliest : Math.min(1, Math.abs(place));
        if (!note.unknown) tile.classList.add(place < 0 ? "bad" : "good");
        tile.style.setProperty("--heat", heat);
        tile.append(h("span", { class: "value", "aria-hidden": "true" }, valueText(note)));
      }
      if (note.truth) {
        const kind = ["loses", "draws", "wins"][note.truth.value + 1];
        tile.append(h("span", { class: `truth ${kind}`, "aria-hidden": "true" }, note.truth.text));
      }
      if (note.probability > 0 && (note.value !== undefined || note.unknown)) {
        const bar = h("span", { class: "bar", "aria-hidden": "true" });
        bar.style.setProperty("--share", note.probability);
        tile.append(bar);
      }
    });
    this.label();
  }

  label() {
    const names = this.cells.map((element, cell) => {
      const tile = element.firstChild;
      const state = tile.dataset.side || "free";
      const last = this.moves.at(-1) === cell ? ", last move" : "";
      const won = this.line.includes(cell) ? ", in the winning line" : "";
      const note = !tile.dataset.side && tile.dataset.note ? `, ${tile.dataset.note}` : "";
      return `${cellName(cell, this.board)}, ${state}${last}${won}${note}${cell === this.hint ? ", suggested" : ""}`;
    });
    if (this.choose)
      this.cells.forEach((element, cell) => element.setAttribute("aria-label", names[cell]));
    else this.grid.setAttribute("aria-label", `Board: ${names.join("; ")}`);
  }

  drawLines(line) {
    const { cols } = this.board;
    this.strike.replaceChildren(
      ...linesAmong(line, this.board).map(([from, to]) => {
        const [x0, y0, x1, y1] = [
          from % cols,
          Math.floor(from / cols),
          to % cols,
          Math.floor(to / cols),
        ].map((place) => place + 0.5);
        const [right, down] = [Math.sign(x1 - x0) * 0.3, Math.sign(y1 - y0) * 0.3];
        return svg("path", {
          d: `M${x0 - right} ${y0 - down}L${x1 + right} ${y1 + down}`,
          pathLength: 1,
        });
      }),
    );
  }
}

/** The first and last cells of the lines of k or more among the winning cells. */
function linesAmong(cells, { rows, cols, k }) {
  const has = (row, col) =>
    row >= 0 && col >= 0 && row < rows && col < cols && cells.includes(row * cols + col);
  const found = [];
  for (const cell of cells) {
    const [row, col] = [Math.floor(cell / cols), cell % cols];
    for (const [down, right] of [
      [0, 1],
      [1, 0],
      [1, 1],
      [1, -1],
    ]) {
      if (has(row - down, col - right)) continue;
      let length = 1;
      while (has(row + length * down, col + length * right)) length += 1;
      if (length >= k)
        found.push([cell, (row + (length - 1) * down) * cols + col + (length - 1) * right]);
    }
  }
  return found;
}

function drawMark(side, isNew) {
  const shape =
    side === "X"
      ? svg("path", { d: "M28 28L72 72M72 28L28 72", pathLength: 1 })
      : svg("circle", { cx: 50, cy: 50, r: 24, pathLength: 1 });
  shape.setAttribute("class", `mark ${side.toLowerCase()}${isNew ? " new" : ""}`);
  return svg("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, shape);
}

function clearNotes(tile) {
  tile.classList.remove("good", "bad");
  tile.querySelectorAll("span").forEach((note) => note.remove());
  tile.dataset.note = "";
}

function valueText({ value, unknown, probability }) {
  return unknown ? "?" : value === undefined ? percent(probability) : signed(value);
}

function describe({ value, unknown, probability, truth }) {
  return [
    value !== undefined && `thought to be worth ${signed(value)}`,
    unknown && "of unknown worth",
    probability !== undefined && `played with ${percent(probability)}`,
    truth && truth.text,
  ]
    .filter(Boolean)
    .join(", ");
}

export const percent = (share) =>
  `${share > 0 && share < 0.005 ? "<1" : Math.round(100 * share)} %`;
export const signed = (value) =>
  Math.abs(value) < 0.005 ? "0.00" : (value > 0 ? "+" : "−") + Math.abs(value).toFixed(2);

/** A picture of a finished game, of any size. */
export function thumbnail(board, moves, line, illegal) {
  const legal = illegal ? moves.slice(0, -1) : moves;
  const { rows, cols } = board;
  const lines = [
    ...Array.from({ length: cols - 1 }, (_, col) => `M${col + 1} 0V${rows}`),
    ...Array.from({ length: rows - 1 }, (_, row) => `M0 ${row + 1}H${cols}`),
  ];
  const marks = legal.map((cell, ply) => {
    const [x, y] = [cell % cols, Math.floor(cell / cols)];
    const faded = line.length && !line.includes(cell) ? " faded" : "";
    return ply % 2 === 0
      ? svg("path", {
          class: `mark x${faded}`,
          d: `M${x + 0.28} ${y + 0.28}l.44 .44m0 -.44l-.44 .44`,
        })
      : svg("circle", { class: `mark o${faded}`, cx: x + 0.5, cy: y + 0.5, r: 0.23 });
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
