// A board: a grid of cells that are chosen by mouse, finger or keyboard, or a picture of one.

import { drawMark, fill, html } from "./dom.js";
import { cellName, gameState, landing, sideOf } from "./rules.js";
import { shortly } from "./words.js";

const SIGNS = { wins: "▲", draws: "=", loses: "▼" }; // shapes beside the colours of the truth
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/**
 * rules: the board, as in rules.js. choose(cell): called when a person chooses a cell, with the one
 * that is marked; without it the board is a picture. `show` changes what is drawn:
 *
 * moves: the cells of all moves. open: whether a person may choose a cell. guide: cells that
 * continue a known game. hints: cells that are suggested. blunder: the ply of the move that decided
 * the game. notes: what is written on the free cells, null for none, or by cell {kind, text, at,
 * words, truth, tint}; each may be missing. kind: "own", "expected" or "chance", what the number is.
 * at: its place on its scale from 0 to 1, null if the value is not known. truth: {value, plies, text}.
 * tint: "wins" or "loses", the colour of the cell, by default that of the truth.
 */
export class Board {
  constructor(rules, choose) {
    const { rows, cols } = rules;
    Object.assign(this, { rules, choose });
    this.shown = { moves: [], open: false, guide: [], hints: [], blunder: undefined, notes: null };
    this.focused = Math.floor(rows / 2) * cols + Math.floor(cols / 2);
    const count = (length, make) => Array.from({ length }, (_, n) => make(n));
    this.cells = count(rows * cols, (cell) => this.makeCell(cell));
    const row = (n) => html`
      <div role=${choose && "row"}>${this.cells.slice(n * cols, (n + 1) * cols)}</div>`;
    this.cells.forEach((one, cell) => one.style.setProperty("--row", Math.floor(cell / cols)));
    this.strike = html`<svg class="strike" viewBox=${`0 0 ${cols} ${rows}`} aria-hidden="true"/>`;
    this.grid = html`
      <div class=${rules.gravity ? "grid falls" : "grid"} role=${choose ? "grid" : "img"} aria-label=${`Board of ${rows} by ${cols}`}
        @keydown=${choose && ((event) => this.key(event))} @mouseleave=${() => this.aim()}>
        ${count(rows, row)}${this.strike}
      </div>`;
    this.element = html`
      <div class="board">
        <div class="letters" aria-hidden="true">
          ${count(cols, (col) => html`<span>${cellName(col, rules)[0]}</span>`)}
        </div>
        <div class="numbers-of-rows" aria-hidden="true">
          ${count(rows, (row) => html`<span>${String(row + 1)}</span>`)}
        </div>
        ${this.grid}
      </div>`;
    this.element.style.setProperty("--rows", rows);
    this.element.style.setProperty("--cols", cols);
    this.show({});
  }

  makeCell(cell) {
    if (!this.choose) return html`<div class="cell"><span class="tile"></span></div>`;
    return html`
      <button type="button" role="gridcell" class="cell" tabindex="-1"
        @click=${() => this.press(cell)} @focus=${() => this.rove(cell)} @mouseenter=${() => this.aim(cell)}><span class="tile"></span></button>`;
  }

  /** See `landing` of rules.js. */
  landing(cell) {
    return landing(cell, this.shown.moves, this.rules);
  }

  press(cell) {
    const lands = this.landing(cell);
    if (this.shown.open && lands !== undefined) this.choose(lands);
  }

  /** Show where a mark would be if the cell under the mouse were chosen. */
  aim(cell) {
    this.aimed = cell;
    const lands = cell === undefined ? undefined : this.landing(cell);
    this.cells.forEach((element, one) => element.classList.toggle("aim", one === lands));
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
    const { rows, cols } = this.rules;
    const step = STEPS[event.key];
    const isNumber = /^[1-9]$/.test(event.key) && event.key <= numberKeys(this.rules);
    if (!step && !isNumber) return;
    event.preventDefault();
    if (isNumber) {
      const cell = event.key - 1; // with gravity the top of a column
      this.cells[this.landing(cell) ?? cell].focus();
      return this.press(cell);
    }
    const moved = (place, by, size) => Math.min(Math.max(place + by, 0), size - 1);
    const row = moved(Math.floor(this.focused / cols), step[0], rows);
    this.cells[row * cols + moved(this.focused % cols, step[1], cols)].focus();
  }

