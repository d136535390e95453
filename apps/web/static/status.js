// How a game stands: a line above the board, and the note below that line.

import { announce, fill, html, markIcon } from "./dom.js";
import { cellName, endText, sideOf } from "./rules.js";
import { capital, inside } from "./words.js";

/** A button that looks like a link. */
export const linkish = (text, onclick) =>
  html`<button type="button" class="linkish" @click=${onclick}>${text}</button>`;

export class Status {
  line = html`<p class="status"></p>`;
  note = html`<div class="note"></div>`;

  /** wayBack(): an element that ends the note, or nothing. */
  constructor(wayBack) {
    this.wayBack = wayBack;
  }

  /** Say whose turn it is, or how the game has ended; a screen reader says the last move too. */
  show({ state, moves, rules, players }) {
    const { turn, ended, result } = state;
    const move = moves.length
      ? `${sideOf(moves.length - 1)} plays ${cellName(moves.at(-1), rules)}. `
      : "";
    const end = () => capital(endText(result, ended, (side) => inside(players.nameOf(side))));
    const text = turn === null ? end() : request(turn, players);
    const side = turn ?? (result === "draw" ? null : result);
    fill(this.line, side && [markIcon(side), " "], text);
    announce(`${ended === "resigned" ? "" : move}${text}.`);
  }

  /** Say that an agent is thinking. time: how long it has been. */
  think(side, name, time) {
    const dots = html`<span class="busy"> is thinking …</span>`;
    const seconds = html`<span class="seconds">${time}</span>`;
    fill(this.line, markIcon(side), " ", name, dots, seconds);
  }

  /** Say why a game cannot go on. again(): tries again. */
  fail(error, again) {
    fill(this.line, "The game cannot go on");
    fill(this.note, error.message, " ", linkish("Try again", again));
    announce(`The game cannot go on: ${error.message}`);
  }

  /** Write the note: sentences, then the way back to a game that was left. */
  tell(...parts) {
    fill(this.note, parts, " ", this.wayBack());
  }

  /** Write what decided a game, or nothing. judgement: see `judged`. */
  judge(judgement) {
    const { tone, text } = judgement ?? {};
    fill(this.note, text && html`<strong class=${tone}>${text}</strong>`);
  }
}

/** A person or an agent is asked to move. */
function request(turn, players) {
  if (!players.isHuman(turn)) return `${players.nameOf(turn)} to move`;
  return players.you ? "Your move" : `${turn} to move`;
}
