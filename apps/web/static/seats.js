// Who plays X and O, and on which board: the choices beside the game, and the score above it.

import { fill, html, icon, markIcon } from "./dom.js";
import { session } from "./memory.js";
import {
  FIRST,
  HUMAN,
  MORE,
  SIDES,
  agentPath,
  boardKey,
  boardName,
  learnedText,
  oneSided,
  otherMoves,
  plays,
  plural,
  sentences,
  whereIt,
} from "./words.js";

/** The choices. on: {seat(side, id), board(key), swap()}, called when a person chooses. */
export class Seats {
  constructor({ agents, boards, groups }, on) {
    Object.assign(this, { agents, groups, on, hasMore: false });
    this.rows = Object.fromEntries(SIDES.map((side) => [side, this.makeSeat(side)]));
    this.boardChoice = html`
      <select id="board" @change=${(event) => on.board(event.target.value)}>
        ${boards.map((board) => html`<option value=${boardKey(board)}>${boardName(board)}</option>`)}
      </select>`;
    this.element = html`
      <div class="box seats">
        <div class="seats-head">
          <h2>Players</h2>
          <button type="button" class="quiet" aria-label="Swap sides" @click=${on.swap}>${icon("swap")}Swap</button>
        </div>
        ${this.rows.X.element}${this.rows.O.element}
        <div class="field"><label for="board">Board</label>${this.boardChoice}</div>
      </div>`;
  }

  makeSeat(side) {
    const id = `seat-${side}`;
    const select = html`
      <select id=${id} aria-describedby=${`${id}-about`} @change=${() => this.choose(side)}></select>`;
    const about = html`<p class="about" id=${`${id}-about`}></p>`;
    const element = html`
      <div class="seat">
        <label for=${id}>${markIcon(side, true)}<span class="hidden">${side} is played by</span></label>
        ${select}${about}
      </div>`;
    return { select, about, element };
  }

  choose(side) {
    const { select } = this.rows[side];
    if (select.value !== MORE) return this.on.seat(side, select.value);
    this.hasMore = true;
    this.show(this.seats, this.board);
    fill(this.rows[side].about, "All players are in the list now.");
    try {
      select.showPicker();
    } catch {
      // the list opens at a click only
    }
  }

  /** Offer the agents, and show who plays. seats: {X, O}, ids. */
  show(seats, board) {
    Object.assign(this, { seats, board });
    this.boardChoice.value = boardKey(board);
    for (const [side, { select, about }] of Object.entries(this.rows)) {
      const agent = this.agents.find(({ id }) => id === seats[side]);
      const option = (one) => {
        const there = plays(one, board) ? "" : ` – on ${whereIt(one)}`;
        const text = one.label + (one.side ? `, ${oneSided(one)}` : "") + there;
        return html`<option value=${one.id} selected=${one === agent}>${text}</option>`;
      };
      const isShown = (one) =>
        this.hasMore || one === agent || one.group === "run" || (FIRST.includes(one.id) && plays(one, board));
      const group = ({ id, heading }) => {
        const members = this.agents.filter((one) => one.group === id && !one.broken && isShown(one));
        return members.length > 0 && html`<optgroup label=${heading}>${members.map(option)}</optgroup>`;
      };
      const more = !this.hasMore && html`<option value=${MORE}>More players …</option>`;
      fill(select, html`<option value=${HUMAN}>You</option>`, this.groups.map(group), more);
      select.title = select.selectedOptions[0].text; // it may be too long for the box
      fill(about, agent && this.about(agent, side));
    }
  }

  /** A sentence about an agent, and the way to its page. */
  about(agent, side) {
    const isUntrained = agent.side && agent.side !== side;
    const strength = agent.unbeatable ? "unbeatable" : "can be beaten";
    const text = sentences(
      agent.unbeatable === null ? agent.description : strength,
      isUntrained && `It was ${oneSided(agent)}: as ${side} it makes ${otherMoves(agent)}`,
      learnedText(agent),
    );
    const more = agent.unbeatable === null ? "More about it" : "See the proof";
    return [
      html`<span class=${isUntrained && "untrained"}>${text}</span>`,
      " ",
      html`<a class="whole" href=${agentPath(agent.id)} data-title=${agent.label}>${more}</a>`,
    ];
  }
}

/** Who plays, who is to move, and the score of these two since the tab was opened. */
export class Scoreboard {
  element = html`<div class="score" role="group" aria-label="Score"></div>`;

  /** seats: {X, O}, the ids. names: {X, O}. turn: the side to move, or null. */
  show(seats, names, turn) {
    const { wins, draws } = scoreOf(seats);
    const [x, o] = SIDES.map((side) => {
      const won = wins[keyOf(seats, side)] ?? 0;
      return html`
        <div class=${`side ${side.toLowerCase()}${side === turn ? " turn" : ""}`}>
          ${markIcon(side, true)}<span class="name" title=${names[side]}>${names[side]}</span>
          <span class="points">${String(won)}<span class="hidden"> ${won === 1 ? "win" : "wins"}</span></span>
        </div>`;
    });
    fill(this.element, x, html`<span class="drawn">${draws ? plural(draws, "draw") : "–"}</span>`, o);
  }

  /** Count a finished game. result: "X", "O" or "draw". */
  count(seats, result) {
    const score = scoreOf(seats);
    const key = keyOf(seats, result);
    if (result === "draw") score.draws += 1;
    else score.wins[key] = (score.wins[key] ?? 0) + 1;
    session.set("score", { ...session.get("score", {}), [pairOf(seats)]: score });
  }
}

// Points belong to players, not to sides: they stay with them when the sides are swapped.
const keyOf = (seats, side) => (seats.X === seats.O ? side : seats[side]);
const pairOf = (seats) => [seats.X, seats.O].sort().join(" ");
const scoreOf = (seats) => session.get("score", {})[pairOf(seats)] ?? { wins: {}, draws: 0 };
