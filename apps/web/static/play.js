// The page on which games are played: by people, by agents, or by both.

import { Board } from "./board.js";
import { guided, invitation, lesson, provenAgainst, warning } from "./challenge.js";
import * as data from "./data.js";
import { announce, fill, html, icon, isStill, markIcon, patiently, showAddress, wait } from "./dom.js";
import { hintFor } from "./hint.js";
import { memory, session } from "./memory.js";
import { Numbers, switchOf } from "./numbers.js";
import { cellName, endText, other, sideOf, standing } from "./rules.js";
import { Scoreboard, Seats } from "./seats.js";
import { judged } from "./verdict.js";
import {
  EASY,
  HUMAN,
  PERFECT,
  SIDES,
  boardKey,
  boardName,
  capital,
  gamePath,
  inside,
  oneSided,
  plays,
} from "./words.js";

// Who plays for an agent that does not play on a board; for the easy one, another easy one.
const SUBSTITUTES = [PERFECT, "search-depth=4"];
const EASY_SUBSTITUTES = ["search-depth=1"];
const LEARNER = "runs/learner"; // learns from every game of a person, once it has its first one
const REPLY = 280; // milliseconds before an agent answers a person
const BREAK = 3_000; // milliseconds between two games that are only watched
const SEEDS = 2 ** 32;

export const playPage = async (_, parameters, signal) =>
  new Play(await data.agents(signal), parameters);

/** The cells of "4,0,8". */
const cellsOf = (text) => (text ?? "").split(",").filter((one) => /^\d{1,2}$/.test(one)).map(Number);

class Play {
  constructor(found, parameters) {
    this.title = "Play";
    this.agents = found.agents;
    this.boards = found.boards;
    this.turn = 0;
    this.standing = { turn: null };
    // The keys 1 to 9 mark a cell while no element has the focus.
    this.onKey = (event) =>
      [document.body, document.getElementById("main")].includes(document.activeElement) &&
      /^[1-9]$/.test(event.key) &&
      this.board.key(event);
    document.addEventListener("keydown", this.onKey);
    this.build(found);
    this.open(parameters);
  }

  // --- the page ----------------------------------------------------------------------------------

  build(found) {
    this.score = new Scoreboard();
    this.status = html`<p class="status"></p>`;
    this.note = html`<div class="note"></div>`;
    this.stage = html`<div class="stage-board"></div>`;
    this.controls = this.makeControls();
    this.view = html`<div></div>`;
    this.learning = html`<div class="box" hidden></div>`;
    this.seating = new Seats(found, {
      seat: (side, id) => this.chooseSeat(side, id),
      board: (key) => this.chooseBoard(key),
      swap: () => this.swap(),
    });
    this.element = html`
      <div class="play">
        <h1 class="hidden" tabindex="-1">Play</h1>
        <section class="stage" aria-label="Game">
          ${this.score.element}${this.status}${this.note}${this.stage}
          <div class="buttons main">${Object.values(this.controls)}</div>
        </section>
        <section class="panel" aria-label="Settings">
          ${this.seating.element}${this.view}${this.learning}
        </section>
      </div>`;
  }

  /** The buttons below the board, and the speed of a game that is only watched. */
  makeControls() {
    const button = (text, onclick, kind = "") =>
      html`<button type="button" class=${kind} @click=${onclick}>${text}</button>`;
    const link = button([icon("link"), html`<span class="word">Link</span>`], () => this.link(), "square-button");
    link.title = link.ariaLabel = "Copy a link to this position";
    const output = html`<output for="speed"></output>`;
    const setSpeed = (milliseconds) => {
      this.speed = milliseconds;
      memory.set("speed", milliseconds);
      fill(output, milliseconds ? `${(milliseconds / 1000).toFixed(1)}\u00a0s` : "none");
    };
    setSpeed(memory.get("speed", 700));
    const watching = html`
      <div class="watching">
        <label for="speed">Time for a move ${output}</label>
        <input type="range" id="speed" min="0" max="3000" step="100" value=${this.speed}
          @input=${(event) => setSpeed(+event.target.value)}>
        ${switchOf("Game after game", false, (isOn) => this.endless(isOn))}
      </div>`;
    return {
      again: button("New game", () => this.again(), "primary"),
      undo: button("Undo", () => this.undo()),
      hint: button("Hint", () => this.hint()),
      resign: button("Resign", () => this.resign()),
      pause: button("Pause", () => this.pause()),
      step: button("Step", () => this.move()),
      link,
      watching,
    };
  }

