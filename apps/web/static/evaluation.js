// What each position of a finished game is worth for X: a bar beside the board, and a graph of the
// whole game. Both are exact: a win, a draw or a loss with best play, and the nearer, the larger.

import { fill, html } from "./dom.js";

const [WIDTH, HEIGHT] = [100, 24];
const FAR = 0.35; // of the half of a bar: a win that is as far away as the board has cells

export class Evaluation {
  /** cells: of the board. visit(ply): called when a person clicks at the graph. */
  constructor(cells, visit) {
    Object.assign(this, { cells, worths: [] });
    const place = ({ currentTarget, clientX }) => {
      const { left, width } = currentTarget.getBoundingClientRect();
      visit(Math.round(((clientX - left) / width) * (this.worths.length - 1)));
    };
    this.bar = html`<div class="evaluation" role="img" aria-label="Not evaluated" hidden><span></span></div>`;
    this.graph = html`
      <svg class="course" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" hidden
        @click=${place}></svg>`;
  }

  /** verdicts: on all moves, each with the {value, plies, text} before it. result: of the game. */
  judge(verdicts, result) {
    if (!verdicts.length) return;
    const end = result === "draw" ? { value: 0, plies: 0 } : { side: result, value: 1, plies: 0, text: "has won" };
    this.worths = [...verdicts.map(({ side, before }) => ({ ...before, side })), end];
    this.bar.hidden = false;
    this.graph.toggleAttribute("hidden", false);
  }

  /** The share of the bar that is X's after `at` moves, from 0 to 1. */
  shareOf(at) {
    const { value, plies, side } = this.worths[at];
    const near = 1 - (1 - FAR) * (plies / this.cells);
    return 0.5 + 0.5 * near * value * (side === "X" ? 1 : -1);
  }

  /** Show the position after `at` moves. */
  show(at) {
    if (!this.worths.length) return;
    const { side, value, text } = this.worths[at];
    this.bar.ariaLabel = this.bar.title = value ? `${side} ${text}` : "A draw with best play";
    this.bar.firstChild.style.height = `${100 * this.shareOf(at)}%`;
    const last = this.worths.length - 1;
    const x = (ply) => ((WIDTH * ply) / last).toFixed(2);
    const points = this.worths.map((_, ply) => `${x(ply)} ${HEIGHT * (1 - this.shareOf(ply))}`);
    const drawn = html`
      <svg>
        <path class="area" d=${`M0 ${HEIGHT}L${points.join("L")}V${HEIGHT}Z`}/>
        <path class="even" d=${`M0 ${HEIGHT / 2}H${WIDTH}`}/>
        <path class="here" d=${`M${x(at)} 0V${HEIGHT}`}/>
      </svg>`;
    fill(this.graph, ...drawn.children);
  }
}
