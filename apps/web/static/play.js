// The page on which games are played: by people, by agents, or by both.
//
// It knows who plays on which board, and begins the games. turns.js plays them.

import { Board, numberKeys } from "./board.js";
import { Controls } from "./controls.js";
import * as data from "./data.js";
import { announce, fill, html, showAddress } from "./dom.js";
import { Game, putAside } from "./game.js";
import { Learning } from "./learning.js";
import { memory, session } from "./memory.js";
import { Numbers } from "./numbers.js";
import { Phones } from "./phones.js";
import { Players } from "./players.js";
import { Scoreboard, Seats } from "./seats.js";
import { Status, linkish } from "./status.js";
import { Turns } from "./turns.js";
import { EASY, HUMAN, SIDES, boardKey, boardName, gamePath, plays, sentences } from "./words.js";

export const playPage = async (_, parameters, signal) =>
  new Play(await data.agents(signal), parameters);

/** The cells of "4,0,8". */
const cellsOf = (text) => (text ?? "").split(",").filter((one) => /^\d{1,2}$/.test(one)).map(Number);

class Play {
  constructor(found, parameters) {
    this.title = "Play";
    this.found = found;
    this.boards = found.boards;
    this.players = new Players(found.agents);
    this.hasTried = false; // true once one has lost to these players, or asked for a hint
    this.onKey = (event) => this.key(event);
    document.addEventListener("keydown", this.onKey);
    this.build(found);
    this.open(parameters);
  }

  // --- the page ----------------------------------------------------------------------------------

  build(found) {
    this.score = new Scoreboard();
    this.status = new Status(() => this.wayBack());
    this.stage = html`<div class="stage-board"></div>`;
    this.controls = new Controls({
      again: () => this.again(),
      undo: () => this.turns.undo(),
      hint: () => this.turns.hint(),
      resign: () => this.turns.resign(),
      pause: () => this.turns.pause(),
      step: () => this.turns.move(),
      link: () => this.link(),
      endless: (isOn) => isOn && this.game.isOver && this.again(),
    });
    this.view = html`<div></div>`;
    this.learning = new Learning();
    this.phones = new Phones(() => this.address({}), found.shared);
    this.seating = new Seats(found, {
      seat: (side, id) => this.chooseSeat(side, id),
      board: (key) => this.chooseBoard(key),
      swap: () => this.swap(),
    });
    this.element = html`
      <div class="play">
        <h1 class="hidden" tabindex="-1">Play</h1>
        <section class="stage" aria-label="Game">
          ${this.score.element}${this.status.line}${this.status.note}${this.stage}
          ${this.controls.element}
        </section>
        <section class="panel" aria-label="Settings">
          ${this.seating.element}${this.view}${this.learning.element}${this.phones.element}
        </section>
      </div>`;
  }

  /** The number keys mark a cell while no element has the focus. */
  key(event) {
    const hasNoFocus = [document.body, document.getElementById("main")].includes(document.activeElement);
    if (hasNoFocus && /^[1-9]$/.test(event.key)) this.board.key(event);
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
    this.turns.stop();
  }

  // --- the game of an address --------------------------------------------------------------------

  /**
   * Begin the game that an address names, or go on with the one under way. What the address leaves
   * out is as in the last game; at first a person plays against one that is easy to beat.
   */
  open(parameters) {
    const before = session.get("game", null);
    const first = { seats: { X: HUMAN, O: EASY }, board: boardKey(this.boards[0]) };
    const last = before ?? memory.get("players", first);
    const text = parameters.get("board") ?? (parameters.size ? first.board : last.board);
    const key = text === "3x3" ? "3x3x3" : text;
    const guide = cellsOf(parameters.get("line"));
    const seats = {
      X: parameters.get("x") ?? last.seats.X,
      O: parameters.get("o") ?? last.seats.O,
    };
    const isSame =
      before &&
      !parameters.has("moves") &&
      key === before.board &&
      SIDES.every((side) => seats[side] === before.seats[side]) &&
      (parameters.size === 0 || guide.join() === before.guide.join());
    if (isSame) return this.restore(before);
    if (before) putAside(before);
    this.players.seats = seats;
    const texts = this.players.replaceUnknown();
    const board = this.boardOf(key);
    if (!board) texts.push(`There is no board “${text}” here. Choose one from the list.`);
    const named = SIDES.filter((side) => parameters.has(side.toLowerCase()));
    texts.push(...this.setBoard(board ?? this.boards[0], named));
    const moves = board ? cellsOf(parameters.get("moves")) : [];
    this.begin({ moves, guide }, texts);
  }

