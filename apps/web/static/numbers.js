// The numbers on the free cells. A choice of one: an agent's own estimate, how likely it plays
// there, or its exact results against random moves. A switch beside it: the truth, the exact
// result with best play. Each has one colour and one meaning; the controls are their legend, and
// the sentences below say what is shown now.

import { h } from "./dom.js";
import { memory } from "./memory.js";
import { post } from "./server.js";
import { SIGNS, capital, other, percent, sideOf, signed, worthText } from "./words.js";

const PATIENCE = 300; // milliseconds after which the legend says what is being worked out
const TRUTH_CELLS = 16; // of the largest boards on which the truth is worked out
// Value, text, and where the mark stands in a small picture of how it looks on the cells.
const CHOICES = [
  ["none", "None", null],
  ["own", "Its own estimate", 0.75],
  ["chance", "How likely it plays there", 0.5],
  ["expected", "Against random moves", 0.75],
];
let made = 0; // groups of radio buttons need different names

/**
 * board: a Board. changed(): called when a choice is made. isNamed: whether the heading says whose
 * numbers these are. isOfMover: whether they are those of whoever moves next, as between two agents.
 */
export class Numbers {
  constructor(board, changed, isNamed = true) {
    this.isNamed = isNamed;
    this.isOfMover = false;
    this.isInstead = false; // whether the agent is asked in the place of the side to move
    this.hasMore = false; // whether the details of the legend are open
    this.board = board;
    this.changed = changed;
    this.turn = 0;
    const name = `numbers-${++made}`;
    const remembered = memory.get("numbers", "none");
    this.choices = Object.fromEntries(
      CHOICES.map(([value, text, at]) => {
        const input = h("input", {
          type: "radio",
          name,
          value,
          checked: value === remembered,
          onchange: () => (memory.set("numbers", value), this.changed()),
        });
        const label = h("label", { class: `choice ${value}` }, input, h("span", {}, text));
        if (at !== null) label.append(picture(value, at));
        return [value, { input, label }];
      }),
    );
    if (!(remembered in this.choices)) this.choices.none.input.checked = true;
    this.truth = h("input", {
      type: "checkbox",
      role: "switch",
      checked: memory.get("truth", false),
      onchange: () => (memory.set("truth", this.truth.checked), this.changed()),
    });
    this.caption = h("legend", {}, "Numbers of a player");
    this.element = h(
      "div",
      { class: "numbers" },
      h(
        "fieldset",
        {},
        this.caption,
        Object.values(this.choices).map(({ label }) => label),
      ),
      h(
        "label",
        { class: "switch truth-switch" },
        this.truth,
        h("span", { class: "track", "aria-hidden": "true" }),
        h("span", {}, "The truth"),
        h(
          "span",
          { class: "samples", "aria-hidden": "true" },
          Object.entries(SIGNS).map(([kind, sign]) => h("span", { class: kind }, `${sign} ${kind}`)),
        ),
      ),
    );
    this.legend = h("div", { class: "legend" });
  }

  get choice() {
    return Object.keys(this.choices).find((name) => this.choices[name].input.checked) ?? "none";
  }

  /** The fields of a request for what is chosen. agent: whose numbers, {id, label} or null. */
  wanted(agent) {
    const values = this.choice === "expected" ? "expected" : "own";
    return {
      ...(this.choice !== "none" && agent ? { agent: agent.id, values } : {}),
      ...(this.truth.checked ? { truth: true } : {}),
    };
  }

  /** Ask the server for what is chosen, after these moves, and write it on the board. */
  async update(board, moves, isOver, agent) {
    const wanted = this.wanted(agent);
    if (isOver || Object.keys(wanted).length === 0) return this.show({}, moves, isOver, agent);
    const turn = ++this.turn;
    try {
      const asked = post("/api/analysis", { board, moves, ...wanted });
      const found = await this.patiently(wanted, asked);
      if (turn === this.turn) this.write(found, agent, sideOf(moves.length));
    } catch (error) {
      if (turn !== this.turn) return;
      this.board.tell(null);
      this.legend.replaceChildren(error.message);
    }
  }

