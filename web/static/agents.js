// The list of players, as cards.

import { h } from "./dom.js";
import { getAgents } from "./server.js";
import { agentPath, boardName, capital, learnedText } from "./words.js";

export async function agentsPage(_, __, signal) {
  const { agents } = await getAgents(signal);
  const group = (heading, about, kind, none = []) => {
    const members = agents.filter((agent) => agent.kind === kind);
    if (members.length === 0 && none.length === 0) return [];
    return [
      h("h2", {}, heading),
      h("p", { class: "count" }, about),
      members.length ? h("ul", { class: "agents" }, members.map(card)) : h("p", {}, none),
    ];
  };
  const none = [
    "None yet. A Q-learner takes a minute: ",
    h("code", {}, "python train.py tabular_q"),
  ];
  const runs = agents.some((agent) => agent.kind === "run");
  const own = group("Your training runs", "Trained on this computer.", "run", runs ? [] : none);
  const trained = group("Trained players", "They come with the program.", "trained");
  const element = h(
    "div",
    { class: "page wide" },
    h("h1", { tabindex: "-1" }, "Players"),
    runs ? [own, trained] : [trained, own],
    group("Without training", "They calculate, or they guess.", "agent"),
  );
  return { title: "Players", element };
}

const card = (agent) =>
  h(
    "li",
    {},
    h(
      "a",
      { class: `agent${agent.broken ? " broken" : ""}`, href: agentPath(agent.id) },
      h("strong", {}, agent.label),
      badge(agent),
      h("span", { class: "about" }, description(agent)),
      h("span", { class: "id" }, agent.id),
    ),
  );

/** What is proven of a player, as a sign with words; nothing where nothing is proven. */
export function badge(agent) {
  if (agent.broken) return h("span", { class: "badge beaten" }, "! damaged");
  if (agent.unbeatable === null) return null;
  if (!agent.verified) return h("span", { class: "badge" }, "not checked yet");
  const side = /as ([XO])\b(?!.*as [XO]\b)/.exec(agent.about)?.[1];
  const only = side && /only|trained for|certified/.test(agent.about) ? ` as ${side}` : "";
  return agent.unbeatable
    ? h("span", { class: "badge proven" }, `✓ unbeatable${only}`)
    : h("span", { class: "badge beaten" }, `✗ can be beaten${only}`);
}

/** What a player is, in a sentence. */
export function description(agent) {
  if (agent.broken) return agent.about;
  const board = agent.board ? boardName(agent.board) : agent.boards;
  const what = agent.kind === "agent" ? `${capital(agent.about)} · ` : "";
  return [`${what}${capital(board)}`, learnedText(agent)].filter(Boolean).join(". ");
}
