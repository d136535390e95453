// The replay of a game, move by move or at a chosen speed, with the verdict on every move.

import { Board } from "./board.js";
import { announce, cellName, h, icon, markIcon, memory, other, post, sideOf } from "./dom.js";
import { Insight } from "./insight.js";

/**
 * game: {board, cells, ended, result, line}. names: {X, O}, of the players. agents: {X, O}, their
 * ids, or null for a player that the server does not have. heading: the tag above the moves.
 */
export class Replay {
  constructor(game, names, agents, heading = "h2") {
    Object.assign(this, { game, names, agents });
    this.at = 0;
    this.timer = null;
    this.board = new Board(game.board);
    this.insight = new Insight(this.board, () => this.look());
    this.status = h("p", { class: "status" });
    const button = (name, label, go) =>
      h("button", { type: "button", class: "round", "aria-label": label, onclick: go }, icon(name));
    this.playButton = button("play", "Play", () => this.play(!this.timer));
    this.slider = h("input", {
      type: "range",
      min: "0",
      max: String(game.cells.length),
      step: "1",
      "aria-label": "Move",
      oninput: () => this.go(+this.slider.value),
    });
    this.speed = h(
      "select",
      {
        "aria-label": "Speed",
        onchange: () => (memory.set("pace", this.speed.value), this.timer && this.play(true)),
      },
      [
        ["2000", "slow"],
        ["1000", "normal"],
        ["400", "fast"],
      ].map(([value, text]) => h("option", { value }, text)),
    );
    this.speed.value = memory.get("pace", "1000");
    this.transport = h(
      "div",
      { class: "transport", role: "group", "aria-label": "Replay" },
      button("first", "To the beginning", () => this.go(0)),
      button("back", "Back", () => this.go(this.at - 1)),
      this.playButton,
      button("forward", "Forward", () => this.go(this.at + 1)),
      button("last", "To the end", () => this.go(game.cells.length)),
      this.speed,
    );
    this.rows = game.cells.map((cell, ply) =>
      h(
        "li",
        {},
        h(
          "button",
          { type: "button", onclick: () => this.go(ply + 1) },
          markIcon(sideOf(ply)),
          h("strong", {}, cellName(cell, game.board)),
          h("span", { class: "verdict" }),
        ),
      ),
    );
    this.point = h("p", { class: "note" });
    this.element = h(
      "div",
      { class: "play replay", onkeydown: (event) => this.key(event) },
      h(
        "section",
        { class: "stage", "aria-label": "Board" },
        this.status,
        h("div", { class: "stage-board" }, this.board.element),
        this.transport,
        this.slider,
      ),
      h(
        "section",
        { class: "panel", "aria-label": "Moves" },
        h(heading, {}, "Moves"),
        h("ol", { class: "moves" }, this.rows),
        this.point,
        h("div", { class: "box" }, this.insight.switches, this.insight.legend),
      ),
    );
    this.go(0, true);
    this.judge();
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("select, input"))
      return;
    const place = {
      ArrowLeft: this.at - 1,
      ArrowRight: this.at + 1,
      Home: 0,
      End: this.game.cells.length,
    }[event.key];
    if (place === undefined) return;
    this.go(place);
    event.preventDefault();
  }

  /** Show the game after `at` moves. */
  go(at, quietly = false) {
    const { cells, ended, result, line } = this.game;
    this.at = Math.min(Math.max(at, 0), cells.length);
    if (this.at === cells.length) this.play(false);
    const isOver = this.at === cells.length;
    this.board.show(cells.slice(0, this.at), {
      line: isOver ? line : [],
      illegal: isOver && ended === "illegal",
    });
    this.slider.value = String(this.at);
    const side = sideOf(this.at - 1);
    const move = this.at
      ? `Move ${this.at} of ${cells.length}: ${cellName(cells[this.at - 1], this.game.board)}`
      : "The beginning";
    this.slider.setAttribute("aria-valuetext", move);
    const end = isOver ? `, ${endText(result, ended)}` : "";
    this.status.replaceChildren(...(this.at ? [markIcon(side), " "] : []), move + end);
    this.rows.forEach((row, ply) =>
      row.firstChild.setAttribute("aria-current", ply === this.at - 1 ? "step" : "false"),
    );
    if (!quietly)
      announce(
        `${this.at ? `${side}: ` : ""}${move}${end}. ${this.verdicts?.[this.at - 1]?.text ?? ""}`,
      );
    this.look();
  }

  look() {
    const mover = sideOf(this.at);
    return this.insight.update(
      this.game.board,
      this.game.cells.slice(0, this.at),
      this.at === this.game.cells.length,
      this.agents[mover] ?? this.agents[other(mover)],
    );
  }

  play(on) {
    clearInterval(this.timer);
    this.timer = null;
    if (on) {
      if (this.at === this.game.cells.length) this.go(0);
      this.timer = setInterval(() => this.go(this.at + 1), +this.speed.value);
    }
    this.playButton.replaceChildren(icon(on ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", on ? "Pause" : "Play");
  }

  /** Write beside each move what it was worth. */
  async judge() {
    const { board, cells, ended, result } = this.game;
    let judged;
    try {
      judged = await post("/api/verdicts", { board, moves: cells, ended, result });
    } catch (error) {
      this.point.textContent = error.message;
      return;
    }
    this.verdicts = judged.verdicts;
    if (!judged.verdicts) {
      this.point.textContent = `No verdicts: ${judged.reason}.`;
      return;
    }
    judged.verdicts.forEach((verdict, ply) => {
      const row = this.rows[ply];
      row.querySelector(".verdict").textContent = verdict.text;
      row.classList.add(verdict.threw_away ? "decisive" : verdict.optimal ? "right" : "wrong");
    });
    this.point.textContent = `${judged.turning_point[0].toUpperCase()}${judged.turning_point.slice(1)}.`;
  }

  leave() {
    clearInterval(this.timer);
  }
}

/** The result in words. */
export function endText(result, ended) {
  if (result === "draw") return ended === "early" ? "a draw: nobody could win any more" : "a draw";
  const why =
    { illegal: `, ${other(result)} made an illegal move`, resigned: `, ${other(result)} resigned` }[
      ended
    ] ?? "";
  return `${result} wins${why}`;
}