  /** Change some of what is drawn. */
  show(changes) {
    Object.assign(this.shown, changes);
    const { moves, open, guide, hints, blunder, notes } = this.shown;
    const { ended, lines } = gameState(moves, this.rules);
    const [illegal, winning, last] = [ended === "illegal", lines.flat(), moves.at(-1)];
    this.grid.classList.toggle("open", open);
    this.grid.classList.toggle("won", lines.length > 0);
    const names = this.cells.map((element, cell) => {
      const ply = moves.indexOf(cell);
      const side = ply < 0 ? "" : sideOf(ply);
      const lands = this.landing(cell);
      const wrong = illegal && cell === last;
      const taken = wrong && ply < moves.length - 1 && sideOf(moves.length - 1);
      const note = (!side && notes?.[cell]) || {};
      const states = {
        last: cell === last,
        winning: winning.includes(cell),
        blunder: cell === moves[blunder],
        // Of the two marks on a taken cell, the sign is at the one that decided.
        earlier: Boolean(taken) && ply === blunder,
        wrong,
        guide: guide.includes(cell),
        hint: hints.includes(cell),
      };
      element.className = ["cell", ...Object.keys(states).filter((name) => states[name])].join(" ");
      if (this.choose) element.ariaDisabled = String(!open || lands === undefined);
      const tile = element.firstChild;
      tile.className = `tile ${note.tint ?? (note.truth ? kindOf(note.truth) : "")}`;
      // A mark that stands is not drawn again.
      if (!side || tile.dataset.drawn !== `${side}${taken}`)
        fill(
          tile,
          side
            ? [drawMark(side, states.last ? "new falling" : "new"), taken && drawMark(taken, "taken")]
            : [open && lands === cell && drawMark(sideOf(moves.length), "ghost"), written(note)],
        );
      tile.dataset.drawn = `${side}${taken}`;
      tile.dataset.side = side;
      const told = [
        side || "free",
        states.last && "last move",
        states.winning && "in the winning line",
        taken ? `chosen by ${taken} though taken` : wrong && "an illegal move",
        this.choose && this.rules.gravity && columnText(cell % this.rules.cols, lands, this.rules),
        states.blunder && "the move that decided the game",
        note.words,
        note.truth && `in truth ${note.truth.text}`,
        states.guide && "the move that beats this player",
        states.hint && "suggested",
      ];
      return [cellName(cell, this.rules), ...told].filter(Boolean).join(", ");
    });
    if (this.choose) this.cells.forEach((element, cell) => (element.ariaLabel = names[cell]));
    else this.grid.ariaLabel = `Board: ${names.join("; ")}`;
    if (this.choose) this.rove(this.focused);
    this.aim(this.aimed);
    const strikes = lines.map((cells) => this.strikeOf(cells)).join("");
    if (this.strike.dataset.drawn !== strikes)
      this.strike.replaceChildren(
        ...html`<svg><path pathLength="1" d=${strikes}/></svg>`.childNodes,
      );
    this.strike.dataset.drawn = strikes;
  }

  /** A path through the cells of a line, a little longer than from the first to the last one. */
  strikeOf(cells) {
    const { cols } = this.rules;
    const place = (cell) => [(cell % cols) + 0.5, Math.floor(cell / cols) + 0.5];
    const [[x0, y0], [x1, y1]] = [place(cells[0]), place(cells.at(-1))];
    const [right, down] = [Math.sign(x1 - x0) * 0.3, Math.sign(y1 - y0) * 0.3];
    return `M${x0 - right} ${y0 - down}L${x1 + right} ${y1 + down}`;
  }
}

/** How many number keys choose a cell: one for each column with gravity, else for each of nine cells. */
export function numberKeys({ rows, cols, gravity }) {
  if (gravity) return cols;
  return rows * cols === 9 ? 9 : 0;
}

/** Where a piece in a column falls to, for a screen reader. lands: its cell, or undefined. */
const columnText = (col, lands, rules) =>
  `column ${col + 1}, ${lands === undefined ? "full" : `falls to ${cellName(lands, rules)}`}`;

const kindOf = ({ value }) => ["loses", "draws", "wins"][value + 1];

/** The writing on a free cell: the truth, then a number over its scale. */
function written({ kind, text, at, truth }) {
  const gauge = html`<span class=${`gauge ${kind}`} aria-hidden="true"></span>`;
  gauge.style.setProperty("--at", at ?? 0);
  return [
    truth &&
      html`<span class=${`truth ${kindOf(truth)}`} aria-hidden="true">
        <span class="sign">${SIGNS[kindOf(truth)]}</span><span class="worth">${shortly(truth)}</span>
      </span>`,
    text && html`<span class=${`value ${kind}`} aria-hidden="true">${text}</span>`,
    text && at !== null && gauge,
  ];
}