  /** Write an answer of the server on the board. False if it lacks what is chosen. */
  show(found, moves, isOver, agent) {
    const { agent: id, truth, values } = this.wanted(agent);
    const { kind, kinds } = found.thoughts ?? {};
    const isOther = this.choice !== "chance" && kinds?.includes(values) && kind !== values;
    if (!isOver && ((id && (!found.thoughts || isOther)) || (truth && !found.truth))) return false;
    this.turn += 1;
    if (isOver) {
      this.board.tell(null);
      this.legend.replaceChildren();
    } else {
      const shown = { thoughts: id && found.thoughts, truth: truth && found.truth };
      this.write(shown, agent, sideOf(moves.length));
    }
    return true;
  }

  /** The answer to a request with the fields `wanted`. If it takes long, the legend says so. */
  async patiently(wanted, answer) {
    if (Object.keys(wanted).length === 0) return answer;
    const turn = this.turn;
    const begun = performance.now();
    const say = () => {
      if (turn !== this.turn) return;
      const seconds = Math.round((performance.now() - begun) / 1000);
      const what = wanted.truth ? "Working out every game from here" : "Asking the agent";
      const time = seconds ? ` ${seconds} s` : "";
      this.legend.replaceChildren(h("span", { class: "busy" }, `${what} …${time}`));
    };
    let timer = setTimeout(() => {
      say();
      timer = setInterval(say, 1000);
    }, PATIENCE);
    return answer.finally(() => (clearTimeout(timer), clearInterval(timer)));
  }

  /** Ignore answers that are still to come, and remove all numbers from the board. */
  clear() {
    this.turn += 1;
    this.board.tell(null);
    this.legend.replaceChildren();
  }

  /** Say whose numbers these are, and offer those that it has. */
  offer(agent, thoughts) {
    const whose = this.isOfMover ? "the player to move" : (agent?.label ?? "a player");
    this.caption.textContent = this.isNamed ? `Numbers of ${whose}` : "Its numbers";
    for (const kind of ["own", "expected"]) {
      const { input, label } = this.choices[kind];
      const isMissing = Boolean(thoughts) && !thoughts.kinds.includes(kind);
      input.disabled = isMissing && !input.checked;
      label.title = isMissing ? `${agent.label} has no such numbers.` : "";
    }
  }

  write({ thoughts, truth }, agent, side) {
    this.offer(agent, thoughts);
    this.element.classList.toggle("untold", Boolean(truth?.reason));
    const numbers = thoughts ? this.notes(thoughts) : [];
    const note = (_, cell) => ({ ...numbers[cell], truth: truth?.moves?.[cell] ?? undefined });
    this.board.tell(thoughts || truth ? Array.from(this.board.cells, note) : null);
    this.legend.replaceChildren(
      ...(this.choice !== "none" && !agent
        ? [h("p", {}, "Only people are playing: choose another player to see its numbers.")]
        : []),
      ...(thoughts ? [this.about(thoughts, agent, side)] : []),
      ...(truth ? [aboutTruth(truth, side)] : []),
    );
  }

  /** What is written on each cell: see `Board.tell`. */
  notes({ values, probs, kind, scale: [low, high] }) {
    if (this.choice === "chance") {
      const note = (share) =>
        share === null
          ? {}
          : {
              kind: "chance",
              text: percent(share),
              at: share,
              words: `played with ${percent(share)}`,
            };
      return probs.map(note);
    }
    if (kind !== this.choice || !values) return [];
    const digits = digitsOf(values);
    return values.map((value, cell) => {
      if (value === null && probs[cell] === null) return {};
      if (value === null) return { kind, text: "?", at: null, words: "of unknown worth" };
      const text = signed(value, digits);
      const at = Math.min(1, Math.max(0, (value - low) / (high - low)));
      const words = kind === "own" ? `thought to be worth ${text}` : `${text} against random moves`;
      return { kind, text, at, words };
    });
  }

