// Who plays X and who plays O: people and agents.

import { other } from "./rules.js";
import { EASY, HUMAN, PERFECT, SIDES, oneSided, plays } from "./words.js";

// Who plays for an agent that does not play on a board; for the easy one, another easy one.
const SUBSTITUTES = [PERFECT, "search-depth=4"];
const EASY_SUBSTITUTES = ["search-depth=1"];

export class Players {
  /** agents: all that can be chosen. seats: {X, O}, the ids of those who play. */
  constructor(agents) {
    this.agents = agents;
    this.seats = { X: HUMAN, O: EASY };
  }

  find(id) {
    return this.agents.find((agent) => agent.id === id);
  }

  agentOf(side) {
    return this.find(this.seats[side]);
  }

  isHuman(side) {
    return this.seats[side] === HUMAN;
  }

  /** The sides of people. */
  get people() {
    return SIDES.filter((side) => this.isHuman(side));
  }

  /** True if only agents play. */
  get areWatched() {
    return this.people.length === 0;
  }

  /** The side of the one person who plays, else null. */
  get you() {
    return this.people.length === 1 ? this.people[0] : null;
  }

  /** The agent against which one person plays, if it is so. */
  get opponent() {
    return this.you && this.agentOf(other(this.you));
  }

  nameOf(side) {
    if (this.isHuman(side)) return this.you ? "You" : side;
    return this.agentOf(side)?.label ?? this.seats[side];
  }

  swap() {
    this.seats = { X: this.seats.O, O: this.seats.X };
  }

  /**
   * Seat a player. An agent that was trained for one side takes that side from a person. Returns
   * sentences about it.
   */
  choose(side, id) {
    const agent = this.find(id);
    if (agent?.side === other(side) && this.isHuman(agent.side)) {
      this.seats = { [agent.side]: id, [side]: HUMAN };
      return [`${agent.label} was ${oneSided(agent)}, so you play ${side}.`];
    }
    this.seats[side] = id;
    return [];
  }

  /** Have perfect play take the place of players that are not here. Returns sentences about them. */
  replaceUnknown() {
    const texts = [];
    for (const side of SIDES) {
      if (this.isHuman(side) || this.agentOf(side)) continue;
      texts.push(`There is no player “${this.seats[side]}” here: perfect play takes its place.`);
      this.seats[side] = PERFECT;
    }
    return texts;
  }

  /** Replace agents that do not play on a board. Returns sentences about them. */
  fit(rules) {
    const texts = [];
    for (const side of SIDES) {
      const agent = this.agentOf(side);
      if (this.isHuman(side) || (agent && plays(agent, rules))) continue;
      texts.push(`${this.nameOf(side)} does not play on this board.`);
      const isThere = (id) => this.agents.some((one) => one.id === id && plays(one, rules));
      const substitutes = this.seats[side] === EASY ? EASY_SUBSTITUTES : SUBSTITUTES;
      this.seats[side] = substitutes.find(isThere) ?? HUMAN;
    }
    return texts;
  }
}
