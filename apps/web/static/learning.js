// The switch that lets agents learn from the game.

import { h } from "./dom.js";
import { memory } from "./memory.js";
import { HUMAN, plays } from "./words.js";

const LEARNER = "runs/learner"; // learns from every game of a person, once it has its first one

export class Learning {
  constructor() {
    this.key = "learn";
    this.input = h("input", {
      type: "checkbox",
      role: "switch",
      onchange: () => memory.set(this.key, this.input.checked),
    });
    this.text = h("span", {});
    const track = h("span", { class: "track", "aria-hidden": "true" });
    this.element = h(
      "div",
      { class: "box", hidden: true },
      h("label", { class: "switch learn" }, this.input, track, this.text),
    );
  }

  /** Offer the switch if an agent can learn. Games that are only watched have one of their own. */
  show(agents, seats, board) {
    const ids = [seats.X, seats.O];
    const isWatched = !ids.includes(HUMAN);
    const learners = agents.filter(
      (agent) =>
        agent.learned !== null &&
        plays(agent, board) &&
        (ids.includes(agent.id) || (agent.id === LEARNER && agent.kind === "run" && !isWatched)),
    );
    const names = learners.map((agent) => agent.label).join(" and ");
    this.key = isWatched ? "learn-watched" : "learn";
    this.element.hidden = learners.length === 0;
    this.text.textContent = `${names} ${learners.length > 1 ? "learn" : "learns"} from this game`;
    this.input.checked = memory.get(this.key, true);
  }
}
