// The switches "What it thinks" (the agent's own values, or with "Against random moves" its exact
// results against these) and "The truth": the numbers that they write on a board, and the sentences
// below the switches that explain these numbers (the legend).

import { h, memory, post, sideOf } from "./dom.js";

const SLOW = "Working it out … A 4 × 4 board is solved on first use, which takes some seconds.";

/** board: a Board. changed(): called when a switch is turned on or off. */
export class Insight {
  constructor(board, changed) {
    this.board = board;
    this.changed = changed;
    this.turn = 0;
    this.thinks = this.makeSwitch("thinks", "What it thinks");
    this.random = this.makeSwitch("random", "Against random moves");
    this.truth = this.makeSwitch("truth", "The truth");
    this.switches = h(
      "div",
      { class: "switches" },
      this.thinks.label,
      this.random.label,
      this.truth.label,
    );
    this.legend = h("p", { class: "legend" });
    this.offer();
  }

  /** Offer the second kind of values where the agent has both. thoughts: of the agent, or null. */
  offer(thoughts) {
    this.random.label.hidden = !this.thinks.input.checked;
    const both = !thoughts || thoughts.kinds.length > 1;
    this.random.input.disabled = !both;
    this.random.label.title = both ? "" : "This agent has values of one kind only.";
  }

  /** The kind of values that is asked for. */
  get kind() {
    return this.random.input.checked ? "expected" : "own";
  }

  makeSwitch(name, text) {
    const input = h("input", {
      type: "checkbox",
      role: "switch",
      checked: memory.get(name, false),
      onchange: () => {
        memory.set(name, input.checked);
        this.offer();
        this.changed();
      },
    });
    return {
      input,
      label: h(
        "label",
        { class: "switch" },
        input,
        h("span", { class: "track", "aria-hidden": "true" }),
        text,
      ),
    };
  }

  /** The fields of a request for what the switches show. agent: whose thoughts, an id or null. */
  wanted(agent) {
    return {
      ...(this.thinks.input.checked && agent ? { agent, values: this.kind } : {}),
      ...(this.truth.input.checked ? { truth: true } : {}),
    };
  }

  /** Ask the server for what the switches show after these moves, and write it on the board. */
  async update(board, moves, isOver, agent) {
    const wanted = this.wanted(agent);
    if (isOver || Object.keys(wanted).length === 0) return this.show({}, moves, isOver, agent);
    const turn = ++this.turn;
    try {
      const found = await this.patiently(
        wanted,
        post("/api/analysis", { board, moves, ...wanted }),
      );
      if (turn === this.turn) this.write(found, agent, sideOf(moves.length));
    } catch (error) {
      if (turn !== this.turn) return;
      this.board.tell(null);
      this.legend.replaceChildren(error.message);
    }
  }

  /** Write an answer of the server on the board. False if it lacks what the switches ask for. */
  show(found, moves, isOver, agent) {
    const { agent: thinker, truth } = this.wanted(agent);
    const { kind, kinds } = found.thoughts ?? {};
    const other = kinds?.includes(this.kind) && kind !== this.kind;
    if (!isOver && ((thinker && (!found.thoughts || other)) || (truth && !found.truth)))
      return false;
    this.turn += 1;
    if (isOver) {
      this.board.tell(null);
      this.legend.replaceChildren();
    } else {
      this.write(
        { thoughts: thinker && found.thoughts, truth: truth && found.truth },
        agent,
        sideOf(moves.length),
      );
    }
    return true;
  }

  /** The answer to a request with the fields `wanted`. If it takes long, the legend says why. */
  async patiently(wanted, answer) {
    const turn = this.turn;
    const say = () => turn === this.turn && this.legend.replaceChildren(SLOW);
    const patience = Object.keys(wanted).length > 0 ? setTimeout(say, 600) : null;
    return answer.finally(() => clearTimeout(patience));
  }

  /** Ignore answers that are still to come, and remove all numbers from the board. */
  clear() {
    this.turn += 1;
    this.board.tell(null);
    this.legend.replaceChildren();
  }

  write({ thoughts, truth }, agent, side) {
    this.offer(thoughts);
    const note = (_, cell) => ({
      value: thoughts?.values?.[cell] ?? undefined,
      unknown: Boolean(thoughts?.values) && thoughts.values[cell] === null,
      scale: thoughts?.scale,
      probability: thoughts?.probs?.[cell] ?? undefined,
      truth: truth?.moves?.[cell] ?? undefined,
    });
    this.board.tell(thoughts || truth ? Array.from(this.board.cells, note) : null);
    const parts = [];
    if (thoughts) {
      const bar = thoughts.values ? " The bar below a number is how likely it plays there." : "";
      const illegal =
        thoughts.illegal > 0.0005
          ? ` It would make an illegal move with probability ${thoughts.illegal.toFixed(3)}.`
          : "";
      const what = thoughts.values
        ? `${agent}, for ${side}: ${thoughts.meaning}.`
        : `${agent}, for ${side}: how likely it plays there.`;
      const gaps = (value, cell) => value === null && thoughts.probs[cell] !== null;
      const unknown = thoughts.values?.some(gaps) ? " It does not know the values marked ?." : "";
      const unmet = thoughts.new ? " It has never met this position." : "";
      parts.push(h("span", {}, what + bar + illegal + unknown + unmet));
    }
    if (this.thinks.input.checked && !agent)
      parts.push(h("span", {}, "No agent is playing: choose one to see what it thinks."));
    if (truth)
      parts.push(
        h(
          "span",
          {},
          truth.reason
            ? `The truth is not known: ${truth.reason}.`
            : `With best play from here, ${side} ${truth.position.text}.`,
        ),
      );
    this.legend.replaceChildren(...parts);
  }
}
