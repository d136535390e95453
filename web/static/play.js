// The page on which games are played: by people, by agents, or by both.

import { Board } from "./board.js";
import {
  agentPath,
  announce,
  boardKey,
  boardName,
  cellName,
  getAgents,
  h,
  icon,
  isStill,
  markIcon,
  memory,
  other,
  parseBoard,
  plays,
  post,
  sideOf,
  wait,
} from "./dom.js";
import { Insight } from "./insight.js";

const HUMAN = "human";
const LEARNER = "runs/learner"; // learns from every game of a person, once it has its first one
const SUBSTITUTES = ["minimax", "search-depth=4"]; // for an agent that does not play on a board
const REPLY = 280; // milliseconds before an agent answers a person
const PATIENCE = 500; // milliseconds after which the page says that it is still thinking
const SEEDS = 2 ** 32;

export async function playPage(parameters) {
  const { agents, boards } = await getAgents();
  return new Play(agents, boards, parameters);
}

class Play {
  constructor(agents, boards, parameters) {
    this.title = "Play";
    this.agents = agents;
    this.boards = boards;
    this.turn = 0;
    this.standing = { turn: null }; // how the game stands; from the server
    this.speed = memory.get("speed", 700);
    const asked = parseBoard(parameters.get("board"));
    this.rules =
      boards.find((board) => asked && boardKey(board) === boardKey(asked)) ?? asked ?? boards[0];
    if (!boards.some((board) => boardKey(board) === boardKey(this.rules)))
      this.boards = [...boards, this.rules];
    this.seats = { X: parameters.get("x") ?? HUMAN, O: parameters.get("o") ?? "minimax" };
    this.guide = cellsOf(parameters.get("line"));
    this.start = cellsOf(parameters.get("moves"));
    // The keys 1 to 9 mark a cell while no element has the focus.
    this.onKey = (event) =>
      document.activeElement === document.body &&
      /^[1-9]$/.test(event.key) &&
      this.board.key(event);
    document.addEventListener("keydown", this.onKey);
    this.build();
    this.setBoard(this.rules);
    this.begin(this.start);
  }

  // --- the page ----------------------------------------------------------------------------------

  build() {
    this.status = h("p", { class: "status" });
    this.note = h("p", { class: "note" });
    this.stage = h("div", { class: "stage-board" });
    this.seatRows = { X: this.makeSeat("X"), O: this.makeSeat("O") };
    this.boardChoice = h(
      "select",
      { id: "board", onchange: (event) => this.chooseBoard(event.target.value) },
      this.boards.map((board) =>
        h(
          "option",
          { value: boardKey(board), selected: boardKey(board) === boardKey(this.rules) },
          boardName(board),
        ),
      ),
    );
    this.undoButton = h("button", { type: "button", onclick: () => this.undo() }, "Undo");
    this.resignButton = h("button", { type: "button", onclick: () => this.resign() }, "Resign");
    this.newButton = h(
      "button",
      { type: "button", class: "primary", onclick: () => this.again() },
      "New game",
    );
    this.pauseButton = h(
      "button",
      { type: "button", onclick: () => this.pause(!this.paused) },
      "Pause",
    );
    this.stepButton = h("button", { type: "button", onclick: () => this.move() }, "Step");
    this.speedChoice = h("input", {
      type: "range",
      id: "speed",
      min: "0",
      max: "3000",
      step: "100",
      value: String(this.speed),
      oninput: (event) => this.setSpeed(+event.target.value),
    });
    this.speedText = h("output", { for: "speed" });
    this.watching = h(
      "div",
      { class: "watching" },
      h("label", { for: "speed" }, "Time for a move", this.speedText),
      this.speedChoice,
    );
    this.learning = h("input", {
      type: "checkbox",
      role: "switch",
      onchange: () => memory.set(this.learnKey(), this.learning.checked),
    });
    this.learnText = h("span", {});
    this.learnSwitch = h(
      "label",
      { class: "switch learn" },
      this.learning,
      h("span", { class: "track", "aria-hidden": "true" }),
      this.learnText,
    );
    this.learnBox = h("div", { class: "box", hidden: true });
    this.moveList = h("ol", { class: "trail", "aria-label": "Moves" });
    this.switches = h("div", { class: "box view" });
    this.element = h(
      "div",
      { class: "play" },
      h("h1", { class: "hidden", tabindex: "-1" }, "Play"),
      h(
        "section",
        { class: "stage", "aria-label": "Game" },
        this.status,
        this.stage,
        this.note,
        this.moveList,
        h(
          "div",
          { class: "buttons main" },
          this.newButton,
          this.undoButton,
          this.resignButton,
          this.pauseButton,
          this.stepButton,
        ),
        this.watching,
      ),
      h(
        "section",
        { class: "panel", "aria-label": "Settings" },
        h(
          "div",
          { class: "box" },
          this.seatRows.X.element,
          h(
            "button",
            {
              type: "button",
              class: "swap",
              onclick: () => this.swap(),
              "aria-label": "Swap sides",
            },
            icon("swap"),
          ),
          this.seatRows.O.element,
          h("div", { class: "field" }, h("label", { for: "board" }, "Board"), this.boardChoice),
        ),
        this.switches,
        this.learnBox,
        h(
          "p",
          { class: "keys" },
          "Keyboard: arrows and Enter on the board",
          h("span", { class: "square" }, ", or 1 to 9"),
          ".",
        ),
      ),
    );
    this.setSpeed(this.speed);
  }

