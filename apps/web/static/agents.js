// The list of players, as cards.

import { h } from "./dom.js";
import { getAgents } from "./server.js";
import {
  GROUPS,
  aboutText,
  agentPath,
  boardName,
  capital,
  learnedText,
  oneSided,
} from "./words.js";

export async function agentsPage(_, __, signal) {
  const list = h("div", {});
  let known = "";
  const show = async () => {
    const { agents } = await getAgents(signal);
    const shown = JSON.stringify(agents);
    if (shown === known) return;
    known = shown;
    list.replaceChildren(...groupsOf(agents));
  };
  await show();
  const again = () => show().catch(() => {}); // the server has been stopped: the list stays
  addEventListener("focus", again);
  const element = h("div", { class: "page wide" }, h("h1", { tabindex: "-1" }, "Players"), list);
  return { title: "Players", element, leave: () => removeEventListener("focus", again) };
}

/** The groups that have members, and the runs always, with links to each above them. */
function groupsOf(agents) {
  const groups = GROUPS.map(([id, heading, about]) => ({
    id: `group-${id}`,
    heading,
    about,
    members: agents.filter((agent) => agent.group === id),
  })).filter(({ id, members }) => members.length > 0 || id === "group-run");
  const links = groups.map(({ id, heading }) => h("li", {}, h("a", { href: `#${id}` }, heading)));
  return [
    h("ul", { class: "jumps", "aria-label": "Groups of players" }, links),
    ...groups.flatMap(({ id, heading, about, members }) => [
      h("h2", { id, tabindex: "-1" }, heading),
      h("p", { class: "count" }, about),
      members.length ? h("ul", { class: "agents" }, members.map(card)) : h("p", {}, NONE),
    ]),
  ];
}

const NONE = [
  "None yet. This trains one: ",
  h("code", {}, "make train"),
  ". It appears here when you come back to this page.",
];

const card = (agent) =>
  h(
    "li",
    {},
    h(
      "a",
      {
        class: `agent${agent.broken ? " broken" : ""}`,
        href: agentPath(agent.id),
        "data-title": agent.label,
      },
      h("strong", {}, agent.label),
      badge(agent),
      h("span", { class: "about" }, shortDescription(agent)),
      agent.group === "run" && h("span", { class: "id" }, agent.id), // the folder
    ),
  );

/** What is proven of a player, as a sign with words; nothing where nothing is proven. */
export function badge(agent) {
  if (agent.broken) return h("span", { class: "badge beaten" }, "! damaged");
  const isClaim = agent.kind === "run" && !agent.verified;
  if (isClaim) return h("span", { class: "badge" }, "not checked yet");
  if (agent.unbeatable === null) return null;
  const only = agent.side ? ` as ${agent.side}` : "";
  return agent.unbeatable
    ? h("span", { class: "badge proven" }, `✓ unbeatable${only}`)
    : h("span", { class: "badge beaten" }, `✗ can be beaten${only}`);
}

/** What a player is, in a few sentences. */
export function description(agent) {
  if (agent.broken) return agent.about;
  const board = agent.board ? boardName(agent.board) : agent.boards;
  const what = agent.kind === "agent" ? `${aboutText(agent)} · ` : "";
  const texts = [`${what}${capital(board)}`, capital(oneSided(agent))];
  return joined([...texts, learnedText(agent)]);
}

/** The same on a card, where what is known of its strength stands instead of the board. */
function shortDescription(agent) {
  if (agent.broken || !agent.results) return joined([description(agent), agent.method]);
  return joined([agent.results.replaceAll(" %", "\u00a0%"), agent.method, learnedText(agent)]);
}

const joined = (texts) =>
  texts
    .filter(Boolean)
    .map((text) => text.replace(/\.$/, ""))
    .join(". ") + ".";
