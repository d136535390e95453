// The list of kept games: those of people first, and a search that finds what the list shows.

import { button, h, markIcon } from "./dom.js";
import { get, getAgents } from "./server.js";
import { thumbnail } from "./thumbnail.js";
import { boardKey, boardName, capital, endText, plural } from "./words.js";

const CLOCK = { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" };
const thisYear = new Intl.DateTimeFormat(undefined, CLOCK);
const anyYear = new Intl.DateTimeFormat(undefined, { ...CLOCK, year: "numeric" });
/** A date and a time; the year only if it is another one. */
const timeText = (date) =>
  (date.getFullYear() === new Date().getFullYear() ? thisYear : anyYear).format(date);
const WHO = { people: "true", agents: "false", all: null }; // the parameter `people` of the server

export async function gamesPage(_, parameters, signal) {
  const { agents } = await getAgents(signal);
  return new Games(agents, parameters);
}

function choice(id, options, chosen, onchange) {
  const element = h(
    "select",
    { id, onchange },
    options.map(([value, text]) => h("option", { value }, text)),
  );
  element.value = options.some(([value]) => value === chosen) ? chosen : options[0][0];
  return element;
}

class Games {
  constructor(agents, parameters) {
    this.title = "Games";
    const change = () => this.filter();
    this.player = h("input", {
      id: "player",
      list: "players",
      value: parameters.get("player") ?? "",
      placeholder: "anyone",
      autocomplete: "off",
      maxlength: "100",
      onchange: change,
    });
    const who = [
      ["people", "with people"],
      ["agents", "between agents"],
      ["all", "all games"],
    ];
    this.who = choice("who", who, parameters.get("who"), change);
    const results = [
      ["", "any result"],
      ["X", "X won"],
      ["O", "O won"],
      ["draw", "draw"],
    ];
    this.result = choice("result", results, parameters.get("result"), change);
    this.count = h("p", { class: "count", role: "status" });
    this.list = h("ol", { class: "games" });
    this.more = button("Older games", () => this.load(this.next), { hidden: true });
    const titles = ["a person", ...new Set(agents.map((agent) => agent.title))];
    const field = (text, element) =>
      h("div", { class: "field" }, h("label", { for: element.id }, text), element);
    this.element = h(
      "div",
      { class: "page" },
      h("h1", { tabindex: "-1" }, "Games"),
      h(
        "form",
        {
          class: "filters",
          role: "search",
          "aria-label": "Choose games",
          onsubmit: (event) => (event.preventDefault(), this.filter()),
        },
        field("Games", this.who),
        field("Player", this.player),
        h(
          "datalist",
          { id: "players" },
          titles.map((value) => h("option", { value })),
        ),
        field("Result", this.result),
      ),
      this.count,
      this.list,
      this.more,
    );
    this.load(null);
  }

  filter() {
    const shown = new URLSearchParams();
    if (this.who.value !== "people") shown.set("who", this.who.value);
    if (this.player.value.trim()) shown.set("player", this.player.value.trim());
    if (this.result.value) shown.set("result", this.result.value);
    history.replaceState(history.state, "", `/games${shown.size ? `?${shown}` : ""}`);
    this.load(null);
  }

  asked(who) {
    const asked = new URLSearchParams();
    if (WHO[who] !== null) asked.set("people", WHO[who]);
    if (this.player.value.trim()) asked.set("search", this.player.value.trim());
    if (this.result.value) asked.set("result", this.result.value);
    return asked;
  }

  async load(before) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const asked = this.asked(this.who.value);
    if (before) asked.set("before", before);
    try {
      const { games, count, next } = await get(`/api/games?${asked}`);
      if (turn !== this.turn) return;
      this.next = next;
      this.more.hidden = next === null;
      const items = games.map((game) => h("li", {}, gameLink(game)));
      if (before) this.list.append(...items);
      else this.list.replaceChildren(...items);
      this.count.replaceChildren(...(count ? [plural(count, "game")] : await this.none()));
      if (before) items[0]?.querySelector("a").focus();
    } catch (error) {
      this.count.textContent = error.message;
    }
  }

  /** What stands in place of an empty list, with the way to the games that there are. */
  async none() {
    if (this.who.value === "all")
      return [this.asked("all").size ? "No such game." : "No game yet: play one, and it is kept."];
    const { count } = await get(`/api/games?${this.asked("all")}`);
    const text = this.asked("all").size ? "No such game" : "No game yet";
    const among = this.who.value === "people" ? " of a person." : " between agents.";
    const all = () => ((this.who.value = "all"), this.filter());
    const way = count && button(`Show all ${plural(count, "game")}`, all, { class: "linkish" });
    return [text + among, ...(way ? [" ", way] : [])];
  }
}

function gameLink(game) {
  const mark = (side, { title }) =>
    h("span", { class: game.result === side ? "player winner" : "player" }, markIcon(side), title);
  const size = boardKey(game.board) === "3x3x3" ? null : boardName(game.board);
  const about = [capital(endText(game.result, game.ended)), size].filter(Boolean).join(" · ");
  return h(
    "a",
    { class: "game", href: `/games/${game.id}` },
    thumbnail(game.board, game.cells, game.line, game.ended === "illegal"),
    h("span", { class: "who" }, mark("X", game.x), mark("O", game.o)),
    h(
      "span",
      { class: "details" },
      h("span", { class: "what" }, about),
      h(
        "span",
        { class: "when" },
        h("span", { class: "number" }, `game ${game.id}`),
        h("time", { datetime: game.time }, timeText(new Date(game.time))),
      ),
    ),
  );
}
