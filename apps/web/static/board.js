// A board: a grid of cells that are chosen by mouse, finger or keyboard, or a picture of one.

import { h, svg } from "./dom.js";
import { SIGNS, cellName, sideOf, worthInShort, worthText } from "./words.js";

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
    this.hints = [];
    this.guide = [];
    this.blunder = null;
    this.taken = null;
    this.element = h(
      "div",
      { class: "board" },
      h("div", { class: "letters", "aria-hidden": "true" }, letters),
      h("div", { class: "numbers-of-rows", "aria-hidden": "true" }, numbers),
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
        onpointerenter: (event) => event.pointerType === "mouse" && this.ghost(tile, cell),
        onpointerleave: () => clearGhost(tile),
      },
      tile,
    );
  }

  press(cell) {
    if (this.open && !this.moves.includes(cell)) this.choose(cell);
  }

  /** A faint mark under the mouse: what a click would draw. */
  ghost(tile, cell) {
    clearGhost(tile);
    if (!this.open || this.moves.includes(cell)) return;
    const mark = drawMark(sideOf(this.moves.length), false);
    mark.classList.add("ghost");
    tile.append(mark);
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
   * choose a cell. guide: cells that continue a known game. illegal: whether the last move was on a
   * taken cell; its mark is drawn beside the one that stands there. blunder: the ply of the move
   * that decided the game.
   */
  show(moves, { line = [], open = false, guide = [], illegal = false, blunder } = {}) {
    const legal = illegal ? moves.slice(0, -1) : moves;
    this.taken = illegal ? { cell: moves.at(-1), ply: moves.length - 1 } : null;
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
      clearGhost(tile);
      tile.querySelector(".taken")?.remove();
      if (this.taken?.cell === cell) tile.append(drawTaken(sideOf(this.taken.ply)));
      element.classList.toggle("last", cell === moves.at(-1));
      element.classList.toggle("guide", guide.includes(cell));
      element.classList.toggle("winning", line.includes(cell));
      element.classList.toggle("wrong", illegal && cell === moves.at(-1));
      if (this.choose) element.setAttribute("aria-disabled", String(!open || side !== ""));
    });
    if (this.choose) this.rove(this.focused);
    this.drawLines(line);
    this.guide = guide;
    this.mark(blunder);
    this.suggest([]);
  }

  /** Suggest cells with a "!"; none for []. */
  suggest(hints) {
    this.hints = hints;
    this.cells.forEach((element, cell) => element.classList.toggle("hint", hints.includes(cell)));
    this.label();
  }

  /** Mark the move of this ply, which decided the game; undefined for none. */
  mark(blunder) {
    const { taken } = this;
    const isLegal = blunder !== taken?.ply;
    this.blunder = isLegal ? this.moves[blunder] : taken?.cell;
    this.cells.forEach((element, cell) => {
      const isBlunder = cell === this.blunder;
      element.classList.toggle("blunder", isBlunder);
      // Of the two marks on a taken cell, the sign is at the one that decided.
      element.classList.toggle("earlier", isBlunder && isLegal && cell === taken?.cell);
    });
    this.label();
  }

  /**
   * Write on the free cells. notes: null for none, or by cell {kind, text, at, words, truth}; each
   * may be undefined. kind: "own", "expected" or "chance", what the number is. at: its place
   * on its scale, from 0 to 1; null if the value is not known. truth: {value, plies}.
   */
  tell(notes) {
    this.cells.forEach((element, cell) => {
      const tile = element.firstChild;
      clearNotes(tile);
      const note = notes && !tile.dataset.side ? notes[cell] : null;
      tile.dataset.note = note ? describe(note) : "";
      if (!note) return;
      if (note.truth) {
        const kind = ["loses", "draws", "wins"][note.truth.value + 1];
        tile.classList.add(kind);
        tile.append(
          h(
            "span",
            { class: `truth ${kind}`, "aria-hidden": "true" },
            h("span", { class: "sign" }, SIGNS[kind]),
            h("span", { class: "worth" }, worthInShort(note.truth)),
          ),
        );
      }
      if (note.text === undefined) return;
      const value = h("span", { class: `value ${note.kind}`, "aria-hidden": "true" }, note.text);
      const gauge = h("span", { class: `gauge ${note.kind}`, "aria-hidden": "true" });
      gauge.style.setProperty("--at", note.at ?? 0);
      tile.append(value, ...(note.at === null ? [] : [gauge]));
    });
    this.label();
  }

  label() {
    const names = this.cells.map((element, cell) => {
      const tile = element.firstChild;
      const state = tile.dataset.side || "free";
      const last = this.moves.at(-1) === cell ? ", last move" : "";
      const won = this.line.includes(cell) ? ", in the winning line" : "";
      const blunder = cell === this.blunder ? ", the move that decided the game" : "";
      const note = !tile.dataset.side && tile.dataset.note ? `, ${tile.dataset.note}` : "";
      const taken =
        this.taken?.cell === cell ? `, chosen by ${sideOf(this.taken.ply)} though taken` : "";
      const guide = this.guide.includes(cell) ? ", the move that beats this player" : "";
      const hint = this.hints.includes(cell) ? ", suggested" : "";
      const moves = element.classList.contains("earlier") ? blunder + taken : taken + blunder;
      const told = `${last}${won}${moves}${note}${guide}${hint}`;
      return `${cellName(cell, this.board)}, ${state}${told}`;
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

/** The mark of a move onto a taken cell, beside the one that stands there. */
function drawTaken(side) {
  const mark = drawMark(side, false);
  mark.classList.add("taken");
  return mark;
}

function clearGhost(tile) {
  tile.querySelector(".ghost")?.remove();
}

function clearNotes(tile) {
  tile.classList.remove("wins", "draws", "loses");
  tile.querySelectorAll("span").forEach((note) => note.remove());
  tile.dataset.note = "";
}

const describe = ({ words, truth }) =>
  [words, truth && `in truth ${worthText(truth)}`].filter(Boolean).join(", ");
