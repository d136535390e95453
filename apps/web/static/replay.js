// The replay of a game, move by move or at a chosen speed, with the verdict on every move. It
// opens at the move that decided the game, else at the end.

import { Board } from "./board.js";
import { speedChoice } from "./controls.js";
import { announce, fill, html, icon, markIcon } from "./dom.js";
import { Evaluation } from "./evaluation.js";
import { Numbers } from "./numbers.js";
import { cellName, endText, other, sideOf } from "./rules.js";
import { judged } from "./verdict.js";
import { sentences } from "./words.js";

const SPEEDS = [[2000, "0.5×"], [1000, "1×"], [500, "2×"]]; // milliseconds for a move

/**
 * game: {board, cells, ended, result}. agents: {X, O}, each {id, label}, or null for a player that
 * is not here. head: elements above the replay. hasKeys: whether the arrows, Home and End work on
 * the whole page.
 */
export class Replay {
  constructor(game, agents, { head = null, hasKeys = false } = {}) {
    Object.assign(this, { game, agents, at: 0, timer: null, isTouched: false });
    this.board = new Board(game.board);
    this.numbers = new Numbers(this.board, () => this.look(), "Keyboard: arrows, Home and End.");
    this.evaluation = new Evaluation(this.board.cells.length, (at) => this.visit(at));
    this.board.element.append(this.evaluation.bar);
    this.status = html`<p class="status"></p>`;
    this.build(head);
    this.onKey = (event) => this.key(event);
    (hasKeys ? document : this.element).addEventListener("keydown", this.onKey);
    this.go(game.cells.length, true);
    this.judge();
  }

  build(head) {
    const { cells, board } = this.game;
    const row = (cell, ply) => html`
      <li>
        <button type="button" @click=${() => this.visit(ply + 1)}>
          ${markIcon(sideOf(ply))}<strong>${cellName(cell, board)}</strong><span class="verdict"></span>
        </button>
      </li>`;
    this.rows = cells.map(row);
    this.list = html`<ol class="moves">${this.rows}</ol>`;
    this.point = html`<p class="point"></p>`;
    this.element = html`
      <div class="play replay">
        <div class="stage">
          ${head && html`<div class="head">${head}</div>`}${this.status}
          <div class="stage-board">${this.board.element}${this.numbers.caption}</div>
          ${this.makeTransport()}
        </div>
        <div class="panel">
          ${this.point}
          ${this.evaluation.graph}
          <h2>Moves</h2>
          ${this.list}${this.numbers.element}
        </div>
      </div>`;
    this.element.style.setProperty("--rows", board.rows);
    this.element.style.setProperty("--cols", board.cols);
  }

  makeTransport() {
    const last = this.game.cells.length;
    const button = (name, label, go) => html`
      <button type="button" class="round" aria-label=${label} title=${label} @click=${go}>${icon(name)}</button>`;
    this.playButton = button("play", "Play", () => this.play(!this.timer));
    this.speed = speedChoice("pace", SPEEDS, 1000, () => this.timer && this.play(true));
    return html`
      <div class="transport" role="group" aria-label="Replay">
        ${button("first", "To the beginning", () => this.visit(0))}
        ${button("back", "Back", () => this.visit(this.at - 1))}
        ${this.playButton}
        ${button("forward", "Forward", () => this.visit(this.at + 1))}
        ${button("last", "To the end", () => this.visit(last))}
        ${this.speed}
      </div>`;
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("select, input"))
      return;
    const { at } = this;
    const places = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: this.game.cells.length };
    if (!(event.key in places)) return;
    this.visit(places[event.key]);
    event.preventDefault();
  }

  /** Go to a move because somebody has asked for it. */
  visit(at) {
    this.isTouched = true;
    this.go(at);
  }

  /** Show the game after `at` moves. */
  go(at, isQuiet = false) {
    const { cells, ended, result, board } = this.game;
    this.at = Math.min(Math.max(at, 0), cells.length);
    const isOver = this.at === cells.length;
    this.evaluation.show(this.at);
    if (isOver) this.play(false);
    this.board.show({ moves: cells.slice(0, this.at), blunder: this.decisive, notes: null });
    const side = sideOf(this.at - 1);
    const name = this.at && cellName(cells[this.at - 1], board);
    const move = this.at ? `Move ${this.at} of ${cells.length}: ${name}` : "The beginning";
    const end = isOver ? `, ${endText(result, ended)}` : `, ${sideOf(this.at)} to move`;
    fill(this.status, this.at > 0 && [markIcon(side), " "], move + end);
    this.rows.forEach((row, ply) =>
      row.firstElementChild.setAttribute("aria-current", ply === this.at - 1 ? "step" : "false"),
    );
    // The list shows this move; the page itself stays where it is.
    const row = this.rows[Math.max(this.at - 1, 0)];
    this.list.scrollTop = row.offsetTop - this.list.offsetTop - this.list.clientHeight / 2;
    const verdict = this.verdicts?.[this.at - 1]?.text ?? "";
    if (!isQuiet) announce(sentences(`${this.at ? `${side}: ` : ""}${move}${end}`, verdict));
    this.look();
  }

  look() {
    const mover = sideOf(this.at);
    const { cells } = this.game;
    const agent = this.agents[mover] ?? this.agents[other(mover)];
    this.numbers.update(cells.slice(0, this.at), agent, this.at === cells.length);
  }

  play(on) {
    clearInterval(this.timer);
    this.timer = null;
    if (on) {
      if (this.at === this.game.cells.length) this.visit(0);
      this.timer = setInterval(() => this.visit(this.at + 1), +this.speed.value);
    }
    fill(this.playButton, icon(on ? "pause" : "play"));
    this.playButton.title = this.playButton.ariaLabel = on ? "Pause" : "Play";
  }

  /** Write beside each move what it was worth, and go to the one that decided the game. */
  async judge() {
    const { board, cells, ended, result } = this.game;
    const game = { board, moves: cells, ended, result };
    const failed = (error) => ({ text: error.message, verdicts: [] });
    const { verdicts, ply: decisive, text, tone, unknown } = await judged(game, null).catch(failed);
    this.numbers.withoutTruth(unknown && sentences("The truth is not known here", unknown));
    this.verdicts = verdicts;
    this.evaluation.judge(verdicts, result);
    verdicts.forEach(({ text, optimal, threw_away: isDecisive }, ply) => {
      const why = html`<span class="why">This decided the game.</span>`;
      fill(this.rows[ply].querySelector(".verdict"), text, isDecisive && why);
      this.rows[ply].className = isDecisive ? "decisive" : optimal ? "right" : "wrong";
    });
    fill(this.point, text);
    this.point.className = `point ${tone ?? ""}`;
    this.decisive = decisive;
    this.go(this.isTouched || decisive === undefined ? this.at : decisive + 1, true);
  }

  leave() {
    clearInterval(this.timer);
    document.removeEventListener("keydown", this.onKey);
  }
}