  /** The sentences on an agent's numbers. */
  about(thoughts, agent, side) {
    const { values, probs, kinds, meaning, scale, illegal } = thoughts;
    const name = `${agent.label}, playing ${side},`;
    const untrained = agent.side === other(side) ? ", for which it was not trained" : "";
    const [low, high] = scale.map((bound) => boundText(bound, scale[0] < 0));
    const texts = {
      chance: `How likely ${agent.label} plays each move as ${side}.`,
      own: `What ${name} expects of each move: ${low} is a sure loss, ${high} a sure win. ${this.doubt(meaning)}`,
      expected: `What ${name} gets on average if it goes on against random moves: −1 is always lost, +1 always won. This is exact, but it says little about a game against you.`,
    };
    const isMissing = this.choice !== "chance" && !kinds.includes(this.choice);
    const text = isMissing
      ? this.choice === "own"
        ? `${agent.label} makes no estimates: it only chooses.`
        : `On this board the results of ${agent.label} against random moves are not known.`
      : texts[this.choice];
    const isGap = (value, cell) => value === null && probs[cell] !== null;
    const more = [
      untrained && !this.isInstead && `It plays ${side}${untrained}.`,
      !isMissing &&
        this.choice === "own" &&
        values?.some(isGap) &&
        "It does not know the values marked ?.",
      thoughts.new && "It has never met this position.",
      illegal > 0.0005 && `It chooses a taken cell with ${percent(illegal)}.`,
    ];
    const details = !isMissing && this.choice === "own" && aboutValues(meaning);
    return h(
      "div",
      { class: this.choice },
      this.isInstead &&
        !isMissing &&
        h("p", {}, h("strong", {}, `If ${agent.label} were ${side}${untrained}:`)),
      h("p", {}, [text, ...more].filter(Boolean).join(" ")),
      details && this.more(details),
    );
  }

  /** How far its values can be trusted. */
  doubt(meaning) {
    if (isExact(meaning)) return "It has worked out every game.";
    const isTold = this.board.cells.length <= TRUTH_CELLS;
    return isTold ? "It may be wrong; the truth shows where." : "It may be wrong.";
  }

  /** What only some readers want to know, behind a line that stays open once it was opened. */
  more(text) {
    const ontoggle = (event) => (this.hasMore = event.target.open);
    return h(
      "details",
      { ontoggle, open: this.hasMore },
      h("summary", {}, "More about its values"),
      h("p", {}, text),
    );
  }
}

/** Whether its values are those of a search to the end, which are exact. */
const isExact = (meaning) => /\bexact result with best play\b/.test(meaning);

/** A bound of a scale; one like 0.999 is rounded, and said to be. */
function boundText(bound, isSigned) {
  const near = +bound.toFixed(2);
  const sign = near < 0 ? "−" : isSigned && near > 0 ? "+" : "";
  return `${near === bound ? "" : "about "}${sign}${Math.abs(near)}`;
}

/** The agent's own words for its numbers, if it has any, and how far these can go. */
const aboutValues = (meaning) =>
  [
    !/^its own value/.test(meaning) && `${capital(meaning.replaceAll(" -", " −"))}.`,
    !isExact(meaning) && "Its values can go a little beyond these bounds.",
  ]
    .filter(Boolean)
    .join(" ");

/** Two digits, or three where two values that differ would look the same. */
function digitsOf(values) {
  const known = values.filter((value) => value !== null);
  const different = (digits) => new Set(known.map((value) => value.toFixed(digits))).size;
  return known.length <= 16 && different(3) > different(2) ? 3 : 2;
}

/** A gauge without a number, so that nobody takes it for the value of a move. */
function picture(kind, at) {
  const gauge = h("span", { class: `gauge sample ${kind}`, "aria-hidden": "true" });
  gauge.style.setProperty("--at", at);
  return gauge;
}

function aboutTruth({ reason, position, moves }, side) {
  if (reason) {
    const text = "This board is too large to work out the truth. A player can still be proven unbeatable on it.";
    return h("p", { class: "truth" }, text);
  }
  const isCounted = moves.some((worth) => worth && worth.value !== 0 && worth.plies > 1);
  const texts = [
    `With best play from here, ${side} ${worthText(position)}. This is exact.`,
    isCounted &&
      "The numbers count the moves of the winner: “in 2” is with the second move from now.",
  ];
  return h("p", { class: "truth" }, texts.filter(Boolean).join(" "));
}
