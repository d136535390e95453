// A player that learns while one watches: what it expects on the board, its exact losses as a curve,
// and the games that beat it, until nobody can.

import { Board } from "./board.js";
import { speedChoice } from "./controls.js";
import * as data from "./data.js";
import { announce, fill, html, isStill, markIcon, patiently, showAddress, wait } from "./dom.js";
import { lossPlot } from "./growth.js";
import { judgeOf } from "./judge.js";
import { LEARNERS } from "./learners.js";
import { BOARD, START, positionAfter } from "./positions.js";
import { exact } from "./results.js";
import { cellName, endText, gameState } from "./rules.js";
import { linkish } from "./status.js";
import { SIDES, capital, percent } from "./words.js";

const SPEEDS = [[960, "⅛×"], [240, "½×"], [120, "1×"], [60, "2×"], [15, "8×"]]; // milliseconds from check to check
const A_MOVE = 700; // milliseconds, of a game that is shown

export async function learnPage(_, parameters, signal) {
  const { ppo } = await data.trains(signal);
  return new Learn(parameters, ppo);
}

class Learn {
  constructor(parameters, hasPPO) {
    this.title = "Watch it learn";
    const { tabular_q } = LEARNERS;
    this.learners = hasPPO ? LEARNERS : { tabular_q };
    this.asking = new AbortController();
    this.build();
    const asked = parameters.get("learner");
    const name = Object.hasOwn(this.learners, asked) ? asked : "tabular_q";
    const seed = Number(parameters.get("seed")) >>> 0;
    this.listener(() => (isStill() ? this.begin(name, seed) : this.restart(name, seed)))();
  }

  // --- the page ----------------------------------------------------------------------------------

  build() {
    const button = (text, action, kind = "") => html`
      <button type="button" class=${kind} @click=${this.listener(action)}>${text}</button>`;
    this.board = new Board(BOARD, (cell) => this.listener(() => this.look([...this.moves, cell]))());
    this.status = html`<p class="status"></p>`;
    this.note = html`<div class="note"></div>`;
    this.caption = html`<p class="caption"></p>`;
    this.pauseButton = button("Start", () => (this.turn ? this.pause() : this.start()), "primary");
    this.emptyButton = button("Empty board", () => this.empty());
    this.emptyButton.hidden = true;
    this.speed = speedChoice("checks", SPEEDS, 120);
    const learner = ([name, { title }]) => html`<option value=${name}>${title}</option>`;
    const choose = this.listener(() => this.restart(this.choice.value, this.seed));
    this.choice = html`
      <select id="learner" @change=${choose}>${Object.entries(this.learners).map(learner)}</select>`;
    this.story = html`<p></p>`;
    this.plot = html`<div></div>`;
    this.sides = Object.fromEntries(SIDES.map((side) => [side, this.makeSide(side)]));
    const another = button("Another seed", () => this.restart(this.name, (this.seed + 1) >>> 0));
    this.element = html`
      <div class="play learn">
        <h1 class="hidden" tabindex="-1">Watch it learn</h1>
        <section class="stage" aria-label="The learner">
          ${this.status}${this.note}
          <div class="stage-board">${this.board.element}${this.caption}</div>
          <div class="buttons main">
            ${this.pauseButton}${another}${this.emptyButton}${this.speed}
          </div>
        </section>
        <section class="panel" aria-label="Its losses">
          <div class="box losses">
            <p class="about">Games lost against random moves, counted and not sampled; on the small boards
              after each first move of the opponent</p>
            <p class="curves">${SIDES.map((side) => this.sides[side].legend)}</p>
            ${this.plot}
          </div>
          <div class="sides">${SIDES.map((side) => this.sides[side].element)}</div>
          <div class="box learner">
            <div class="field"><label for="learner">Learner</label>${this.choice}</div>
            ${this.story}${!this.learners.maskable_ppo && html`<p>${elsewhere()}</p>`}
          </div>
        </section>
      </div>`;
    this.element.style.setProperty("--rows", BOARD.rows);
    this.element.style.setProperty("--cols", BOARD.cols);
  }

