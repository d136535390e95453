// The data of the page, from its server: /openapi.json describes the requests. tables.js has the
// same functions for a page without a server. Nothing else asks for data.

import { pathOf, sentences } from "./words.js";

/** How phones can open the page, where they cannot. */
export const FOR_PHONES = "With --host 0.0.0.0 its program serves all devices in the network, and says their address here.";

/** All agents, {agents, boards, groups, shared}. An agent has a `label`: its title, and its folder too where several have the same title. */
export async function agents(signal) {
  const found = await get("agents", signal);
  const titles = found.agents.map(({ title }) => title);
  const isTwice = (title) => titles.indexOf(title) !== titles.lastIndexOf(title);
  for (const agent of found.agents)
    agent.label = isTwice(agent.title) ? `${agent.title} (${agent.id})` : agent.title;
  return found;
}

export const agent = (id, signal) =>
  get(`agents/${pathOf(id)}`, signal, `There is no player “${id}” here.`);
/** {verdict, tables, left} of an agent on 6x7 with gravity; one more table in each answer. */
export const accuracy = (id, signal) => get(`accuracy/${pathOf(id)}`, signal);
/** The address of a certificate as a file, or null. */
export const certificateFile = (id) => `/api/certificates/${pathOf(id)}`;
/** The address of a picture of a QR code, or null. */
export const codeOf = (text) => `/api/code?${new URLSearchParams({ text })}`;
/** The cell that an agent plays. asked: {board, moves, agent, seed}. */
export const move = (asked, signal) => post("move", asked, signal);
/**
 * {thoughts, truth, unknown}: of an agent, and where the truth is null, why it is unknown.
 * asked: {board, moves, agent, values, truth}.
 */
export const analysis = (asked, signal) => post("analysis", asked, signal);
/** {verdicts, unknown} on the moves of a finished game, alike. game: {board, moves, ended, result}. */
export const verdicts = (game) => post("verdicts", game);
/** {ppo}: whether the server can train a network while one watches. */
export const trains = (signal) => get("training", signal);
/** {steps, cells, probs} of a network in training. asked: {id, instead_of, seed, moves, further}. */
export const train = (asked, signal) => post("training", asked, signal);
/** Keep a game: such a one with {x, o, side, seed, learn}. */
export const keep = (game) => post("games", game);
/** Kept games. asked: {people, search, result, before}. */
export const games = (asked) => get(`games?${new URLSearchParams(asked)}`);
export const game = (id, signal) =>
  get(`games/${encodeURIComponent(id)}`, signal, `There is no game “${id}” here.`);

/** The address in this browser of a path of the page, and the path that is shown. */
export const addressOf = (path) => path;
export const here = () => location.pathname + location.search;

/** missing: what is said if there is nothing of this name. */
const get = (path, signal, missing) =>
  answer(fetch(`/api/${path}`, { headers: { accept: "application/json" }, signal }), signal, missing);

function post(path, content, signal) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(content);
  return answer(fetch(`/api/${path}`, { method: "POST", headers, body, signal }), signal);
}

async function answer(request, signal, missing) {
  let response;
  try {
    response = await request;
  } catch {
    signal?.throwIfAborted();
    throw new Error(
      "The program behind this page does not answer. Is it still running? Start it again, then try once more.",
    );
  }
  const content = await response.json().catch(() => ({ error: "the answer of the program behind this page is not readable" }));
  signal?.throwIfAborted();
  if (response.ok) return content;
  throw new Error((response.status === 404 && missing) || sentences(content.error));
}
