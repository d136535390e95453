// The course of a game: agents and people move in turn, and at its end it is kept and judged.

import { guided, invitation, lesson, provenAgainst, warning } from "./challenge.js";
import * as data from "./data.js";
import { announce, fill, html, isStill, patiently, wait } from "./dom.js";
import { hintFor } from "./hint.js";
import { session } from "./memory.js";
import { other, sideOf } from "./rules.js";
import { judged } from "./verdict.js";
import { SIDES, capital } from "./words.js";

const NAMES = "The cell a1 is at the top left: a letter is a column, a number is a row.";
const REPLY = 280; // milliseconds before an agent answers a person
const BREAK = 3_000; // milliseconds between two games that are only watched

export class Turns {
  /**
   * game: a Game. texts: sentences for the note. page: shows the game with its `board`, `numbers`,
   * `status`, `controls`, `score` and `learning`; `page.again()` begins another game, and
   * `page.refresh()` loads the agents again.
   */
  constructor(game, texts, page) {
    Object.assign(this, { game, texts, page, turn: 0, isPaused: false });
  }

  /** Begin something else: answers that are still to come are ignored, and no longer waited for. */
  nextTurn() {
    this.asking?.abort();
    this.asking = new AbortController();
    return ++this.turn;
  }

  stop() {
    this.nextTurn();
  }

  /** Show how the game stands. Then an agent moves, a person may move, or the game is over. */
  async proceed() {
    const turn = this.nextTurn();
    const { game, page } = this;
    const { players, moves } = game;
    const mover = game.turn;
    const mayChoose = mover !== null && players.isHuman(mover);
    const line = mayChoose && game.guide.length ? guided(game.guide, moves, players.people) : {};
    if (line.text) this.texts = [line.text];
    const guide = line.next === undefined ? [] : [line.next];
    page.board.show({ moves, open: mayChoose, guide, hints: [], blunder: undefined, notes: null });
    this.show();
    page.status.show(game);
    const looked = this.look();
    if (mover === null) return this.finish(turn);
    const isFirst = moves.length === 0;
    const first = isFirst && (invitation(players.agents, players.seats) ?? NAMES);
    page.status.tell(this.texts.join(" ") || first);
    if (guide.length) this.warn(turn, ...guide);
    if (mayChoose || this.isPaused) return;
    if (players.areWatched) {
      await looked; // its numbers are seen before it moves
      await wait(page.controls.speed);
    } else await wait(isStill() ? 0 : REPLY);
    if (turn === this.turn) await this.move();
  }

  /** Show the score, and the buttons that can be used now. */
  show() {
    const { game, page } = this;
    const names = Object.fromEntries(SIDES.map((side) => [side, game.players.nameOf(side)]));
    page.score.show(game.players.seats, names, game.turn);
    page.controls.show(game, this.isPaused);
  }

  /** Show the numbers of the agent to move, or on a person's turn of the other one; save the game. */
  look() {
    const { moves, players, isOver, saved } = this.game;
    if (!isOver) session.set("game", saved);
    const side = sideOf(moves.length);
    const agent = players.agentOf(side) ?? players.agentOf(other(side)) ?? null;
    return this.page.numbers.update(moves, agent, isOver);
  }

  // --- moves -------------------------------------------------------------------------------------

  /** Let the agent move. */
  async move() {
    const turn = this.nextTurn();
    const { game, page } = this;
    const { moves, rules, seed, players, turn: side } = game;
    const asked = { board: rules, moves, agent: players.seats[side], seed };
    const say = (time) => {
      if (turn === this.turn) page.status.think(side, players.nameOf(side), time);
    };
    try {
      const { cell } = await patiently(data.move(asked, this.asking.signal), say);
      if (turn !== this.turn) return;
      game.add(cell);
      await this.proceed();
    } catch (error) {
      if (turn === this.turn) page.status.fail(error, () => this.proceed());
    }
  }

  /** A person moves. */
  choose(cell) {
    session.set("left", null); // one goes on with this game
    this.texts = [];
    this.game.add(cell);
    this.proceed();
  }

  undo() {
    this.game.takeBack();
    this.texts = [];
    announce("Taken back.");
    this.proceed();
  }

  resign() {
    this.game.resigned = this.game.players.you ?? this.game.turn;
    this.proceed();
  }

  /** Halt a game that is only watched, or let it go on. */
  pause() {
    this.isPaused = !this.isPaused;
    this.proceed();
  }

  // --- advice ------------------------------------------------------------------------------------

  /** Say beside the board if the dashed move is a mistake against perfect play. */
  async warn(turn, cell) {
    const { rules, moves } = this.game;
    const text = await warning(rules, moves, cell, this.asking.signal);
    if (text && turn === this.turn) this.page.status.tell(text);
  }

  /** Mark the best moves, or one that the opponent is known to lose to. */
  async hint() {
    const { turn, page } = this;
    const { rules, moves, players } = this.game;
    const { you, opponent: agent } = players;
    const isBeatable = agent?.unbeatable === false;
    try {
      const line = isBeatable && page.hasTried ? (await provenAgainst(you, agent)).losing_line : null;
      const { cells, text } = await hintFor(rules, moves, isBeatable || agent?.group === "easy", line);
      if (turn !== this.turn) return;
      page.hasTried = true;
      page.board.show({ hints: cells });
      page.status.tell(text);
      announce(text);
    } catch (error) {
      if (turn === this.turn) page.status.tell(error.message);
    }
  }

  // --- the end -----------------------------------------------------------------------------------

  /** Keep the game, and say what decided it. */
  async finish(turn) {
    const { game, page } = this;
    const { players, rules, moves, seed } = game;
    const { you, opponent } = players;
    const { ended, result } = game.state;
    session.set("game", null);
    page.status.judge(null);
    if (!game.isCounted) page.score.count(players.seats, result);
    game.isCounted = true;
    page.hasTried ||= result !== you;
    this.show();
    const played = { board: rules, moves, ended, result };
    const judging = judged(played, you).catch(() => null);
    const { X: x, O: o } = players.seats;
    const side = you ? { side: you } : {};
    const kept = data.keep({ ...played, x, o, seed, learn: page.learning.isOn, ...side });
    const told = await kept
      .then((found) => this.keptText(found))
      .catch((error) => [`The game could not be kept. ${error.message}`]);
    told.push(await lesson(players.agents, opponent, you, result).catch(() => null));
    if (turn !== this.turn) return;
    fill(page.numbers.caption, told);
    const judgement = await judging;
    if (turn !== this.turn) return;
    if (judgement) {
      page.board.show({ blunder: judgement.ply });
      page.status.judge(judgement);
    }
    announce(`${page.status.note.textContent} ${page.numbers.caption.textContent}`);
    await wait(BREAK);
    if (turn === this.turn && page.controls.isEndless && players.areWatched) page.again({ shown: game.shown });
  }

  /** Sentences about a game that has been kept, and the players that have learned from it. */
  async keptText({ id, learned }) {
    const texts = Object.entries(learned).map(([name, text]) => {
      const agent = this.game.players.find(name);
      return ` ${agent?.label ?? capital(name)} ${text}.`;
    });
    if (texts.length) await this.page.refresh();
    return ["Kept as ", html`<a href=${`/games/${id}`}>game ${id}</a>`, ".", texts];
  }
}
