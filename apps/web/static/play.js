// The page on which games are played: by people, by agents, or by both.

import { Board } from "./board.js";
import { Controls } from "./controls.js";
import { announce, button, h, isStill, markIcon, wait } from "./dom.js";
import { endingText, keepGame } from "./ending.js";
import { hintFor } from "./hint.js";
import { Learning } from "./learning.js";
import { memory } from "./memory.js";
import { Numbers } from "./numbers.js";
import { askedGame, boardOf, isSameGame, lastPlayers, noBoardText } from "./opening.js";
import { isUnderWay, saved } from "./saved.js";
import { Scoreboard } from "./scoreboard.js";
import { Seats } from "./seats.js";
import { getAgents, post } from "./server.js";
import { toneOf, turningText } from "./verdict.js";
import {
  EASY,
  HUMAN,
  PERFECT,
  boardKey,
  boardName,
  cellName,
  oneSided,
  other,
  plays,
  sideOf,
} from "./words.js";

// Who plays for an agent that does not play on a board; for the easy one, another easy one.
const SUBSTITUTES = [PERFECT, "search-depth=4"];
const EASY_SUBSTITUTES = ["search-depth=1"];
const REPLY = 280; // milliseconds before an agent answers a person
const PATIENCE = 300; // milliseconds after which the page says that an agent is thinking
const SEEDS = 2 ** 32;

export async function playPage(_, parameters, signal) {
  const { agents, boards } = await getAgents(signal);
  return new Play(agents, boards, parameters);
}

class Play {
  constructor(agents, boards, parameters) {
    this.title = "Play";
    this.agents = agents;
    this.boards = boards;
    this.turn = 0;
    this.standing = { turn: null }; // how the game stands; from the server
    this.waiting = null; // the AbortController of what is asked of the server
    // The keys 1 to 9 mark a cell while no element has the focus.
    this.onKey = (event) =>
      [document.body, document.getElementById("main")].includes(document.activeElement) &&
      /^[1-9]$/.test(event.key) &&
      this.board.key(event);
    document.addEventListener("keydown", this.onKey);
    this.build();
    this.open(parameters);
  }

  // --- the page ----------------------------------------------------------------------------------

  build() {
    this.score = new Scoreboard();
    this.status = h("p", { class: "status" });
    this.note = h("div", { class: "note" });
    this.stage = h("div", { class: "stage-board" });
    this.seating = new Seats(this.boards, {
      seat: (side, id) => this.chooseSeat(side, id),
      board: (key) => this.chooseBoard(key),
      swap: () => this.swap(),
    });
    this.learning = new Learning();
    this.controls = new Controls({
      again: () => this.again(),
      undo: () => this.undo(),
      hint: () => this.hint(),
      resign: () => this.resign(),
      pause: () => this.pause(!this.paused),
      step: () => this.move(),
      link: () => this.link(),
    });
    this.view = h("div", { class: "box view" });
    this.moveList = h("ol", { class: "trail", "aria-label": "Moves" });
    this.element = h(
      "div",
      { class: "play" },
      h("h1", { class: "hidden", tabindex: "-1" }, "Play"),
      h(
        "section",
        { class: "stage", "aria-label": "Game" },
        this.score.element,
        this.status,
        this.stage,
        this.controls.element,
        this.note,
      ),
      h(
        "section",
        { class: "panel", "aria-label": "Settings" },
        this.seating.element,
        this.view,
        this.learning.element,
        h(
          "p",
          { class: "keys" },
          "Keyboard: arrows and Enter on the board",
          h("span", { class: "square" }, ", or 1\u00a0to\u00a09"),
          ".",
        ),
        this.moveList,
      ),
    );
  }

  agentOf(side) {
    return this.agents.find((agent) => agent.id === this.seats[side]);
  }

  isHuman(side) {
    return this.seats[side] === HUMAN;
  }

