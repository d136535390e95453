// The page of one game: who played it, and its replay.

import { h, markIcon } from "./dom.js";
import { Replay } from "./replay.js";
import { Problem, get, getAgents } from "./server.js";
import { agentPath, boardKey, boardName, endText } from "./words.js";

const when = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export async function gamePage([id], _, signal) {
  const [game, { agents }] = await Promise.all([
    get(`/api/games/${encodeURIComponent(id)}`, signal).catch((error) => {
      if (!(error instanceof Problem) || error.status !== 404) throw error;
      throw new Error(`There is no game “${id}” here.`);
    }),
    getAgents(signal),
  ]);
  const here = (player) =>
    (player.kind !== "human" &&
      agents.find((agent) => agent.id === player.name && !agent.broken)) ||
    null;
  const players = { X: here(game.x), O: here(game.o) };
  const who = (side) => {
    const agent = players[side];
    const { title } = side === "X" ? game.x : game.o;
    const attributes = agent && { href: agentPath(agent.id), "data-title": agent.label };
    const name = agent ? h("a", attributes, agent.label) : title;
    return h("span", { class: "player" }, markIcon(side), name);
  };
  const again = new URLSearchParams({
    x: players.X?.id ?? "human",
    o: players.O?.id ?? "human",
    board: boardKey(game.board),
  });
  const head = [
    h("h1", { tabindex: "-1" }, `Game ${id}`),
    h("p", { class: "lead" }, who("X"), h("span", {}, "against"), who("O")),
    h(
      "p",
      { class: "count" },
      `${boardName(game.board)} · ${endText(game.result, game.ended)} · `,
      h("time", { datetime: game.time }, when.format(new Date(game.time))),
      " · ",
      h("a", { href: `/?${again}` }, "play again"),
    ),
  ];
  const replay = new Replay(game, players, { head, hasKeys: true });
  return {
    title: `Game ${id}`,
    element: h("div", { class: "page wide" }, replay.element),
    leave: () => replay.leave(),
  };
}