  makeSeat(side) {
    const id = `seat-${side.toLowerCase()}`;
    const select = h("select", {
      id,
      "aria-describedby": `${id}-about`,
      onchange: (event) => this.chooseSeat(side, event.target.value),
    });
    const about = h("p", { class: "about", id: `${id}-about` });
    const element = h(
      "div",
      { class: "seat" },
      h(
        "label",
        { for: id },
        markIcon(side, true),
        h("span", { class: "hidden" }, `${side} is played by`),
      ),
      select,
      about,
    );
    return { select, about, element };
  }

  fillSeat(side) {
    const { select, about } = this.seatRows[side];
    const option = (agent) =>
      h(
        "option",
        { value: agent.id, disabled: !plays(agent, this.rules) },
        (agent.kind === "run" ? agent.id : agent.name) + (agent.broken ? " (broken)" : ""),
      );
    const group = (label, kind) => {
      const members = this.agents.filter((agent) => agent.kind === kind);
      return members.length > 0 && h("optgroup", { label }, members.map(option));
    };
    select.replaceChildren(
      ...[
        h("option", { value: HUMAN }, "You"),
        group("Trained agents", "trained"),
        group("Your training runs", "run"),
        group("Without training", "agent"),
      ].filter(Boolean),
    );
    select.value = this.seats[side];
    const agent = this.agentOf(side);
    about.replaceChildren(
      ...(agent
        ? [agent.about, learnedText(agent), " · ", h("a", { href: agentPath(agent.id) }, "what is proven")]
        : []),
    );
  }

  agentOf(side) {
    return this.agents.find((agent) => agent.id === this.seats[side]);
  }

  isHuman(side) {
    return this.seats[side] === HUMAN;
  }

  // --- settings ----------------------------------------------------------------------------------

  setBoard(rules) {
    this.rules = rules;
    for (const side of ["X", "O"]) {
      if (!this.isHuman(side) && !(this.agentOf(side) && plays(this.agentOf(side), rules))) {
        this.replaced = this.seats[side];
        this.seats[side] =
          SUBSTITUTES.find((id) =>
            this.agents.some((agent) => agent.id === id && plays(agent, rules)),
          ) ?? HUMAN;
      }
      this.fillSeat(side);
    }
    this.board = new Board(rules, (cell) => this.choose(cell));
    this.stage.replaceChildren(this.board.element);
    this.insight = new Insight(this.board, () => this.look());
    this.switches.replaceChildren(this.insight.switches, this.insight.legend);
    this.element.classList.toggle("three", rules.rows * rules.cols === 9);
  }

