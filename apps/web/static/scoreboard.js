// Who plays, who is to move, and the score of these two since the tab was opened.

import { h, markIcon } from "./dom.js";
import { session } from "./memory.js";
import { plural } from "./words.js";

const SIDES = ["X", "O"];

export class Scoreboard {
  constructor() {
    this.parts = Object.fromEntries(
      SIDES.map((side) => {
        const name = h("span", { class: "name" });
        const points = h("span", { class: "points" });
        const mark = markIcon(side, true);
        const element = h("div", { class: `side ${side.toLowerCase()}` }, mark, name, points);
        return [side, { name, points, element }];
      }),
    );
    this.draws = h("span", { class: "drawn" });
    this.element = h(
      "div",
      { class: "score", role: "group", "aria-label": "Score" },
      this.parts.X.element,
      this.draws,
      this.parts.O.element,
    );
  }

  /** seats: {X, O}, the ids. names: {X, O}. */
  show(seats, names, turn) {
    const { wins, draws } = scoreOf(seats);
    for (const side of SIDES) {
      const { name, points, element } = this.parts[side];
      name.textContent = names[side];
      name.title = names[side];
      const won = wins[keyOf(seats, side)] ?? 0;
      points.replaceChildren(
        String(won),
        h("span", { class: "hidden" }, won === 1 ? " win" : " wins"),
      );
      element.classList.toggle("turn", side === turn);
    }
    this.draws.textContent = draws ? plural(draws, "draw") : "–";
  }

  /** Count a finished game. result: "X", "O" or "draw". */
  count(seats, result) {
    const score = scoreOf(seats);
    if (result === "draw") score.draws += 1;
    else {
      const key = keyOf(seats, result);
      score.wins[key] = (score.wins[key] ?? 0) + 1;
    }
    const all = session.get("score", {});
    session.set("score", { ...all, [pairOf(seats)]: score });
  }
}

// Points belong to players, not to sides: they stay with them when the sides are swapped.
const keyOf = (seats, side) => (seats.X === seats.O ? side : seats[side]);
const pairOf = (seats) => [seats.X, seats.O].sort().join(" ");
const scoreOf = (seats) => session.get("score", {})[pairOf(seats)] ?? { wins: {}, draws: 0 };
