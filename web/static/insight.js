// The switches "what it thinks" and "the truth", what they write on a board, and the sentence below that explains it.

import { h, memory, post, sideOf } from "./dom.js";

const SLOW = "Working it out … A board of 4 × 4 is solved the first time, which takes some seconds.";

/** board: a Board. changed(): called when a switch is turned. */
export class Insight {
  constructor(board, changed) {
    this.board = board;
    this.changed = changed;
    this.turn = 0;
    this.thinks = this.makeSwitch("thinks", "What it thinks");
    this.truth = this.makeSwitch("truth", "The truth");
    this.switches = h("div", { class: "switches" }, this.thinks.label, this.truth.label);
    this.legend = h("p", { class: "legend" });
  }

  makeSwitch(name, text) {
    const input = h("input", {
      type: "checkbox",
      role: "switch",
      checked: memory.get(name, false),
      onchange: () => {
        memory.set(name, input.checked);
        this.changed();
      },
    });
    return { input, label: h("label", { class: "switch" }, input, h("span", { class: "track", "aria-hidden": "true" }), text) };
  }

  /** Write on the board what the agent (an id, or null) thinks after these moves, and the truth, as far as the switches are on. */
  async update(board, moves, isOver, agent) {
    const turn = ++this.turn;
    const [thinks, truth] = [this.thinks.input.checked, this.truth.input.checked];
    if (isOver || !(thinks || truth)) {
      this.board.tell(null);
      this.legend.replaceChildren(...(thinks && !isOver && !agent ? ["Nobody here thinks aloud: choose an agent."] : []));
      return;
    }
    const patience = setTimeout(() => turn === this.turn && this.legend.replaceChildren(SLOW), 600);
    try {
      const found = await post("/api/analysis", { board, moves, ...(thinks && agent ? { agent } : {}), truth });
      if (turn === this.turn) this.write(found, agent, sideOf(moves.length), thinks && !agent);
    } catch (error) {
      if (turn === this.turn) {
        this.board.tell(null);
        this.legend.replaceChildren(error.message);
      }
    } finally {
      clearTimeout(patience);
    }
  }

  /** Forget what was asked; the board keeps no notes. */
  clear() {
    this.turn += 1;
    this.board.tell(null);
    this.legend.replaceChildren();
  }

  write({ thoughts, truth }, agent, side, nobody) {
    const count = this.board.cells.length;
    this.board.tell(
      Array.from({ length: count }, (_, cell) => ({
        value: thoughts?.values?.[cell] ?? undefined,
        probability: thoughts?.probs?.[cell] ?? undefined,
        truth: truth?.moves?.[cell] ?? undefined,
      })),
    );
    const parts = [];
    if (thoughts) {
      const bar = thoughts.values ? " The bar below a number is how likely it plays there." : "";
      const illegal = thoughts.illegal > 0.0005 ? ` It would make an illegal move with probability ${thoughts.illegal.toFixed(3)}.` : "";
      const what = thoughts.values ? `${agent}, for ${side}: ${thoughts.meaning}.` : `${agent}, for ${side}: how likely it plays there.`;
      const unmet = thoughts.new ? " It has never met this position." : "";
      parts.push(h("span", {}, what + bar + illegal + unmet));
    }
    if (nobody) parts.push(h("span", {}, "Nobody here thinks aloud: choose an agent."));
    if (truth) parts.push(h("span", {}, truth.reason ? `The truth is not known: ${truth.reason}.` : `With best play from here, ${side} ${truth.position.text}.`));
    this.legend.replaceChildren(...parts);
  }
}