  get people() {
    return ["X", "O"].filter((side) => this.isHuman(side));
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

  /** Begin the game that an address names, or continue the one under way. */
  open(parameters) {
    const before = saved.current;
    const asked = askedGame(parameters, before ?? lastPlayers(this.agents, this.boards));
    if (isSameGame(asked, before, parameters)) return this.restore(before);
    if (isUnderWay(before)) saved.leave(before);
    saved.end();
    this.seats = asked.seats;
    this.guide = asked.guide;
    const texts = [];
    for (const side of ["X", "O"]) {
      if (this.isHuman(side) || this.agentOf(side)) continue;
      texts.push(`There is no player “${this.seats[side]}” here: perfect play takes its place.`);
      this.seats[side] = PERFECT;
    }
    const board = boardOf(asked.board, this.boards);
    if (!board) texts.push(noBoardText(asked.board));
    texts.push(...this.setBoard(board ?? this.boards[0]));
    this.begin(board ? asked.moves : [], texts);
  }

  /** Go on with a game that was saved. */
  restore(game) {
    this.seats = { ...game.seats };
    this.guide = game.guide;
    this.setBoard(boardOf(game.board, this.boards) ?? this.boards[0]);
    this.begin(game.moves, [], game);
  }

  /** Play on a board. Sentences on the agents that had to be replaced. */
  setBoard(rules) {
    this.rules = rules;
    if (!this.boards.includes(rules)) {
      this.boards = [...this.boards, rules];
      this.seating.offer(rules);
    }
    const texts = [];
    for (const side of ["X", "O"]) {
      if (this.isHuman(side) || (this.agentOf(side) && plays(this.agentOf(side), rules))) continue;
      texts.push(`${this.nameOf(side)} does not play on this board.`);
      const isThere = (id) => this.agents.some((agent) => agent.id === id && plays(agent, rules));
      const isEasy = this.seats[side] === EASY;
      this.seats[side] = (isEasy ? EASY_SUBSTITUTES : SUBSTITUTES).find(isThere) ?? HUMAN;
    }
    this.board = new Board(rules, (cell) => this.choose(cell));
    this.stage.replaceChildren(this.board.element);
    this.element.style.setProperty("--rows", rules.rows);
    this.element.style.setProperty("--cols", rules.cols);
    this.numbers = new Numbers(this.board, () => this.look());
    this.numbers.offer(null, null);
    this.view.replaceChildren(this.numbers.element, this.numbers.legend);
    this.element.classList.toggle("three", rules.rows * rules.cols === 9);
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

  /** Put the game under way aside, so that the note can lead back to it. */
  leaveGame() {
    const game = this.state;
    if (this.standing.turn !== null && isUnderWay(game)) saved.leave(game);
  }

  /** What the note says of the game that was left, or nothing. */
  wayBack() {
    const game = saved.left;
    if (!game || this.standing.turn === null) return [];
    const back = () => {
      saved.leave(null);
      this.leaveGame();
      this.restore(game);
    };
    return [button("Back to the game you left", back, { class: "linkish" })];
  }

  // --- a game ------------------------------------------------------------------------------------

  /** texts: sentences for the note. game: the saved one that is continued, if any. */
  begin(moves, texts, game = null) {
    this.seed = game?.seed ?? crypto.getRandomValues(new Uint32Array(1))[0] % SEEDS;
    this.moves = [...moves];
    this.first = game?.first ?? moves.length;
    this.paused = false;
    this.isCounted = false;
    this.texts = [...texts, ...this.untrained()];
    this.seating.show(this.agents, this.seats, this.rules);
    const address = new URLSearchParams({
      x: this.seats.X,
      o: this.seats.O,
      board: boardKey(this.rules),
    });
    memory.set("players", { seats: this.seats, board: boardKey(this.rules) });
    if (this.guide.length) address.set("line", this.guide.join(","));
    history.replaceState(null, "", `/?${address}`);
    this.proceed();
  }

  /** Sentences on agents that a person meets on a side for which they were not trained. */
  untrained() {
    return this.people.flatMap((side) => {
      const agent = this.agentOf(other(side));
      return agent?.side === side
        ? [`${agent.label} was ${oneSided(agent)}: as ${other(side)} it makes untrained moves.`]
        : [];
    });
  }

  /** Write the note: sentences, then the way back to a game that was left. */
  tell(...parts) {
    this.note.replaceChildren(...parts.filter(Boolean), " ", ...this.wayBack());
  }

  /**
   * Ask the server how the game stands, and go on from there. After a move of a person the answer
   * also holds the numbers. A game that begins does not wait for that: a board may have to be
   * solved first.
   */
  async proceed(afterMove = false) {
    const turn = this.nextTurn();
    this.found = {};
    this.numbers.clear();
    const wanted = afterMove ? this.numbers.wanted(this.thinker(this.moves.length)) : {};
    try {
      const asked = this.ask("/api/analysis", {}, wanted);
      const found = await this.numbers.patiently(wanted, asked);
      if (turn === this.turn) await this.settle(found);
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  /** Begin something else: answers that are still to come are ignored, and no longer waited for. */
  nextTurn() {
    this.waiting?.abort();
    this.waiting = new AbortController();
    return ++this.turn;
  }

  /**
   * Show an answer of the server, {standing, thoughts, truth}. Then an agent moves, a person may
   * move, or the game is over.
   */
  async settle(found) {
    const turn = this.nextTurn();
    const { moves, rules } = this;
    const { standing } = found;
    const mover = standing.turn;
    this.found = found;
    this.standing = standing;
    const mayChoose = mover !== null && this.isHuman(mover);
    this.board.show(moves, {
      line: standing.line,
      open: mayChoose,
      guide: mayChoose ? this.guided() : [],
      illegal: standing.ended === "illegal",
    });
    this.show();
    this.say(standing);
    if (mover === null) return this.finish(standing);
    saved.keep(this.state);
    this.tell(...this.texts.flatMap((text) => [text, " "]));
    const looked = this.look();
    this.warn(turn);
    if (mayChoose || this.paused) return;
    const watched = this.people.length === 0;
    if (watched) await looked; // its numbers are seen before it moves
    await wait(watched ? this.controls.speed : isStill() ? 0 : REPLY);
    if (turn === this.turn) await this.move();
  }

  /** Let the agent move. The answer holds the numbers of the position after it. */
  async move() {
    const turn = this.nextTurn();
    const thinker = this.thinker(this.moves.length + 1);
    const { agent: id, ...truth } = this.numbers.wanted(thinker);
    const wanted = { ...(id ? { thinker: id } : {}), ...truth };
    const asked = { agent: this.seats[this.standing.turn], seed: this.seed };
    const done = this.sayThinking(turn);
    try {
      const found = await this.ask("/api/move", asked, wanted).finally(done);
      if (turn !== this.turn) return;
      this.moves = [...this.moves, found.cell];
      await this.settle(found);
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  /** After a while, say that an agent is thinking, for how long, and offer to stop it. */
  sayThinking(turn) {
    const begun = performance.now();
    const seconds = h("span", { class: "seconds" });
    const stop = button("Stop", () => this.stop(), { class: "linkish" });
    const count = () => {
      const passed = Math.round((performance.now() - begun) / 1000);
      seconds.textContent = passed ? ` ${passed} s` : "";
    };
    let timer = setTimeout(() => {
      if (turn !== this.turn) return;
      const dots = h("span", { class: "busy" }, " is thinking …");
      this.status.replaceChildren(markIcon(this.standing.turn), " ");
      this.status.append(this.nameOf(this.standing.turn), dots, seconds, " ", stop);
      timer = setInterval(count, 1000);
    }, PATIENCE);
    return () => (clearTimeout(timer), clearInterval(timer));
  }

  /** Wait no longer for an agent. */
  stop() {
    this.nextTurn();
    this.status.replaceChildren(`Stopped: ${this.nameOf(this.standing.turn)} has not moved`);
    this.tell(button("Let it think again", () => this.move(), { class: "linkish" }));
    announce("Stopped.");
  }

  /**
   * Ask about the game. If that fails, ask again without the fields `wanted`, so that the game goes
   * on; then `look` asks for them on their own, and writes a failure into the legend.
   */
  async ask(path, content, wanted) {
    const { signal } = this.waiting;
    const asked = { board: this.rules, moves: this.moves, ...content };
    try {
      return await post(path, { ...asked, ...wanted }, signal);
    } catch (error) {
      if (signal.aborted || Object.keys(wanted).length === 0) throw error;
      return post(path, asked, signal);
    }
  }

  choose(cell) {
    saved.leave(null); // one goes on with this game
    this.texts = [];
    this.moves = [...this.moves, cell];
    this.board.show(this.moves);
    this.proceed(true);
  }

  /** The next cell of the losing line of the address, while the game follows it. */
  guided() {
    if (!this.guide.length) return [];
    const left = this.moves.findIndex((cell, ply) => cell !== this.guide[ply]);
    this.texts = [this.guidance(left)];
    const next = this.guide[this.moves.length];
    return left < 0 && next !== undefined ? [next] : [];
  }

  /** What the note says of that line. left: the first ply that is not on it, or -1. */
  guidance(left) {
    if (left < 0) return "Dashed: the move that beats this player.";
    return this.isHuman(sideOf(left))
      ? "You left the dashed line: take your move back, or play on."
      : "It played another move this time: this is not the game that it loses. A new game tries again.";
  }

  /** Say beside the board if the dashed move is a mistake against perfect play. */
  async warn(turn) {
    const [cell] = this.board.guide;
    if (cell === undefined) return;
    const asked = { board: this.rules, moves: this.moves, truth: true };
    const { truth } = this.found.truth
      ? this.found
      : await post("/api/analysis", asked, this.waiting.signal).catch(() => ({}));
    const worth = truth?.moves?.[cell];
    if (turn !== this.turn || !worth || worth.value === truth.position.value) return;
    const result = worth.value < 0 ? "lose" : "only draw";
    this.tell(`Dashed: the move that beats this player; against perfect play it would ${result}.`);
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
    const { turn } = this;
    this.controls.hint.disabled = true;
    try {
      const { cells, text } = await hintFor(this.rules, this.moves);
      if (turn !== this.turn) return;
      this.board.suggest(cells);
      this.tell(text);
      announce(text);
    } catch (error) {
      if (turn === this.turn) this.tell(error.message);
    } finally {
      if (turn === this.turn) this.controls.hint.disabled = false;
    }
  }

  resign() {
    const side = this.you ?? this.standing.turn;
    this.settle({
      standing: { ...this.standing, turn: null, ended: "resigned", result: other(side) },
    });
  }

  pause(paused) {
    this.paused = paused;
    if (paused) this.nextTurn();
    else if (this.found.standing) this.settle(this.found);
    else this.proceed();
    this.show();
  }

  /** Copy an address that opens this position with these players. */
  async link() {
    const address = new URL(location.href);
    address.searchParams.set("moves", this.moves.join(","));
    address.searchParams.delete("line");
    const field = () =>
      h("input", { value: address.href, readonly: true, "aria-label": "Link to this position" });
    try {
      await navigator.clipboard.writeText(address.href);
      const text = "Link copied. It opens on this computer only.";
      this.tell(text);
      announce(text);
    } catch {
      this.tell("Copy this link (it opens on this computer only): ", field());
    }
  }

  /** The agent whose numbers are shown after so many moves, or null. */
  thinker(plies) {
    const side = sideOf(plies);
    return this.agentOf(side) ?? this.agentOf(other(side)) ?? null;
  }

  /** Show the numbers, from the last answer of the server or from a new one. */
  look() {
    const isOver = this.standing.turn === null;
    const thinker = this.thinker(this.moves.length);
    this.numbers.isInstead = !this.agentOf(sideOf(this.moves.length));
    return (
      this.numbers.show(this.found, this.moves, isOver, thinker) ||
      this.numbers.update(this.rules, this.moves, isOver, thinker)
    );
  }

  // --- what is shown -----------------------------------------------------------------------------

  show() {
    const { turn } = this.standing;
    const isWatched = this.people.length === 0;
    this.controls.show({
      isWatched,
      isOver: turn === null,
      isPaused: this.paused,
      mayChoose: turn !== null && this.isHuman(turn),
      hasMoved: this.moves.some((_, ply) => ply >= this.first && this.isHuman(sideOf(ply))),
    });
    this.learning.show(this.agents, this.seats, this.rules);
    this.numbers.isOfMover = isWatched;
    this.numbers.offer(this.thinker(this.moves.length), null);
    this.showScore();
    this.moveList.replaceChildren(
      ...this.moves.map((cell, ply) =>
        h("li", { class: sideOf(ply).toLowerCase() }, cellName(cell, this.rules)),
      ),
    );
  }

  showScore() {
    const names = { X: this.nameOf("X"), O: this.nameOf("O") };
    if (this.people.length === 2) Object.assign(names, { X: "X", O: "O" });
    this.score.show(this.seats, names, this.standing.turn);
  }

  say({ turn, ended, result }) {
    const last = this.moves.length
      ? `${sideOf(this.moves.length - 1)} plays ${cellName(this.moves.at(-1), this.rules)}. `
      : "";
    const nameOf = (side) => this.nameOf(side);
    const text = turn === null ? endingText(ended, result, nameOf) : this.invitation(turn);
    const side = turn ?? (result === "draw" ? null : result);
    this.status.replaceChildren(...(side ? [markIcon(side), " "] : []), text);
    announce(`${ended === "resigned" ? "" : last}${text}.`);
  }

  invitation(turn) {
    if (!this.isHuman(turn)) return `${this.nameOf(turn)} to move`;
    return this.you ? "Your move" : `${turn} to move`;
  }

  fail(error) {
    this.status.textContent = "The game cannot go on";
    const again = button("Try again", () => this.proceed(), { class: "linkish" });
    this.note.replaceChildren(error.message, " ", again);
    announce(`The game cannot go on: ${error.message}`);
  }

  // --- the end -----------------------------------------------------------------------------------

  /** Keep the game, and say what decided it. */
  async finish({ ended, result }) {
    const turn = this.turn;
    const { you } = this;
    saved.end();
    this.numbers.clear();
    this.note.replaceChildren();
    if (!this.isCounted) this.score.count(this.seats, result);
    this.isCounted = true;
    this.showScore();
    const game = { board: this.rules, moves: this.moves, ended, result };
    const judging = post("/api/verdicts", game).catch(() => null);
    const told = await this.keep(game);
    if (turn !== this.turn) return;
    this.note.replaceChildren(...told);
    const judged = await judging;
    if (turn !== this.turn) return;
    if (judged?.decisive) this.board.mark(judged.decisive.ply);
    const text = judged?.turning_point ? turningText(judged, game, you) : "";
    this.note.replaceChildren(
      ...(text ? [h("strong", { class: toneOf(judged, you) }, text), " "] : []),
      ...told,
    );
    announce(this.note.textContent);
  }

  /** Keep a game, and what the note says of that. */
  async keep(game) {
    const about = {
      x: this.seats.X,
      o: this.seats.O,
      seed: this.seed,
      learn: this.learning.input.checked,
      ...(this.you ? { side: this.you } : {}),
    };
    const labels = new Map(this.agents.map((agent) => [agent.id, agent.label]));
    const { parts, hasLearned } = await keepGame({ ...game, ...about }, labels);
    if (hasLearned) await this.countAgain();
    return parts;
  }

  /** Ask again how many games the agents have learned from. */
  async countAgain() {
    this.agents = (await getAgents()).agents;
    this.seating.show(this.agents, this.seats, this.rules);
    this.learning.show(this.agents, this.seats, this.rules);
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
    this.nextTurn();
  }
}
