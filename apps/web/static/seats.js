// Who plays X and O, and on which board: the choices beside the game.

import { button, h, icon, markIcon } from "./dom.js";
import {
  EASY,
  GROUPS,
  HUMAN,
  PERFECT,
  aboutText,
  agentPath,
  boardKey,
  boardName,
  capital,
  learnedText,
  oneSided,
  plays,
  strengthText,
} from "./words.js";

const SWAP = "Swap sides";

/** on: {seat(side, id), board(key), swap()}, called when a person chooses. */
export class Seats {
  constructor(boards, on) {
    this.on = on;
    this.rows = { X: makeSeat("X", on), O: makeSeat("O", on) };
    this.boardChoice = h(
      "select",
      { id: "board", onchange: (event) => on.board(event.target.value) },
      boards.map((board) => h("option", { value: boardKey(board) }, boardName(board))),
    );
    const attributes = { class: "swap", title: SWAP, "aria-label": SWAP };
    const swap = button([icon("swap"), h("span", { class: "word" }, "Swap")], on.swap, attributes);
    this.element = h(
      "div",
      { class: "box seats" },
      this.rows.X.element,
      swap,
      this.rows.O.element,
      h("div", { class: "field" }, h("label", { for: "board" }, "Board"), this.boardChoice),
    );
  }

  /** Offer one more board. */
  offer(board) {
    this.boardChoice.append(h("option", { value: boardKey(board) }, boardName(board)));
  }

  /** Offer the agents, and show who plays. seats: {X, O}, ids. */
  show(agents, seats, board) {
    this.boardChoice.value = boardKey(board);
    for (const [side, { select, about }] of Object.entries(this.rows)) {
      const options = GROUPS.map(([group, label]) => {
        const members = agents.filter((agent) => agent.group === group && !agent.broken);
        return members.length > 0 && h("optgroup", { label }, members.map(optionOf(board)));
      });
      select.replaceChildren(h("option", { value: HUMAN }, "You"), ...options.filter(Boolean));
      const agent = agents.find(({ id }) => id === seats[side]);
      if (agent && ![...select.options].some(({ value }) => value === agent.id))
        select.append(optionOf(board)(agent));
      select.value = seats[side];
      select.title = select.selectedOptions[0].text; // it may be too long for the box
      about.replaceChildren(...(agent ? this.about(agent, side, agents, board) : []));
    }
  }

  /** What an agent is, and of the easy one the way to perfect play. */
  about(agent, side, agents, board) {
    const what = agent.kind === "agent" ? aboutText(agent) : capital(strengthText(agent));
    const isUntrained = agent.side && agent.side !== side;
    const sentence = [
      what,
      isUntrained && `It was ${oneSided(agent)}: as ${side} it makes untrained moves`,
      learnedText(agent),
    ];
    const perfect = agents.find(({ id }) => id === PERFECT);
    const harder =
      agent.id === EASY &&
      perfect &&
      plays(perfect, board) &&
      button("Try perfect play", () => this.on.seat(side, PERFECT), { class: "linkish" });
    const attributes = { class: "whole", href: agentPath(agent.id), "data-title": agent.label };
    const proven = h("a", attributes, "what is proven");
    const parts = [sentence.filter(Boolean).join(". "), " · ", harder || proven];
    return isUntrained ? [h("span", { class: "untrained" }, parts[0]), ...parts.slice(1)] : parts;
  }
}

/** An agent of another board can be chosen too: its board is named, and comes with it. */
const optionOf = (board) => (agent) => {
  const there = plays(agent, board) ? "" : ` – on ${boardWord(agent)}`;
  const only = agent.side ? `, ${oneSided(agent)}` : "";
  return h("option", { value: agent.id }, agent.label + only + there);
};

const boardWord = (agent) =>
  agent.board ? boardName(agent.board) : "smaller boards";

function makeSeat(side, on) {
  const id = `seat-${side.toLowerCase()}`;
  const select = h("select", {
    id,
    "aria-describedby": `${id}-about`,
    onchange: (event) => on.seat(side, event.target.value),
  });
  const about = h("p", { class: "about", id: `${id}-about` });
  const label = h(
    "label",
    { for: id },
    markIcon(side, true),
    h("span", { class: "hidden" }, `${side} is played by`),
  );
  return { select, about, element: h("div", { class: "seat" }, label, select, about) };
}