  /** What is known of one side: a small board with the losses after each first move against it. */
  makeSide(side) {
    const board = new Board(BOARD);
    const head = html`<h2></h2>`;
    const text = html`<p>Every game was followed.</p>`;
    const show = this.listener(() => this.showGame(side));
    const game = html`<button type="button" class="linkish" @click=${show}></button>`;
    const element = html`
      <section class="box side" aria-label=${`As ${side}`}>
        ${head}<div class="thumbnail">${board.element}</div>${game}${text}
      </section>`;
    const legend = html`<span class=${`key ${side.toLowerCase()}`}></span>`;
    return { board, head, game, text, element, legend };
  }

  /** A function that does this; if it fails, that is said. */
  listener(action) {
    return () => Promise.resolve(action()).catch((error) => this.fail(error));
  }

  // --- learning ----------------------------------------------------------------------------------

  /** Begin anew, with nothing learned. name: of the learner. True if it was not left meanwhile. */
  async begin(name, seed) {
    this.turn = null;
    Object.assign(this, { name, seed, rows: [], judged: null, isSpent: false });
    this.kind = this.learners[name];
    this.learner = this.kind.make(seed, this.asking.signal);
    this.choice.value = name;
    fill(this.story, this.kind.story);
    showAddress(`/learn?${new URLSearchParams({ learner: name, seed })}`);
    return this.look([]);
  }

  async restart(name, seed) {
    if (await this.begin(name, seed)) await this.run();
  }

  async start() {
    if (this.isOver) return this.restart(this.name, this.seed);
    if (!this.judged || !positionAfter(this.moves).turn) await this.look([]);
    announce("It learns.");
    await this.run();
  }

  async empty() {
    await this.look([]);
    this.board.focus(); // the button is gone
  }

  pause() {
    this.turn = null;
    if (this.judged) this.show();
  }

  /** Learn from check to check until nobody can beat it, until its training ends, or until somebody stops it. */
  async run() {
    const turn = (this.turn = {});
    while (turn === this.turn && !this.isOver) {
      const begun = performance.now();
      const [moves, before] = [this.moves, this.learner.count];
      const notes = await this.asked(this.learner.advance(moves));
      if (turn !== this.turn) return;
      if (moves === this.moves) this.notes = notes;
      this.isSpent = this.learner.count === before; // the server trains it no longer
      this.show();
      do await new Promise(requestAnimationFrame); // none come while nobody sees the page
      while (performance.now() < begun + Number(this.speed.value));
    }
    if (turn !== this.turn) return;
    this.pause();
    announce(`${this.status.textContent}. ${this.note.textContent}.`);
  }

  /** Look at what it expects after these moves. True if nobody looked elsewhere meanwhile. */
  async look(moves) {
    this.moves = moves;
    const notes = await this.asked(this.learner.look(moves));
    if (this.moves !== moves) return false;
    this.notes = notes;
    this.show();
    return true;
  }

  /** What the learner answers, which may take a while at first; nothing if another one has followed. */
  async asked(promise) {
    const { learner } = this;
    const isFollowed = () => learner !== this.learner || this.asking.signal.aborted;
    const say = (time) => {
      if (isFollowed() || this.rows.length > 0) return;
      fill(this.status, html`<span class="busy">The server prepares it …</span>`);
      fill(this.note, time);
    };
    try {
      return await patiently(promise, say);
    } catch (error) {
      if (!isFollowed()) throw error;
    }
  }

  /** Play the shortest game that it loses as a side. */
  async showGame(side) {
    this.turn = null;
    const { line } = this.judged[side];
    for (let ply = 0; ply <= line.length; ply++) {
      const moves = line.slice(0, ply);
      if (!(await this.look(moves))) return;
      await wait(A_MOVE);
      if (this.moves !== moves) return;
    }
  }