  chooseBoard(key) {
    this.setBoard(this.boards.find((board) => boardKey(board) === key));
    this.fresh();
  }

  chooseSeat(side, id) {
    this.seats[side] = id;
    this.fillSeat(side);
    this.fresh();
  }

  swap() {
    this.seats = { X: this.seats.O, O: this.seats.X };
    this.fillSeat("X");
    this.fillSeat("O");
    this.fresh();
  }

  setSpeed(milliseconds) {
    this.speed = milliseconds;
    memory.set("speed", milliseconds);
    this.speedText.textContent = milliseconds ? `${(milliseconds / 1000).toFixed(1)} s` : "none";
  }

  /** Begin a game of other players or on another board: the losing line of the address is dropped. */
  fresh() {
    this.guide = [];
    this.begin([]);
  }

  again() {
    this.begin([]);
    if (this.isHuman("X") || this.isHuman("O")) this.board.focus();
  }

  // --- a game ------------------------------------------------------------------------------------

  begin(moves) {
    this.seed = crypto.getRandomValues(new Uint32Array(1))[0] % SEEDS;
    this.moves = [...moves];
    this.first = moves.length;
    this.paused = false;
    this.note.replaceChildren();
    if (this.replaced) {
      this.note.textContent = `${this.replaced} does not play on this board.`;
      this.replaced = null;
    }
    const address = new URLSearchParams({
      x: this.seats.X,
      o: this.seats.O,
      board: boardKey(this.rules),
    });
    if (this.guide.length) address.set("line", this.guide.join(","));
    history.replaceState(null, "", `/?${address}`);
    this.proceed();
  }

