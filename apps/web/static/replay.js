// The replay of a game, move by move or at a chosen speed, with the verdict on every move. It
// opens at the move that decided the game, else at the end.

import { Board } from "./board.js";
import { announce, h, icon, markIcon } from "./dom.js";
import { memory } from "./memory.js";
import { Numbers } from "./numbers.js";
import { post } from "./server.js";
import { toneOf, turningText, verdictText } from "./verdict.js";
import { cellName, endText, other, sideOf } from "./words.js";

/**
 * game: {board, cells, ended, result, line}. agents: {X, O}, each {id, label}, or null for a
 * player that the server does not have. heading: the tag above the moves. head: elements above
 * the replay. hasKeys: whether the arrows, Home and End work on the whole page. isNamed: as of
 * Numbers.
 */
export class Replay {
  constructor(game, agents, { heading = "h2", head = [], hasKeys = false, isNamed = true } = {}) {
    Object.assign(this, { game, agents });
    this.at = 0;
    this.timer = null;
    this.isTouched = false; // whether somebody has gone to a move
    this.board = new Board(game.board);
    this.numbers = new Numbers(this.board, () => this.look(), isNamed);
    this.status = h("p", { class: "status" });
    this.build(heading, head);
    this.onKey = (event) => this.key(event);
    if (hasKeys) document.addEventListener("keydown", this.onKey);
    else this.element.addEventListener("keydown", this.onKey);
    this.go(game.cells.length, true);
    this.judge();
  }

  build(heading, head) {
    const { cells, board } = this.game;
    this.rows = cells.map((cell, ply) =>
      h(
        "li",
        {},
        h(
          "button",
          { type: "button", onclick: () => this.visit(ply + 1) },
          markIcon(sideOf(ply)),
          h("strong", {}, cellName(cell, board)),
          h("span", { class: "verdict" }),
        ),
      ),
    );
    this.list = h("ol", { class: "moves" }, this.rows);
    new ResizeObserver(() => this.showRow()).observe(this.list);
    this.point = h("p", { class: "point" });
    this.element = h(
      "div",
      { class: "play replay" },
      h(
        "section",
        { class: "stage", "aria-label": "Board" },
        head.length > 0 && h("div", { class: "head" }, head),
        this.status,
        h("div", { class: "stage-board" }, this.board.element),
        this.makeTransport(),
      ),
      h(
        "section",
        { class: "panel", "aria-label": "Moves" },
        this.point,
        h(heading, {}, "Moves"),
        this.list,
        h("div", { class: "box view" }, this.numbers.element, this.numbers.legend),
      ),
    );
    this.element.style.setProperty("--rows", board.rows);
    this.element.style.setProperty("--cols", board.cols);
  }

  makeTransport() {
    const button = (name, label, go) =>
      h(
        "button",
        { type: "button", class: "round", "aria-label": label, title: label, onclick: go },
        icon(name),
      );
    this.playButton = button("play", "Play", () => this.play(!this.timer));
    this.slider = h("input", {
      type: "range",
      min: "0",
      max: String(this.game.cells.length),
      step: "1",
      "aria-label": "Move",
      oninput: () => this.visit(+this.slider.value),
    });
    this.speed = h(
      "select",
      {
        "aria-label": "Speed",
        onchange: () => (memory.set("pace", this.speed.value), this.timer && this.play(true)),
      },
      [
        ["2000", "0.5×"],
        ["1000", "1×"],
        ["500", "2×"],
      ].map(([value, text]) => h("option", { value }, text)),
    );
    this.speed.value = memory.get("pace", "1000");
    if (!this.speed.value) this.speed.value = "1000"; // what is remembered is no choice any more
    return h(
      "div",
      { class: "transport", role: "group", "aria-label": "Replay" },
      button("first", "To the beginning", () => this.visit(0)),
      button("back", "Back", () => this.visit(this.at - 1)),
      this.playButton,
      button("forward", "Forward", () => this.visit(this.at + 1)),
      button("last", "To the end", () => this.visit(this.game.cells.length)),
      this.speed,
      this.slider,
    );
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
    this.visit(place);
    event.preventDefault();
  }