  /** Go on with a game that was saved. */
  restore(saved) {
    this.players.seats = { ...saved.seats };
    this.setBoard(this.boardOf(saved.board) ?? this.boards[0], SIDES);
    this.begin(saved);
  }

  /** A button for the game that was left, or nothing. */
  wayBack() {
    const saved = session.get("left", null);
    const back = () => {
      session.set("left", null);
      this.game.leave();
      this.restore(saved);
    };
    return saved && !this.game.isOver && linkish("Back to the game you left", back);
  }

  /** The whole address of a game of these players on this board. more: its other parameters. */
  address(more) {
    return new URL(data.addressOf(gamePath(this.players.seats, this.rules, more)), location.href).href;
  }

  /** Copy an address that opens this position with these players. */
  async link() {
    const href = this.address({ moves: this.game.moves.join(",") });
    try {
      await navigator.clipboard.writeText(href);
      this.status.tell("Link copied.");
      announce("Link copied.");
    } catch {
      this.status.tell("Copy this link: ", html`<code>${href}</code>`);
    }
  }

  // --- settings ----------------------------------------------------------------------------------

  boardOf(key) {
    return this.boards.find((board) => boardKey(board) === key);
  }

  /** Play on a board. kept: see `Players`. Sentences on the agents that had to be replaced. */
  setBoard(rules, kept = []) {
    this.rules = rules;
    const at = this.boards.indexOf(rules);
    const { easy, unknown } = this.found;
    const texts = this.players.fit(rules, easy[at], kept);
    this.board = new Board(rules, (cell) => this.turns.choose(cell));
    this.element.style.setProperty("--rows", rules.rows);
    this.element.style.setProperty("--cols", rules.cols);
    const digits = numberKeys(rules) ? `, or 1 to ${numberKeys(rules)}` : "";
    const keys = `Keyboard: arrows and Enter on the board${digits}.`;
    this.numbers = new Numbers(this.board, () => this.turns.look(), keys);
    this.numbers.withoutTruth(
      unknown[at] && sentences("The truth is not known here, and a hint looks two moves ahead", unknown[at]),
    );
    fill(this.stage, this.board.element, this.numbers.caption);
    fill(this.view, this.numbers.element);
    return texts;
  }

  chooseBoard(key) {
    this.game.leave();
    this.fresh(this.setBoard(this.boardOf(key)));
  }

  /** An agent of another board brings its board with it. */
  chooseSeat(side, id) {
    this.game.leave();
    const texts = this.players.choose(side, id);
    const agent = this.players.find(id);
    if (agent && !plays(agent, this.rules)) {
      const board = this.boards.find((one) => plays(agent, one)) ?? this.boards[0];
      texts.push(`${agent.label} plays on ${boardName(board)}: the board has been changed.`);
      texts.push(...this.setBoard(board));
    }
    this.fresh(texts);
  }

  swap() {
    this.game.leave();
    this.players.swap();
    this.fresh([]);
  }

  /** Show the players as they are now, after some of them have learned. */
  async refresh() {
    const { agents } = await data.agents();
    this.players.agents = this.seating.agents = agents;
    this.showPlayers();
  }

  showPlayers() {
    this.seating.show(this.players.seats, this.rules);
    this.learning.show(this.players, this.rules);
  }

  // --- games -------------------------------------------------------------------------------------

  /** Begin a game of other players or on another board: the losing line of the address is dropped. */
  fresh(texts) {
    this.hasTried = false;
    this.begin({}, texts);
  }

  /** Begin another game of these players. start: what else it begins with. */
  again(start = {}) {
    this.game.leave();
    this.begin({ guide: this.game.guide, ...start });
    if (!this.players.areWatched) this.board.focus();
  }

  /** start: moves and guide of a game, or one that was saved. texts: sentences for the note. */
  begin(start, texts = []) {
    this.turns?.stop();
    this.game = new Game(this.rules, this.players, start);
    this.numbers.follow(this.game.shown);
    this.turns = new Turns(this.game, texts, this);
    this.showPlayers();
    this.phones.show();
    const { seats } = this.players;
    memory.set("players", { seats, board: boardKey(this.rules) });
    const line = this.game.guide.length ? { line: this.game.guide.join(",") } : {};
    showAddress(gamePath(seats, this.rules, line));
    this.turns.proceed();
  }
}
