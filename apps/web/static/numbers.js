// The numbers on the free cells: what an agent thinks, and the truth, the exact result with best
// play; a switch for each, off when a game begins. What it thinks is its own estimate, how likely it
// plays there, or its exact results against random moves. A line at the board says whose numbers
// these are; which of them are shown, and what they mean, is folded.

import { analysis } from "./data.js";
import { fill, html, patiently } from "./dom.js";
import { memory } from "./memory.js";
import { other, sideOf } from "./rules.js";
import { capital, inside, percent, sentences, signed } from "./words.js";

const KINDS = {
  own: "Its own estimate",
  chance: "How likely it plays there",
  expected: "Against random moves",
};
let made = 0; // groups of radio buttons need different names

/** A switch: a checkbox with a text beside it. */
export const switchOf = (text, isOn, onchange) => html`
  <label class="switch">
    <input type="checkbox" role="switch" checked=${isOn} @change=${(event) => onchange(event.target.checked)}>
    <span class="track" aria-hidden="true"></span><span>${text}</span>
  </label>`;

/** The switches (`element`), and the line that stands at the board (`caption`). */
export class Numbers {
  /** board: a Board. changed(): called when a choice is made. keys: what is said of the keyboard. */
  constructor(board, changed, keys) {
    Object.assign(this, { board, changed, shown: {}, turn: 0, kind: memory.get("kind", "own") });
    this.caption = html`<p class="caption"></p>`;
    this.legend = html`<div class="legend"></div>`;
    const group = `numbers-${++made}`;
    const choose = (kind) => {
      this.kind = kind;
      memory.set("kind", kind);
      changed();
    };
    const question = (name, text) => switchOf(text, false, (isOn) => {
      this.shown[name] = isOn;
      changed();
    });
    this.questions = { thinks: question("thinks", "Show what it thinks"), truth: question("truth", "Show the truth") };
    this.unknown = html`<p class="unknown" id=${`${group}-unknown`} hidden></p>`;
    const choiceOf = ([value, text]) => html`
      <label class="choice">
        <input type="radio" name=${group} value=${value} checked=${value === this.kind}
          @change=${() => choose(value)}>
        <span>${text}</span>
      </label>`;
    this.element = html`
      <div class="box view">
        <div class="questions">${Object.values(this.questions)}</div>
        ${this.unknown}
        <details>
          <summary>More</summary>
          <fieldset><legend>What it thinks</legend>${Object.entries(KINDS).map(choiceOf)}</fieldset>
          ${this.legend}
          <p class="keys">${keys}</p>
        </details>
      </div>`;
  }

  /** Have the switches show and change what is shown in a game: {thinks, truth}, true for on. */
  follow(shown) {
    this.shown = shown;
    for (const [name, one] of Object.entries(this.questions))
      one.querySelector("input").checked = Boolean(shown[name]);
  }

  /** Switch the truth off for this board, and say why beside its switch; nothing for "". */
  withoutTruth(why) {
    if (!why) return;
    const input = this.questions.truth.querySelector("input");
    input.disabled = true;
    input.setAttribute("aria-describedby", this.unknown.id);
    this.unknown.hidden = false;
    fill(this.unknown, why);
  }

  /**
   * Write what is chosen on the board, after these moves. agent: whose numbers, or null if only
   * people play. isOver: whether there is nothing to show.
   */
  async update(moves, agent, isOver) {
    const turn = ++this.turn;
    const side = sideOf(moves.length);
    const { thinks, truth: isTruth } = this.shown;
    if (isOver || !(thinks || isTruth)) return this.write(null);
    const values = this.kind === "expected" ? "expected" : "own";
    const asked = { board: this.board.rules, moves, truth: Boolean(isTruth) };
    if (thinks && agent) Object.assign(asked, { agent: agent.id, values });
    const what = isTruth ? "Working out every game from here" : "Asking the agent";
    try {
      const { thoughts, truth } = await patiently(analysis(asked), (time) => {
        if (turn === this.turn) fill(this.caption, html`<span class="busy">${what} …${time}</span>`);
      });
      if (turn !== this.turn) return;
      const kind = this.kind === "own" && !thoughts?.kinds.includes("own") ? "chance" : this.kind;
      const numbers = thoughts ? notesOf(thoughts, kind) : [];
      const note = (_, cell) => ({ ...numbers[cell], truth: truth?.moves?.[cell] ?? undefined });
      const exact = truth && "The truth: each move with best play after it";
      const alone = isTruth ? exact : "Only people are playing";
      const whose = thoughts ? this.captionOf(thoughts, kind, agent, side) : alone;
      this.write(
        this.board.cells.map(note),
        whose,
        thoughts && this.about(thoughts, kind, agent),
        truth && html`<p>${aboutTruth(truth, side)}</p>`,
      );
    } catch (error) {
      if (turn === this.turn) this.write(null, error.message);
    }
  }