  agentOf(side) {
    return this.agents.find((agent) => agent.id === this.seats[side]);
  }

  isHuman(side) {
    return this.seats[side] === HUMAN;
  }

  get people() {
    return SIDES.filter((side) => this.isHuman(side));
  }

  /** The side of the one person who plays, else null. */
  get you() {
    return this.people.length === 1 ? this.people[0] : null;
  }

  nameOf(side) {
    if (this.isHuman(side)) return this.you ? "You" : side;
    return this.agentOf(side)?.label ?? this.seats[side];
  }

  // --- settings ----------------------------------------------------------------------------------

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
    const board = this.boards.find((one) => boardKey(one) === key);
    const guide = cellsOf(parameters.get("line"));
    this.seats = {
      X: parameters.get("x") ?? last.seats.X,
      O: parameters.get("o") ?? last.seats.O,
    };
    const isSame =
      before &&
      !parameters.has("moves") &&
      key === before.board &&
      SIDES.every((side) => this.seats[side] === before.seats[side]) &&
      (parameters.size === 0 || guide.join() === before.guide.join());
    if (isSame) return this.restore(before);
    if (before && this.isUnderWay(before)) session.set("left", before);
    this.guide = guide;
    const texts = [];
    for (const side of SIDES) {
      if (this.isHuman(side) || this.agentOf(side)) continue;
      texts.push(`There is no player “${this.seats[side]}” here: perfect play takes its place.`);
      this.seats[side] = PERFECT;
    }
    if (!board) texts.push(`There is no board “${text}” here. Choose one from the list.`);
    texts.push(...this.setBoard(board ?? this.boards[0]));
    this.begin(board ? cellsOf(parameters.get("moves")) : [], texts);
  }

  /** Go on with a game that was saved. */
  restore(game) {
    this.seats = { ...game.seats };
    this.guide = game.guide;
    this.setBoard(this.boards.find((one) => boardKey(one) === game.board) ?? this.boards[0]);
    this.begin(game.moves, [], game);
  }

  /** Play on a board. Sentences on the agents that had to be replaced. */
  setBoard(rules) {
    this.rules = rules;
    const texts = [];
    for (const side of SIDES) {
      const agent = this.agentOf(side);
      if (this.isHuman(side) || (agent && plays(agent, rules))) continue;
      texts.push(`${this.nameOf(side)} does not play on this board.`);
      const isThere = (id) => this.agents.some((one) => one.id === id && plays(one, rules));
      const isEasy = this.seats[side] === EASY;
      this.seats[side] = (isEasy ? EASY_SUBSTITUTES : SUBSTITUTES).find(isThere) ?? HUMAN;
    }
    this.board = new Board(rules, (cell) => this.choose(cell));
    this.element.style.setProperty("--rows", rules.rows);
    this.element.style.setProperty("--cols", rules.cols);
    const digits = rules.rows * rules.cols === 9 ? ", or 1 to 9" : "";
    this.numbers = new Numbers(this.board, () => this.look(), `Keyboard: arrows and Enter on the board${digits}.`);
    fill(this.stage, this.board.element, this.numbers.caption);
    fill(this.view, this.numbers.element);
    return texts;
  }

  chooseBoard(key) {
    this.leaveGame();
    this.fresh(this.setBoard(this.boards.find((board) => boardKey(board) === key)));
  }

  /**
   * An agent of another board brings its board with it, and one that was trained for one side takes
   * that side from a person.
   */
  chooseSeat(side, id) {
    this.leaveGame();
    const texts = [];
    const agent = this.agents.find((one) => one.id === id);
    if (agent?.side === other(side) && this.isHuman(agent.side)) {
      this.seats = { [agent.side]: id, [side]: HUMAN };
      texts.push(`${agent.label} was ${oneSided(agent)}, so you play ${side}.`);
    } else this.seats[side] = id;
    if (!agent || plays(agent, this.rules)) return this.fresh(texts);
    const board = this.boards.find((one) => plays(agent, one)) ?? this.boards[0];
    const moved = `${agent.label} plays on ${boardName(board)}: the board has been changed.`;
    this.fresh([...texts, moved, ...this.setBoard(board)]);
  }

  swap() {
    this.leaveGame();
    this.seats = { X: this.seats.O, O: this.seats.X };
    this.fresh([]);
  }

  /** Begin a game of other players or on another board: the losing line of the address is dropped. */
  fresh(texts) {
    this.guide = [];
    this.hasTried = false;
    this.begin([], texts);
  }

  again() {
    this.leaveGame();
    this.begin([], []);
    if (this.people.length) this.board.focus();
  }

  // --- games that are left -----------------------------------------------------------------------

  get state() {
    const { seats, moves, first, seed, guide } = this;
    return { seats: { ...seats }, board: boardKey(this.rules), moves, first, seed, guide };
  }

  /** True if a person has moved in a game, so that it would be a pity to lose it. */
  isUnderWay({ moves, first, seats }) {
    return moves.some((_, ply) => ply >= first && seats[sideOf(ply)] === HUMAN);
  }

  /** Put the game under way aside, so that the note can lead back to it. */
  leaveGame() {
    if (this.standing.turn !== null && this.isUnderWay(this.state)) session.set("left", this.state);
  }

  /** A button for the game that was left, or nothing. */
  wayBack() {
    const game = session.get("left", null);
    const back = () => {
      session.set("left", null);
      this.leaveGame();
      this.restore(game);
    };
    return game && this.standing.turn !== null && linkish("Back to the game you left", back);
  }

  // --- a game ------------------------------------------------------------------------------------

  /** texts: sentences for the note. game: the saved one that is continued, if any. */
  begin(moves, texts, game = null) {
    this.seed = game?.seed ?? crypto.getRandomValues(new Uint32Array(1))[0] % SEEDS;
    this.moves = [...moves];
    this.first = game?.first ?? moves.length;
    this.paused = false;
    this.isCounted = false;
    this.texts = texts;
    this.seating.show(this.seats, this.rules);
    this.showLearning();
    memory.set("players", { seats: this.seats, board: boardKey(this.rules) });
    const line = this.guide.length ? { line: this.guide.join(",") } : {};
    showAddress(gamePath(this.seats, this.rules, line));
    this.proceed();
  }

  /** Write the note: sentences, then the way back to a game that was left. */
  tell(...parts) {
    fill(this.note, parts, " ", this.wayBack());
  }

  /** Begin something else: answers that are still to come are ignored, and no longer waited for. */
  nextTurn() {
    this.asking?.abort();
    this.asking = new AbortController();
    return ++this.turn;
  }

  /** Show how the game stands. Then an agent moves, a person may move, or the game is over. */
  async proceed(stands = standing(this.moves, this.rules)) {
    const turn = this.nextTurn();
    const mover = stands.turn;
    this.standing = stands;
    const mayChoose = mover !== null && this.isHuman(mover);
    const line = mayChoose && this.guide.length ? guided(this.guide, this.moves, this.people) : {};
    if (line.text) this.texts = [line.text];
    const guide = line.next === undefined ? [] : [line.next];
    this.board.show({ moves: this.moves, open: mayChoose, guide, hints: [], blunder: undefined, notes: null });
    this.show();
    this.say();
    const looked = this.look();
    if (mover === null) return this.finish(turn);
    session.set("game", this.state);
    this.tell(this.texts.join(" ") || (this.moves.length === 0 && invitation(this.agents, this.seats)));
    if (guide.length) this.warn(turn, ...guide);
    if (mayChoose || this.paused) return;
    const isWatched = this.people.length === 0;
    if (isWatched) await looked; // its numbers are seen before it moves
    await wait(isWatched ? this.speed : isStill() ? 0 : REPLY);
    if (turn === this.turn) await this.move();
  }

  /** Let the agent move. */
  async move() {
    const turn = this.nextTurn();
    const { moves, rules, seed, standing } = this;
    const asked = { board: rules, moves, agent: this.seats[standing.turn], seed };
    const say = (time) => {
      const dots = html`<span class="busy"> is thinking …</span>`;
      const seconds = html`<span class="seconds">${time}</span>`;
      fill(this.status, markIcon(standing.turn), " ", this.nameOf(standing.turn), dots, seconds);
    };
    try {
      const { cell } = await patiently(data.move(asked, this.asking.signal), (time) => turn === this.turn && say(time));
      if (turn !== this.turn) return;
      this.moves = [...moves, cell];
      await this.proceed();
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  choose(cell) {
    session.set("left", null); // one goes on with this game
    this.texts = [];
    this.moves = [...this.moves, cell];
    this.proceed();
  }

  /** Say beside the board if the dashed move is a mistake against perfect play. */
  async warn(turn, cell) {
    const text = await warning(this.rules, this.moves, cell, this.asking.signal);
    if (text && turn === this.turn) this.tell(text);
  }

  undo() {
    let moves = this.moves.slice(0, -1);
    while (moves.length > this.first && !this.isHuman(sideOf(moves.length)))
      moves = moves.slice(0, -1);
    this.moves = moves;
    this.texts = [];
    announce("Taken back.");
    this.proceed();
  }

  async hint() {
    const { turn, you, rules, moves } = this;
    const agent = you && this.agentOf(other(you));
    const isBeatable = agent?.unbeatable === false;
    try {
      const line = isBeatable && this.hasTried ? (await provenAgainst(you, agent)).losing_line : null;
      const { cells, text } = await hintFor(rules, moves, isBeatable || agent?.group === "easy", line);
      if (turn !== this.turn) return;
      this.hasTried = true;
      this.board.show({ hints: cells });
      this.tell(text);
      announce(text);
    } catch (error) {
      if (turn === this.turn) this.tell(error.message);
    }
  }

  resign() {
    const result = other(this.you ?? this.standing.turn);
    this.proceed({ ...this.standing, turn: null, ended: "resigned", result });
  }

  pause() {
    this.paused = !this.paused;
    this.proceed();
  }

  /** Begin another game after each one that is only watched, or do not. */
  endless(isOn) {
    this.isEndless = isOn;
    if (isOn && this.standing.turn === null) this.again();
  }

  /** Copy an address that opens this position with these players. */
  async link() {
    const path = gamePath(this.seats, this.rules, { moves: this.moves.join(",") });
    const { href } = new URL(data.addressOf(path), location.href);
    try {
      await navigator.clipboard.writeText(href);
      this.tell("Link copied.");
      announce("Link copied.");
    } catch {
      this.tell("Copy this link: ", html`<code>${href}</code>`);
    }
  }

  /** Show the numbers of the agent to move, or on a person's turn of the other one. */
  look() {
    const side = sideOf(this.moves.length);
    const agent = this.agentOf(side) ?? this.agentOf(other(side)) ?? null;
    return this.numbers.update(this.moves, agent, this.standing.turn === null);
  }

  // --- what is shown -----------------------------------------------------------------------------

  show() {
    const { turn } = this.standing;
    const names = Object.fromEntries(SIDES.map((side) => [side, this.nameOf(side)]));
    this.score.show(this.seats, names, turn);
    const [isWatched, isOver] = [this.people.length === 0, turn === null];
    const mayChoose = !isOver && this.isHuman(turn);
    const hasMoved = this.isUnderWay(this.state);
    const { undo, hint, resign, pause, step, watching } = this.controls;
    for (const one of [undo, hint, resign]) one.hidden = isWatched;
    for (const one of [watching, pause, step]) one.hidden = !isWatched;
    undo.disabled = !hasMoved;
    hint.disabled = !mayChoose;
    resign.disabled = !(mayChoose && hasMoved);
    pause.disabled = isOver;
    pause.textContent = this.paused ? "Go on" : "Pause";
    step.disabled = isOver || !this.paused;
  }

  /** Offer the switch if an agent can learn. */
  showLearning() {
    const ids = Object.values(this.seats);
    const isWatched = this.people.length === 0;
    const isLearner = ({ id, kind, learned }) =>
      learned !== null && (ids.includes(id) || (id === LEARNER && kind === "run" && !isWatched));
    const learners = this.agents.filter((agent) => isLearner(agent) && plays(agent, this.rules));
    const names = learners.map((agent) => agent.label).join(" and ");
    this.learns = memory.get("learn", true);
    const set = (isOn) => (memory.set("learn", isOn), (this.learns = isOn));
    const watches = learners.some(({ id }) => ids.includes(id)) ? "" : "looks on, and ";
    const text = `${names} ${watches}${learners.length > 1 ? "learn" : "learns"} from this game`;
    this.learning.hidden = learners.length === 0;
    fill(this.learning, switchOf(text, this.learns, set));
  }

  say() {
    const { turn, ended, result } = this.standing;
    const { moves } = this;
    const move = moves.length
      ? `${sideOf(moves.length - 1)} plays ${cellName(moves.at(-1), this.rules)}. `
      : "";
    const end = () => capital(endText(result, ended, (side) => inside(this.nameOf(side))));
    const text = turn === null ? end() : this.request(turn);
    const side = turn ?? (result === "draw" ? null : result);
    fill(this.status, side && [markIcon(side), " "], text);
    announce(`${ended === "resigned" ? "" : move}${text}.`);
  }

  request(turn) {
    if (!this.isHuman(turn)) return `${this.nameOf(turn)} to move`;
    return this.you ? "Your move" : `${turn} to move`;
  }

  fail(error) {
    fill(this.status, "The game cannot go on");
    fill(this.note, error.message, " ", linkish("Try again", () => this.proceed()));
    announce(`The game cannot go on: ${error.message}`);
  }

  // --- the end -----------------------------------------------------------------------------------

  /** Keep the game, and say what decided it. */
  async finish(turn) {
    const { you, seed } = this;
    const { ended, result } = this.standing;
    session.set("game", null);
    fill(this.note);
    if (!this.isCounted) this.score.count(this.seats, result);
    this.isCounted = true;
    this.hasTried ||= result !== you;
    this.show();
    const game = { board: this.rules, moves: this.moves, ended, result };
    const judging = judged(game, you).catch(() => null);
    const { X: x, O: o } = this.seats;
    const side = you ? { side: you } : {};
    const kept = data.keep({ ...game, x, o, seed, learn: this.learns, ...side });
    const told = await kept.then((found) => this.keptText(found)).catch((error) => [`The game could not be kept. ${error.message}`]);
    const agent = you && this.agentOf(other(you));
    told.push(await lesson(this.agents, agent, you, result).catch(() => null));
    if (turn !== this.turn) return;
    fill(this.numbers.caption, told);
    const found = await judging;
    if (turn !== this.turn) return;
    if (found) {
      this.board.show({ blunder: found.ply });
      fill(this.note, html`<strong class=${found.tone}>${found.text}</strong>`);
    }
    announce(`${this.note.textContent} ${this.numbers.caption.textContent}`);
    await wait(BREAK);
    if (turn === this.turn && this.isEndless && !this.people.length) this.again();
  }

  /** Sentences about a game that has been kept, and the players that have learned from it. */
  async keptText({ id, learned }) {
    const texts = Object.entries(learned).map(([name, text]) => {
      const agent = this.agents.find((one) => one.id === name);
      return ` ${agent?.label ?? capital(name)} ${text}.`;
    });
    if (texts.length) {
      this.agents = this.seating.agents = (await data.agents()).agents;
      this.seating.show(this.seats, this.rules);
      this.showLearning();
    }
    return ["Kept as ", html`<a href=${`/games/${id}`}>game ${id}</a>`, ".", texts];
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
    this.nextTurn();
  }
}

const linkish = (text, onclick) =>
  html`<button type="button" class="linkish" @click=${onclick}>${text}</button>`;
