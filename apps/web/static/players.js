// Who plays X and who plays O: people and agents.

import { other } from "./rules.js";
import { EASY, HUMAN, PERFECT, SIDES, oneSided, plays } from "./words.js";

// Who plays for an agent that does not play on a board.
const SUBSTITUTES = [PERFECT, "search-depth=4"];

export class Players {
  /** agents: all that can be chosen. seats: {X, O}, the ids of those who play. */
  constructor(agents) {
    this.agents = agents;
    this.seats = { X: HUMAN, O: EASY };
    this.easy = EASY; // of the board that was played last
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

  /**
   * Replace agents that do not play on a board, and the easy one by the one that is easy there, unless
   * its side is in `kept` and it plays there. Returns sentences about them.
   */
  fit(rules, easy, kept) {
    const texts = [];
    for (const side of SIDES) {
      const agent = this.agentOf(side);
      const isEasy = agent?.id === this.easy;
      const mayStay = !isEasy || easy === this.easy || kept.includes(side);
      if (this.isHuman(side) || (agent && plays(agent, rules) && mayStay)) continue;
      const before = this.nameOf(side);
      const isThere = (id) => this.agents.some((one) => one.id === id && plays(one, rules));
      this.seats[side] = (isEasy ? [easy] : SUBSTITUTES).find(isThere) ?? HUMAN;
      const text = isEasy ? `${this.nameOf(side)} is the easy opponent here` : `${before} does not play on this board`;
      texts.push(`${text}.`);
    }
    this.easy = easy;
    return texts;
  }
}
