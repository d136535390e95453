// The list of kept games, and the page of one.

import { Board } from "./board.js";
import { agents, game, games } from "./data.js";
import { fill, html, markIcon, showAddress } from "./dom.js";
import { Replay } from "./replay.js";
import { HUMAN, SIDES, agentPath, boardKey, boardName, capital, gamePath, plural } from "./words.js";
import { endText } from "./rules.js";

const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const timeOf = ({ time }) =>
  html`<time datetime=${time}>${timeFormat.format(new Date(time))}</time>`;
const PEOPLE = { people: "true", agents: "false" }; // what the choice asks for; of all games, nothing

/** Choices: their values, and what is shown. */
const WHO = { people: "with people", agents: "between agents", all: "all games" };
const RESULTS = { "": "any result", X: "X won", O: "O won", draw: "draw" };

export const gamesPage = async (_, parameters) => new Games(parameters);

class Games {
  constructor(parameters) {
    this.title = "Games";
    const filter = () => this.filter();
    const choice = (id, options) => html`
      <select id=${id} @change=${filter}>
        ${Object.entries(options).map(([value, text]) => html`<option value=${value} selected=${value === parameters.get(id)}>${text}</option>`)}
      </select>`;
    this.who = choice("who", WHO);
    this.result = choice("result", RESULTS);
    this.player = html`
      <input id="player" placeholder="anyone" autocomplete="off" maxlength="100"
        value=${parameters.get("player") ?? ""} @change=${filter}>`;
    this.count = html`<p class="count" role="status"></p>`;
    this.list = html`<ol class="games"></ol>`;
    this.more = html`<button type="button" hidden @click=${() => this.load(this.next)}>Older games</button>`;
    const search = (event) => (event.preventDefault(), this.filter());
    this.element = html`
      <div class="page">
        <h1 tabindex="-1">Games</h1>
        <form class="filters" role="search" aria-label="Choose games" @submit=${search}>
          <div class="field"><label for="who">Games</label>${this.who}</div>
          <div class="field"><label for="player">Player</label>${this.player}</div>
          <div class="field"><label for="result">Result</label>${this.result}</div>
        </form>
        ${this.count}${this.list}${this.more}
      </div>`;
    this.load();
  }

  /** The filters, as an object without empty fields. */
  asked() {
    const search = this.player.value.trim();
    const asked = { people: PEOPLE[this.who.value], search, result: this.result.value };
    return Object.fromEntries(Object.entries(asked).filter(([, value]) => value));
  }

  filter() {
    const { search, result } = this.asked();
    const shown = Object.entries({ who: this.who.value, player: search, result });
    const chosen = shown.filter(([, value]) => value && value !== "people");
    showAddress(`/games?${new URLSearchParams(chosen)}`);
    this.load();
  }

  /** Words for an empty list: an invitation, unless something was searched for. */
  nothing() {
    const { search, result } = this.asked();
    if (search || result) return "No such game.";
    return html`<span>No games yet. <a href="/">Play one</a>.</span>`;
  }

  async load(before) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const found = await games({ ...this.asked(), ...(before ? { before } : {}) });
      if (turn !== this.turn) return;
      this.next = found.next;
      this.more.hidden = found.next === null;
      const items = found.games.map((game) => html`<li>${gameLink(game)}</li>`);
      if (before) this.list.append(...items);
      else fill(this.list, items);
      fill(this.count, found.count ? plural(found.count, "game") : this.nothing());
      if (before) items[0]?.querySelector("a").focus();
    } catch (error) {
      fill(this.count, error.message);
    }
  }
}

function gameLink(game) {
  const mark = (side, { title }) =>
    html`<span class=${game.result === side ? "player winner" : "player"}>${markIcon(side)}${title}</span>`;
  const board = new Board(game.board);
  board.show({ moves: game.cells });
  const size = boardKey(game.board) === "3x3x3" ? "" : ` · ${boardName(game.board)}`;
  return html`
    <a class="game" href=${`/games/${game.id}`}>
      <span class="thumbnail" aria-hidden="true">${board.element}</span>
      <span class="who">${mark("X", game.x)}${mark("O", game.o)}</span>
      <span class="what">${capital(endText(game.result, game.ended))}${size}</span>
      <span class="when"><span class="number">game ${game.id}</span>${timeOf(game)}</span>
    </a>`;
}

/** Who played a game, and its replay. */
export async function gamePage([id], _, signal) {
  const [found, { agents: known }] = await Promise.all([game(id, signal), agents(signal)]);
  const here = (side) => {
    const { kind, name } = found[side.toLowerCase()];
    return kind !== HUMAN && known.find((agent) => agent.id === name && !agent.broken);
  };
  const players = Object.fromEntries(SIDES.map((side) => [side, here(side) || null]));
  const who = (side) => {
    const agent = players[side];
    const name = agent
      ? html`<a href=${agentPath(agent.id)} data-title=${agent.label}>${agent.label}</a>`
      : found[side.toLowerCase()].title;
    return html`<span class="player">${markIcon(side)}${name}</span>`;
  };
  const seats = { X: players.X?.id ?? HUMAN, O: players.O?.id ?? HUMAN };
  const head = html`
    <h1 tabindex="-1">Game ${id}</h1>
    <p class="lead">${who("X")}<span>against</span>${who("O")}</p>
    <p class="count">
      ${boardName(found.board)} · ${endText(found.result, found.ended)} · ${timeOf(found)} ·
      <a href=${gamePath(seats, found.board)}>play again</a>
    </p>`;
  const replay = new Replay(found, players, { head, hasKeys: true });
  return {
    title: `Game ${id}`,
    element: html`<div class="page wide">${replay.element}</div>`,
    leave: () => replay.leave(),
  };
}
