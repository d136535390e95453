// The switch that lets players learn from a game. It is shown if one can.

import { fill, html } from "./dom.js";
import { memory } from "./memory.js";
import { switchOf } from "./numbers.js";
import { plays } from "./words.js";

const LEARNER = "runs/learner"; // learns from every game of a person, once it has its first one

export class Learning {
  element = html`<div class="box" hidden></div>`;

  /** players: see `Players`. rules: the board that they play on. */
  show(players, rules) {
    const ids = Object.values(players.seats);
    const looksOn = ({ id, kind }) => id === LEARNER && kind === "run" && !players.areWatched;
    const isLearner = (agent) =>
      agent.learned !== null && (ids.includes(agent.id) || looksOn(agent)) && plays(agent, rules);
    const learners = players.agents.filter(isLearner);
    const names = learners.map((agent) => agent.label).join(" and ");
    const watches = learners.some(({ id }) => ids.includes(id)) ? "" : "looks on, and ";
    const text = `${names} ${watches}${learners.length > 1 ? "learn" : "learns"} from this game`;
    const set = (isOn) => {
      memory.set("learn", isOn);
      this.isOn = isOn;
    };
    this.isOn = memory.get("learn", true);
    this.element.hidden = learners.length === 0;
    fill(this.element, switchOf(text, this.isOn, set));
  }
}