  /** Go to a move because somebody has asked for it. */
  visit(at) {
    this.isTouched = true;
    this.go(at);
  }

  /** Show the game after `at` moves. */
  go(at, isQuiet = false) {
    const { cells, ended, result, line, board } = this.game;
    this.at = Math.min(Math.max(at, 0), cells.length);
    if (this.at === cells.length) this.play(false);
    const isOver = this.at === cells.length;
    this.board.show(cells.slice(0, this.at), {
      line: isOver ? line : [],
      illegal: isOver && ended === "illegal",
      blunder: this.decisive,
    });
    this.slider.value = String(this.at);
    const side = sideOf(this.at - 1);
    const move = this.at
      ? `Move ${this.at} of ${cells.length}: ${cellName(cells[this.at - 1], board)}`
      : "The beginning";
    this.slider.setAttribute("aria-valuetext", move);
    const end = isOver ? `, ${endText(result, ended)}` : "";
    this.status.replaceChildren(...(this.at ? [markIcon(side), " "] : []), move + end);
    this.rows.forEach((row, ply) =>
      row.firstChild.setAttribute("aria-current", ply === this.at - 1 ? "step" : "false"),
    );
    this.showRow();
    const verdict = this.verdicts && this.at ? this.verdictOf(this.at - 1) : "";
    if (!isQuiet) announce(`${this.at ? `${side}: ` : ""}${move}${end}. ${verdict}`);
    this.look();
  }

  /** Have the list show the last move; the page itself stays where it is. */
  showRow() {
    const { list } = this;
    const row = this.rows[Math.max(this.at - 1, 0)];
    if (!row) return;
    const above = row.offsetTop - list.offsetTop;
    const below = above + row.offsetHeight - list.clientHeight;
    list.scrollTop = Math.min(Math.max(list.scrollTop, below), above);
  }

  look() {
    const mover = sideOf(this.at);
    const { board, cells } = this.game;
    const agent = this.agents[mover] ?? this.agents[other(mover)];
    this.numbers.isInstead = !this.agents[mover];
    this.numbers.offer(agent, null);
    return this.numbers.update(board, cells.slice(0, this.at), this.at === cells.length, agent);
  }

  play(on) {
    clearInterval(this.timer);
    this.timer = null;
    if (on) {
      if (this.at === this.game.cells.length) this.visit(0);
      this.timer = setInterval(() => this.visit(this.at + 1), +this.speed.value);
    }
    this.playButton.replaceChildren(icon(on ? "pause" : "play"));
    this.playButton.title = on ? "Pause" : "Play";
    this.playButton.setAttribute("aria-label", this.playButton.title);
  }

  /** Write beside each move what it was worth, and go to the one that decided the game. */
  async judge() {
    const { board, cells, ended, result } = this.game;
    let judged;
    try {
      judged = await post("/api/verdicts", { board, moves: cells, ended, result });
    } catch (error) {
      this.point.textContent = error.message;
      return;
    }
    if (!judged.verdicts) {
      this.point.textContent = "This board is too large to say what each move was worth.";
      return;
    }
    this.verdicts = judged.verdicts;
    judged.verdicts.forEach((verdict, ply) => {
      const row = this.rows[ply];
      row
        .querySelector(".verdict")
        .replaceChildren(
          this.verdictOf(ply),
          ...(verdict.threw_away ? [h("span", { class: "why" }, "This decided the game.")] : []),
        );
      row.classList.add(verdict.threw_away ? "decisive" : verdict.optimal ? "right" : "wrong");
    });
    const game = { board, moves: cells, ended, result };
    this.point.textContent = turningText(judged, game, null);
    this.point.className = `point ${toneOf(judged, null)}`;
    this.decisive = judged.decisive?.ply;
    this.go(this.isTouched || !judged.decisive ? this.at : judged.decisive.ply + 1, true);
  }

  /** What the move of this ply was worth, in words. */
  verdictOf(ply) {
    const isLast = ply === this.game.cells.length - 1;
    return verdictText(this.verdicts[ply], this.game.ended === "illegal" && isLast);
  }

  leave() {
    clearInterval(this.timer);
    document.removeEventListener("keydown", this.onKey);
  }
}