  /** Write on the cells, at the board, and what is folded. */
  write(notes, caption, ...legend) {
    this.board.show({ notes });
    fill(this.caption, caption);
    fill(this.legend, legend);
  }

  /** The sentences on an agent's numbers. */
  about({ values, probs, kinds, meaning, illegal, new: isNew, off_lines: isOff }, kind, agent) {
    if (isOff) {
      const why = "Its certificate holds the moves in the positions that its own moves lead to. Elsewhere it moves at random here";
      return html`<p class=${kind}>${sentences(why)}</p>`;
    }
    const isOwn = kind === "own";
    const isExact = /\bexact result with best play\b/.test(meaning);
    const isGap = (value, cell) => value === null && probs[cell] !== null;
    const texts = {
      own: isExact ? "It has worked out every game" : "It may be wrong; the truth shows where",
      expected: kinds.includes("expected")
        ? "What it gets on average if it goes on against random moves. This is exact, but it says little about a game against you"
        : `On this board the results of ${inside(agent.label)} against random moves are not known`,
    };
    const text = sentences(
      texts[kind],
      isOwn && values.some(isGap) && "It does not know the values marked ?",
      isOwn && !/^its own value/.test(meaning) && `Its numbers: ${meaning.replaceAll(" -", " −")}`,
      isNew && "It has never met this position",
      illegal > 0.0005 && `It makes an illegal move with ${percent(illegal)}`,
    );
    return html`<p class=${kind}>${text}</p>`;
  }

  /** Whose numbers stand on the cells, and on which scale. */
  captionOf({ kinds, scale, off_lines: isOff }, kind, agent, side) {
    const name = inside(agent.label);
    if (isOff) return `Off its lines: ${name} never gets here as ${side}, so nothing is known of it.`;
    const [low, high] = scale.map((bound) => signed(bound));
    const whose = {
      own: `What ${name} expects as ${side}`,
      chance: `${this.kind === "own" ? `${capital(name)} makes no estimates: how` : "How"} likely it plays there as ${side}`,
      expected: `${name} as ${side}, against random moves`,
    };
    const isScaled = kind === "own" || (kind === "expected" && kinds.includes(kind));
    return sentences(
      agent.side === other(side) && `Untrained as ${side}`,
      whose[kind] + (isScaled ? `: ${high} a sure win, ${low} a sure loss` : ""),
    );
  }
}

/** The notes on each cell: see `Board`. */
function notesOf({ values, probs, kinds, scale: [low, high], off_lines: isOff }, kind) {
  if (isOff || (kind === "expected" && !kinds.includes(kind))) return [];
  return probs.map((share, cell) => {
    if (share === null) return null;
    if (kind === "chance")
      return share > 0 && { kind, text: percent(share), at: share, words: `played with ${percent(share)}` };
    const value = values[cell];
    if (value === null) return { kind, text: "?", at: null, words: "of unknown worth" };
    const text = signed(value);
    const at = Math.min(1, Math.max(0, (value - low) / (high - low)));
    const words = kind === "own" ? `thought to be worth ${text}` : `${text} against random moves`;
    return { kind, text, at, words };
  });
}

function aboutTruth(truth, side) {
  const { position, moves } = truth;
  const isCounted = moves.some((worth) => worth && worth.value !== 0 && worth.plies > 1);
  return sentences(
    `With best play from here, ${side} ${position.text}`,
    "This is exact",
    isCounted &&
      "The numbers count the moves of the winner: “in 2” is with the second move from now",
  );
}
