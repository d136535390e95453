// The buttons below the board of a game, and the speed of a game that is only watched.

import { button, h, icon } from "./dom.js";
import { memory } from "./memory.js";

const LINK = "Copy a link to this position";

/** on: functions by the name of a button: again, undo, hint, resign, pause, step, link. */
export class Controls {
  constructor(on) {
    this.speed = memory.get("speed", 700); // milliseconds for a move of a watched game
    this.again = button("New game", on.again, { class: "primary" });
    this.undo = button("Undo", on.undo);
    this.hint = button("Hint", on.hint);
    this.resign = button("Resign", on.resign);
    this.pause = button("Pause", on.pause);
    this.step = button("Step", on.step);
    const attributes = { class: "square-button", "aria-label": LINK, title: LINK };
    this.link = button([icon("link"), h("span", { class: "word" }, "Link")], on.link, attributes);
    const slider = h("input", {
      type: "range",
      id: "speed",
      min: "0",
      max: "3000",
      step: "100",
      value: String(this.speed),
      oninput: (event) => this.setSpeed(+event.target.value),
    });
    this.speedText = h("output", { for: "speed" });
    this.watching = h(
      "div",
      { class: "watching" },
      h("label", { for: "speed" }, "Time for a move ", this.speedText),
      slider,
    );
    this.setSpeed(this.speed);
    const { again, undo, hint, resign, pause, step, link, watching } = this;
    const all = [again, undo, hint, resign, pause, step, link, watching];
    this.element = h("div", { class: "buttons main" }, all);
  }

  setSpeed(milliseconds) {
    this.speed = milliseconds;
    memory.set("speed", milliseconds);
    const seconds = (milliseconds / 1000).toFixed(1);
    this.speedText.textContent = milliseconds ? `${seconds}\u00a0s` : "none";
  }

  /**
   * isWatched: whether no person plays. isOver, isPaused: the game. mayChoose: whether a person is
   * to move. hasMoved: whether a person has moved since the start.
   */
  show({ isWatched, isOver, isPaused, mayChoose, hasMoved }) {
    for (const one of [this.undo, this.hint, this.resign]) one.hidden = isWatched;
    for (const one of [this.watching, this.pause, this.step]) one.hidden = !isWatched;
    this.undo.disabled = !hasMoved;
    this.hint.disabled = !mayChoose;
    this.resign.disabled = !(mayChoose && hasMoved);
    this.pause.disabled = isOver;
    this.pause.textContent = isPaused ? "Go on" : "Pause";
    this.step.disabled = isOver || !isPaused;
  }
}
