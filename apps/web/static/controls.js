// The buttons below the board of a game, and the speed of what is only watched.

import { fill, html, icon } from "./dom.js";
import { memory } from "./memory.js";
import { switchOf } from "./numbers.js";

const SPEED = 700; // milliseconds for a move, until somebody changes it

const button = (text, onclick, kind = "") =>
  html`<button type="button" class=${kind} @click=${onclick}>${text}</button>`;

/**
 * A choice of the speed, which is remembered under a name. speeds: [milliseconds, text] of each.
 * usual: the milliseconds until somebody changes them. changed(): called after that.
 */
export function speedChoice(name, speeds, usual, changed = () => {}) {
  const chosen = Number(memory.get(name, usual));
  const option = ([value, text]) => html`<option value=${value} selected=${value === chosen}>${text}</option>`;
  const change = () => {
    memory.set(name, Number(select.value));
    changed();
  };
  const select = html`<select aria-label="Speed" @change=${change}>${speeds.map(option)}</select>`;
  return select;
}

export class Controls {
  /** on: {again, undo, hint, resign, pause, step, link, endless(isOn)}, called by a person. */
  constructor(on) {
    this.isEndless = false;
    this.again = button("New game", on.again, "primary");
    this.undo = button("Undo", on.undo);
    this.hint = button("Hint", on.hint);
    this.resign = button("Resign", on.resign);
    this.pause = button("Pause", on.pause);
    this.step = button("Step", on.step);
    this.link = button([icon("link"), html`<span class="word">Link</span>`], on.link, "square-button");
    this.link.title = this.link.ariaLabel = "Copy a link to this position";
    this.watching = this.makeWatching(on.endless);
    const { again, undo, hint, resign, pause, step, link, watching } = this;
    this.element = html`<div class="buttons main">${[again, undo, hint, resign, pause, step, link, watching]}</div>`;
  }

  /** The speed, and the switch for another game after each one. */
  makeWatching(endless) {
    const output = html`<output for="speed"></output>`;
    const setSpeed = (milliseconds) => {
      this.speed = milliseconds;
      memory.set("speed", milliseconds);
      fill(output, milliseconds ? `${(milliseconds / 1000).toFixed(1)}\u00a0s` : "none");
    };
    setSpeed(memory.get("speed", SPEED));
    const setEndless = (isOn) => {
      this.isEndless = isOn;
      endless(isOn);
    };
    return html`
      <div class="watching">
        <label for="speed">Time for a move ${output}</label>
        <input type="range" id="speed" min="0" max="3000" step="100" value=${this.speed}
          @input=${(event) => setSpeed(+event.target.value)}>
        ${switchOf("Game after game", false, setEndless)}
      </div>`;
  }

  /** Show the buttons that are for a game, and which of them can be used now. */
  show(game, isPaused) {
    const { undo, hint, resign, pause, step, watching } = this;
    const { isOver, isUnderWay } = game;
    const isWatched = game.players.areWatched;
    const mayChoose = !isOver && game.players.isHuman(game.turn);
    for (const one of [undo, hint, resign]) one.hidden = isWatched;
    for (const one of [watching, pause, step]) one.hidden = !isWatched;
    undo.disabled = !isUnderWay;
    hint.disabled = !mayChoose;
    resign.disabled = !(mayChoose && isUnderWay);
    pause.disabled = isOver;
    pause.textContent = isPaused ? "Go on" : "Pause";
    step.disabled = isOver || !isPaused;
  }
}
