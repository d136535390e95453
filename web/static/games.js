// The list of kept games, and the page of one game.

import { thumbnail } from "./board.js";
import { agentPath, boardKey, boardName, get, getAgents, h, markIcon } from "./dom.js";
import { endText, Replay } from "./replay.js";

const when = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const nameOf = (player) =>
  player.kind === "human" && player.name === "human" ? "a person" : player.name;

export async function gamesPage(parameters) {
  const { agents } = await getAgents();
  return new Games(agents, parameters);
}

class Games {
  constructor(agents, parameters) {
    this.title = "Games";
    this.player = h("input", {
      id: "player",
      list: "players",
      value: parameters.get("player") ?? "",
      placeholder: "anyone",
      autocomplete: "off",
      maxlength: "100",
    });
    this.result = h(
      "select",
      { id: "result", onchange: () => this.filter() },
      [
        ["", "any result"],
        ["X", "X won"],
        ["O", "O won"],
        ["draw", "draw"],
      ].map(([value, text]) => h("option", { value }, text)),
    );
    this.result.value = parameters.get("result") ?? "";
    this.player.addEventListener("change", () => this.filter());
    this.count = h("p", { class: "count", role: "status" });
    this.list = h("ol", { class: "games" });
    this.more = h(
      "button",
      { type: "button", onclick: () => this.load(this.next), hidden: true },
      "Older games",
    );
    this.element = h(
      "div",
      { class: "page" },
      h("h1", { tabindex: "-1" }, "Games"),
      h(
        "form",
        {
          class: "filters",
          role: "search",
          "aria-label": "Games",
          onsubmit: (event) => (event.preventDefault(), this.filter()),
        },
        h("div", { class: "field" }, h("label", { for: "player" }, "Player"), this.player),
        h(
          "datalist",
          { id: "players" },
          ["human", ...agents.map((agent) => agent.id)].map((id) => h("option", { value: id })),
        ),
        h("div", { class: "field" }, h("label", { for: "result" }, "Result"), this.result),
      ),
      this.count,
      this.list,
      this.more,
    );
    this.load(null);
  }

  filter() {
    const asked = this.asked();
    history.replaceState(null, "", `/games${asked.size ? `?${asked}` : ""}`);
    this.load(null);
  }

  asked() {
    const asked = new URLSearchParams();
    if (this.player.value.trim()) asked.set("player", this.player.value.trim());
    if (this.result.value) asked.set("result", this.result.value);
    return asked;
  }

  async load(before) {
    const asked = this.asked();
    const isFiltered = asked.size > 0;
    if (before) asked.set("before", before);
    try {
      const { games, count, next } = await get(`/api/games?${asked}`);
      this.next = next;
      this.more.hidden = next === null;
      const items = games.map((game) => h("li", {}, gameLink(game)));
      if (before) this.list.append(...items);
      else this.list.replaceChildren(...items);
      const number = `${count.toLocaleString()} ${count === 1 ? "game" : "games"}`;
      this.count.textContent = count
        ? number
        : isFiltered
          ? "No such game."
          : "No game yet: play one, and it is kept here.";
      if (before) items[0]?.querySelector("a").focus();
    } catch (error) {
      this.count.textContent = error.message;
    }
  }
}

function gameLink(game) {
  const mark = (side, player) =>
    h(
      "span",
      { class: game.result === side ? "player winner" : "player" },
      markIcon(side),
      nameOf(player),
    );
  const about = [
    endText(game.result, game.ended),
    boardKey(game.board) === "3x3x3" ? null : boardName(game.board),
  ]
    .filter(Boolean)
    .join(" · ");
  return h(
    "a",
    { class: "game", href: `/games/${game.id}` },
    thumbnail(game.board, game.cells, game.line, game.ended === "illegal"),
    h("span", { class: "who" }, mark("X", game.x), mark("O", game.o)),
    h("span", { class: "what" }, about),
    h(
      "span",
      { class: "when" },
      h("span", { class: "number" }, `game ${game.id}`),
      h("time", { datetime: game.time }, when.format(new Date(game.time))),
    ),
  );
}

export async function gamePage(id) {
  const [game, { agents }] = await Promise.all([
    get(`/api/games/${encodeURIComponent(id)}`),
    getAgents(),
  ]);
  const here = (player) =>
    agents.some((agent) => agent.id === player.name && !agent.broken) && player.kind !== "human"
      ? player.name
      : null;
  const names = { X: nameOf(game.x), O: nameOf(game.o) };
  const ids = { X: here(game.x), O: here(game.o) };
  const replay = new Replay(game, names, ids);
  const who = (side) =>
    h(
      "span",
      { class: "player" },
      markIcon(side),
      ids[side] ? h("a", { href: agentPath(ids[side]) }, names[side]) : names[side],
    );
  const again = new URLSearchParams({
    x: ids.X ?? "human",
    o: ids.O ?? "human",
    board: boardKey(game.board),
  });
  const element = h(
    "div",
    { class: "page wide" },
    h("h1", { tabindex: "-1" }, `Game ${id}`),
    h("p", { class: "lead" }, who("X"), h("span", {}, "against"), who("O")),
    h(
      "p",
      { class: "count" },
      `${boardName(game.board)} · ${endText(game.result, game.ended)} · `,
      h("time", { datetime: game.time }, when.format(new Date(game.time))),
      " · ",
      h("a", { href: `/?${again}` }, "play these two again"),
    ),
    replay.element,
  );
  return { title: `Game ${id}`, element, leave: () => replay.leave() };
}
