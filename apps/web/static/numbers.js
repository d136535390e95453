// The numbers on the free cells. A choice of one: an agent's own estimate, how likely it plays
// there, or its exact results against random moves. A switch beside it: the truth, the exact
// result with best play. Each has one colour and one meaning; the controls are their legend, and
// the sentences below say what is shown now.

import { analysis } from "./data.js";
import { fill, html, patiently } from "./dom.js";
import { memory } from "./memory.js";
import { other, sideOf } from "./rules.js";
import { percent, sentences, signed } from "./words.js";

// Value, text, and where the mark stands in a small picture of how it looks on the cells.
const CHOICES = [
  ["none", "None"],
  ["own", "Its own estimate", 0.75],
  ["chance", "How likely it plays there", 0.5],
  ["expected", "Against random moves", 0.75],
];
let made = 0; // groups of radio buttons need different names

/** A switch: a checkbox with a text beside it, and what else belongs to it. */
export function switchOf(kind, isOn, onchange, ...content) {
  return html`
    <label class=${`switch ${kind}`}>
      <input type="checkbox" role="switch" checked=${isOn} @change=${(event) => onchange(event.target.checked)}>
      <span class="track" aria-hidden="true"></span>${content}
    </label>`;
}

/** The choices (`element`), and below them what the numbers mean. */
export class Numbers {
  /** board: a Board. changed(): called when a choice is made. */
  constructor(board, changed) {
    Object.assign(this, { board, changed, turn: 0 });
    this.choice = memory.get("numbers", "none");
    this.truth = memory.get("truth", false);
    this.caption = html`<legend></legend>`;
    this.legend = html`<div class="legend"></div>`;
    const name = `numbers-${++made}`;
    const choose = (what, value) => {
      this[what] = value;
      memory.set(what === "choice" ? "numbers" : what, value);
      changed();
    };
    const choiceOf = ([value, text, at]) => html`
      <label class="choice">
        <input type="radio" name=${name} value=${value} checked=${value === this.choice}
          @change=${() => choose("choice", value)}>
        <span>${text}</span>${at && sample(value, at)}
      </label>`;
    this.element = html`
      <div class="box view">
        <div class="numbers">
          <fieldset>${this.caption}${CHOICES.map(choiceOf)}</fieldset>
          ${switchOf("truth-switch", this.truth, (isOn) => choose("truth", isOn), html`<span>The truth</span>`)}
        </div>
        ${this.legend}
      </div>`;
  }

  /**
   * Write what is chosen on the board, after these moves. agent: whose numbers, or null if only
   * people play. isOver: whether there is nothing to show.
   */
  async update(moves, agent, isOver) {
    const turn = ++this.turn;
    const side = sideOf(moves.length);
    const isAsked = this.choice !== "none" && agent;
    this.caption.textContent = `Numbers of ${agent?.label ?? "a player"}`;
    if (isOver || (this.choice === "none" && !this.truth)) return this.write(null);
    const values = this.choice === "expected" ? "expected" : "own";
    const asked = { board: this.board.rules, moves, truth: this.truth };
    if (isAsked) Object.assign(asked, { agent: agent.id, values });
    const what = this.truth ? "Working out every game from here" : "Asking the agent";
    try {
      const { thoughts, truth } = await patiently(analysis(asked), (time) => {
        if (turn === this.turn) fill(this.legend, html`<span class="busy">${what} …${time}</span>`);
      });
      if (turn !== this.turn) return;
      const numbers = thoughts ? this.notes(thoughts) : [];
      const note = (_, cell) => ({ ...numbers[cell], truth: truth?.moves?.[cell] ?? undefined });
      const nobody = "Only people are playing: choose another player to see its numbers.";
      this.write(
        this.board.cells.map(note),
        this.choice !== "none" && !agent && html`<p>${nobody}</p>`,
        thoughts && this.about(thoughts, agent, side),
        truth && html`<p class="exact">${aboutTruth(truth, side)}</p>`,
      );
    } catch (error) {
      if (turn === this.turn) this.write(null, error.message);
    }
  }

  /** Write on the cells, and below the choices. */
  write(notes, ...legend) {
    this.board.show({ notes });
    fill(this.legend, legend);
  }

  /** What is written on each cell: see `Board`. */
  notes({ values, probs, kind, scale: [low, high] }) {
    if (this.choice === "chance") {
      const note = (share) =>
        share !== null && {
          kind: "chance",
          text: percent(share),
          at: share,
          words: `played with ${percent(share)}`,
        };
      return probs.map(note);
    }
    if (kind !== this.choice) return [];
    return values.map((value, cell) => {
      if (probs[cell] === null) return null;
      if (value === null) return { kind, text: "?", at: null, words: "of unknown worth" };
      const text = signed(value);
      const at = Math.min(1, Math.max(0, (value - low) / (high - low)));
      const words = kind === "own" ? `thought to be worth ${text}` : `${text} against random moves`;
      return { kind, text, at, words };
    });
  }

  /** The sentences on an agent's numbers. */
  about({ values, probs, kinds, meaning, scale, illegal, new: isNew }, agent, side) {
    const { choice } = this;
    const isKnown = choice === "chance" || kinds.includes(choice);
    const isExact = /\bexact result with best play\b/.test(meaning);
    const isGap = (value, cell) => value === null && probs[cell] !== null;
    const [low, high] = scale.map((bound) => signed(bound, Number.isInteger(bound) ? 0 : 2));
    const missing = {
      own: `${agent.label} makes no estimates: it only chooses`,
      expected: `On this board the results of ${agent.label} against random moves are not known`,
    };
    const texts = {
      chance: `How likely ${agent.label} plays each move as ${side}`,
      own: `What ${agent.label}, playing ${side}, expects of each move: ${low} is a sure loss, ${high} a sure win. ${isExact ? "It has worked out every game" : "It may be wrong; the truth shows where"}`,
      expected: `What ${agent.label}, playing ${side}, gets on average if it goes on against random moves: −1 is always lost, +1 always won. This is exact, but it says little about a game against you`,
    };
    const text = sentences(
      (isKnown ? texts : missing)[choice],
      agent.side === other(side) && `It was not trained to play ${side}`,
      isKnown && choice === "own" && values.some(isGap) && "It does not know the values marked ?",
      isKnown && choice === "own" && !/^its own value/.test(meaning) && `Its numbers: ${meaning.replaceAll(" -", " −")}`,
      isNew && "It has never met this position",
      illegal > 0.0005 && `It chooses a taken cell with ${percent(illegal)}`,
    );
    return html`<p class=${choice}>${text}</p>`;
  }
}

function aboutTruth({ reason, position, moves }, side) {
  if (reason)
    return "This board is too large to work out the truth. A player can still be proven unbeatable on it.";
  const isCounted = moves.some((worth) => worth && worth.value !== 0 && worth.plies > 1);
  return sentences(
    `With best play from here, ${side} ${position.text}`,
    "This is exact",
    isCounted &&
      "The numbers count the moves of the winner: “in 2” is with the second move from now",
  );
}

/** A gauge without a number, so that nobody takes it for the value of a move. */
function sample(kind, at) {
  const gauge = html`<span class=${`gauge sample ${kind}`} aria-hidden="true"></span>`;
  gauge.style.setProperty("--at", at);
  return gauge;
}