  /**
   * Ask the server how the game stands, and go on from there. After a move of a person the answer
   * also holds what the switches show. A game that begins does not wait for that: a board may have
   * to be solved first.
   */
  async proceed(afterMove = false) {
    const turn = ++this.turn;
    this.found = {};
    this.insight.clear();
    const wanted = afterMove ? this.insight.wanted(this.thinker(this.moves.length)) : {};
    try {
      const asked = this.ask("/api/analysis", {}, wanted);
      const found = await this.insight.patiently(wanted, asked);
      if (turn === this.turn) await this.settle(found);
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  /**
   * Show an answer of the server, {standing, thoughts, truth}. Then an agent moves, a person may
   * move, or the game is over.
   */
  async settle(found) {
    const turn = ++this.turn;
    const { moves, rules } = this;
    const { standing } = found;
    const mover = standing.turn;
    this.found = found;
    this.standing = standing;
    const mayChoose = mover !== null && this.isHuman(mover);
    this.board.show(moves, {
      line: standing.line,
      open: mayChoose,
      hint: mayChoose ? this.suggested() : null,
      illegal: standing.ended === "illegal",
    });
    this.buttons();
    this.trail();
    this.say(standing);
    if (mover === null) return this.finish(standing);
    const looked = this.look();
    if (mayChoose || this.paused) return;
    const watched = !this.isHuman("X") && !this.isHuman("O");
    if (watched) await looked; // its thoughts are seen before it moves
    await wait(watched ? this.speed : isStill() ? 0 : REPLY);
    if (turn === this.turn) await this.move();
  }

  /** Let the agent move. The answer holds what the switches show of the position after it. */
  async move() {
    const turn = ++this.turn;
    const patience = setTimeout(() => this.status.append(", thinking …"), PATIENCE);
    const { agent: thinker, ...truth } = this.insight.wanted(this.thinker(this.moves.length + 1));
    const wanted = { ...(thinker ? { thinker } : {}), ...truth };
    const asked = { agent: this.seats[this.standing.turn], seed: this.seed };
    try {
      const answer = this.ask("/api/move", asked, wanted);
      const found = await answer.finally(() => clearTimeout(patience));
      if (turn !== this.turn) return;
      this.moves = [...this.moves, found.cell];
      await this.settle(found);
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  /**
   * Ask about the game. If that fails, ask again without the fields `wanted`, so that the game goes
   * on; then `look` asks for them on their own, and writes a failure into the legend.
   */
  async ask(path, content, wanted) {
    const asked = { board: this.rules, moves: this.moves, ...content };
    try {
      return await post(path, { ...asked, ...wanted });
    } catch (error) {
      if (Object.keys(wanted).length === 0) throw error;
      return post(path, asked);
    }
  }

  choose(cell) {
    this.moves = [...this.moves, cell];
    this.board.show(this.moves);
    this.proceed(true);
  }

  suggested() {
    const begun = this.moves.every((cell, ply) => cell === this.guide[ply]);
    if (this.guide.length)
      this.note.textContent = begun
        ? "The dashed cell is the next move of a game that the agent loses."
        : "The game has left the losing line.";
    return begun ? (this.guide[this.moves.length] ?? null) : null;
  }

  undo() {
    let moves = this.moves.slice(0, -1);
    while (moves.length > this.first && !this.isHuman(sideOf(moves.length)))
      moves = moves.slice(0, -1);
    this.moves = moves;
    this.note.replaceChildren();
    announce("Taken back.");
    this.proceed();
  }

  resign() {
    const side = this.standing.turn;
    this.turn += 1;
    this.settle({
      standing: { ...this.standing, turn: null, ended: "resigned", result: other(side) },
    });
  }

  pause(paused) {
    this.paused = paused;
    this.pauseButton.textContent = paused ? "Go on" : "Pause";
    if (paused) this.turn += 1;
    else if (this.found.standing) this.settle(this.found);
    else this.proceed();
    this.buttons();
  }

  /** The id of the agent whose thoughts are shown after so many moves, or null. */
  thinker(plies) {
    const side = sideOf(plies);
    return (this.agentOf(side) ?? this.agentOf(other(side)))?.id ?? null;
  }

  /** Show what the switches ask for, from the last answer of the server or from a new one. */
  look() {
    const isOver = this.standing.turn === null;
    const thinker = this.thinker(this.moves.length);
    return (
      this.insight.show(this.found, this.moves, isOver, thinker) ||
      this.insight.update(this.rules, this.moves, isOver, thinker)
    );
  }

  // --- what is shown -----------------------------------------------------------------------------

  buttons() {
    const isOver = this.standing.turn === null;
    const people = ["X", "O"].filter((side) => this.isHuman(side));
    const own = this.moves.some((_, ply) => ply >= this.first && people.includes(sideOf(ply)));
    const watched = people.length === 0;
    this.undoButton.hidden = this.resignButton.hidden = watched;
    this.watching.hidden = this.pauseButton.hidden = this.stepButton.hidden = !watched;
    this.undoButton.disabled = !own;
    this.resignButton.disabled = isOver || !people.includes(this.standing.turn);
    this.pauseButton.disabled = isOver;
    this.pauseButton.textContent = this.paused ? "Go on" : "Pause";
    this.stepButton.disabled = isOver || !this.paused;
    this.showLearning();
  }

  /** The switch for learning. Games that are only watched have a setting of their own. */
  showLearning() {
    const names = this.learners().map((agent) => agent.id);
    const verb = names.length > 1 ? "learn" : "learns";
    this.learnBox.hidden = names.length === 0;
    this.learnBox.replaceChildren(...(names.length ? [this.learnSwitch] : []));
    this.learnText.textContent = `${names.join(" and ")} ${verb} from this game`;
    this.learning.checked = memory.get(this.learnKey(), true);
  }

  /** The agents that learn from this game: those that play, and from a person's game the learner. */
  learners() {
    const ids = [this.seats.X, this.seats.O];
    return this.agents.filter(
      (agent) =>
        agent.learned !== null &&
        plays(agent, this.rules) &&
        (ids.includes(agent.id) ||
          (agent.id === LEARNER && agent.kind === "run" && !this.isWatched())),
    );
  }

  isWatched() {
    return !this.isHuman("X") && !this.isHuman("O");
  }

  learnKey() {
    return this.isWatched() ? "learn-watched" : "learn";
  }

  nameOf(side) {
    return this.isHuman(side) ? (this.isHuman(other(side)) ? side : "You") : this.seats[side];
  }

  say({ turn, ended, result }) {
    const last = this.moves.length
      ? `${sideOf(this.moves.length - 1)} plays ${cellName(this.moves.at(-1), this.rules)}. `
      : "";
    let text;
    if (turn !== null) {
      text = this.isHuman(turn)
        ? this.isHuman(other(turn))
          ? `${turn} to move`
          : "Your move"
        : `${this.nameOf(turn)} to move`;
    } else if (result === "draw") {
      text = "A draw";
    } else {
      const winner = this.nameOf(result);
      text = winner === "You" ? "You win" : `${winner} wins`;
      if (ended === "illegal") text += ": the last move was illegal";
      if (ended === "resigned")
        text +=
          ": " +
          (this.nameOf(other(result)) === "You"
            ? "you resigned"
            : `${this.nameOf(other(result))} resigned`);
    }
    const side = turn ?? (result === "draw" ? null : result);
    this.status.replaceChildren(...(side ? [markIcon(side), " "] : []), text);
    announce(`${ended === "resigned" ? "" : last}${text}.`);
  }

  trail() {
    this.moveList.replaceChildren(
      ...this.moves.map((cell, ply) =>
        h("li", { class: sideOf(ply).toLowerCase() }, cellName(cell, this.rules)),
      ),
    );
  }

  fail(error) {
    this.status.textContent = "The game cannot go on";
    this.note.textContent = error.message;
    announce(`The game cannot go on: ${error.message}`);
  }

  // --- the end -----------------------------------------------------------------------------------

  /** Keep the game, and say what decided it. */
  async finish({ ended, result }) {
    const turn = this.turn;
    this.insight.clear();
    const game = { board: this.rules, moves: this.moves, ended, result };
    const people = ["X", "O"].filter((side) => this.isHuman(side));
    const about = {
      x: this.seats.X,
      o: this.seats.O,
      seed: this.seed,
      learn: this.learning.checked,
      ...(people.length === 1 ? { side: people[0] } : {}),
    };
    let note;
    try {
      const { id, address, learned } = await post("/api/games", { ...game, ...about });
      const told = Object.entries(learned).map(([name, text]) => ` ${name} ${text}.`);
      note = ["Kept as ", h("a", { href: address }, `game ${id}`), ".", ...told];
      if (told.length) await this.countAgain();
    } catch (error) {
      note = [`The game could not be kept: ${error.message}`];
    }
    if (turn !== this.turn) return;
    this.note.replaceChildren(...note);
    const judged = await post("/api/verdicts", game).catch(() => null);
    if (turn !== this.turn || !judged?.turning_point) return;
    this.note.append(` ${judged.turning_point[0].toUpperCase()}${judged.turning_point.slice(1)}.`);
    announce(this.note.textContent);
  }

  /** Ask again how many games the agents have learned from. */
  async countAgain() {
    this.agents = (await getAgents()).agents;
    this.fillSeat("X");
    this.fillSeat("O");
    this.showLearning();
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
    this.turn += 1;
  }
}

/** How many games an agent has learned from since its training, if any. */
export function learnedText({ learned }) {
  if (!learned) return "";
  const games = learned === 1 ? "1 game" : `${learned.toLocaleString("en")} games`;
  return `; learned from ${games} since its training; its certificate is of the training`;
}

/** The cells of "4,0,8". */
function cellsOf(text) {
  return (text ?? "")
    .split(",")
    .filter((word) => /^\d{1,2}$/.test(word))
    .map(Number);
}