  leave() {
    this.turn = null;
    this.moves = null;
    this.asking.abort();
  }

  // --- what is shown -----------------------------------------------------------------------------

  /** Compute its losses as it plays now. */
  judge() {
    const before = this.judged;
    const row = { steps: this.learner.count };
    this.judged = {};
    for (const side of SIDES) {
      const judge = judgeOf((position) => this.learner.moveIn(position), side);
      const { loss, line } = judge(START);
      this.judged[side] = { judge, loss, line };
      row[`${side.toLowerCase()}_loss`] = loss;
      if (before?.[side].line && !line) announce(`As ${side} nobody can beat it.`);
    }
    this.rows = [...this.rows.filter(({ steps }) => steps < row.steps), row];
  }

  get isProven() {
    return this.judged !== null && SIDES.every((side) => !this.judged[side].line);
  }

  get isOver() {
    return this.isProven || this.isSpent;
  }

  show() {
    if (this.learner.count !== this.rows.at(-1)?.steps) this.judge();
    const { judged, isProven, kind, moves, rows } = this;
    const { turn, result, ended } = gameState(moves, BOARD);
    const beaten = SIDES.filter((side) => judged[side].line);
    const verdict = isProven ? "✓ Nobody can beat it" : `✗ Can be beaten as ${beaten.join(" and ")}`;
    this.status.className = isProven ? "status proven" : "status";
    fill(this.status, verdict);
    fill(this.note, this.progress);
    this.board.show({ moves, open: Boolean(turn), notes: this.notes });
    fill(this.caption, turn ? kind.caption(turn) : capital(endText(result, ended)));
    fill(this.plot, lossPlot(rows, SIDES, kind.unit, kind.end));
    for (const side of SIDES) this.showSide(side);
    fill(this.pauseButton, this.nextStep);
    this.emptyButton.hidden = moves.length === 0;
  }

  /** How much it has learned from. */
  get progress() {
    const count = `${this.learner.count.toLocaleString("en")} ${this.kind.unit}`;
    if (this.isProven) return `Proven after ${count}`;
    if (this.isSpent) return `Its training ends here, after ${count}. Try another seed`;
    return `${this.kind.name} after ${count}`;
  }

  /** What the main button does. */
  get nextStep() {
    if (this.turn) return "Pause";
    if (this.isOver) return "Again";
    return this.rows.length > 1 ? "Go on" : "Start";
  }

  showSide(side) {
    const { board, head, game, text, legend } = this.sides[side];
    const { judge, loss, line } = this.judged[side];
    const moves = side === "X" ? [this.learner.moveIn(START)] : [];
    const note = (next) => {
      if (!next) return null;
      const after = judge(next);
      const lost = after.line ? percent(after.loss) : "safe";
      const words = after.line ? `loses ${exact(after.loss)} %` : lost;
      return { kind: "chance", text: lost, at: null, words, tint: after.line ? "loses" : "wins" };
    };
    board.show({ moves, notes: positionAfter(moves).after.map(note) });
    fill(legend, `${exact(loss)}\u00a0% as ${side}`);
    fill(head, markIcon(side), line ? " beaten by" : " unbeatable");
    const names = line?.map((cell) => cellName(cell, BOARD)).join(" ");
    game.hidden = !line;
    game.ariaLabel = `Show the game that it loses as ${side}: ${names}`;
    fill(game, names);
    text.hidden = Boolean(line);
  }

  fail(error) {
    this.turn = null;
    fill(this.pauseButton, "Start");
    fill(this.status, "It cannot learn now");
    fill(this.note, error.message, " ", linkish("Try again", this.listener(() => this.restart(this.name, this.seed))));
    announce(`It cannot learn now: ${error.message}`);
  }
}

/** How a network can be watched too. */
const elsewhere = () => html`
  In a clone of the project with Stable-Baselines3 (<code>pip install -e ".[sb3]"</code>),
  <code>python play.py --web</code> shows a neural network learn here too.`;
