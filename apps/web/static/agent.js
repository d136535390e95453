// The page of one player: what is proven of it, a game that it loses, and how it learned.

import { badge, description } from "./agents.js";
import { button, h, markIcon } from "./dom.js";
import { growthOf } from "./growth.js";
import { Replay } from "./replay.js";
import { results } from "./results.js";
import { Problem, get, getAgents, post } from "./server.js";
import {
  agentPath,
  boardKey,
  boardName,
  cellOf,
  oneSided,
  other,
  pathOf,
  plural,
} from "./words.js";

export async function agentPage([id], _, signal) {
  const [agent, { agents }] = await Promise.all([found(id, signal), getAgents(signal)]);
  agent.label = agents.find((one) => one.id === agent.id)?.label ?? agent.title;
  const replays = [];
  const { certificate } = agent;
  const element = h(
    "div",
    { class: "page wide" },
    h(
      "div",
      { class: "agent-head" },
      h("h1", { tabindex: "-1" }, agent.label),
      h(
        "p",
        { class: "lead" },
        !saysItself(agent) && badge(agent),
        h("span", {}, description(agent)),
        h("code", {}, agent.id),
      ),
    ),
  );
  if (certificate) {
    const sides = trainedSides(certificate);
    const losses = sides.map((side) => losing(agent, certificate, side, replays, signal));
    const grown = growthOf(agent, sides, signal).catch(() => null);
    const lost = oneOf((await Promise.all(losses)).filter(Boolean));
    const links = playLinks(agent, certificate.board, lost.length === 0);
    element.append(
      h("div", { class: "said" }, statement(certificate), links),
      ...lost,
      results(certificate, sides),
      ...[story(agent, certificate), (await grown) ?? notRecorded(agent)].filter(Boolean),
      facts(agent, certificate),
    );
  } else {
    element.append(
      h(
        "div",
        { class: "said" },
        h("p", { class: agent.broken ? "error" : "statement" }, whyNot(agent)),
        !agent.broken && playLinks(agent, agent.board, true),
      ),
    );
  }
  return { title: agent.label, element, leave: () => replays.forEach((replay) => replay.leave()) };
}

async function found(id, signal) {
  try {
    return await get("/api" + agentPath(id), signal);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
    throw new Error(`There is no player “${id}” here.`);
  }
}

/** Whether the box below the name says what the sign beside the name would say. */
const saysItself = ({ broken, certificate, verified }) => broken || (certificate && verified);

/** What the number in the name of a run means. */
function seedText({ label, certificate }) {
  const seed = certificate?.seed;
  if (!Number.isInteger(seed) || !label.includes(`, seed ${seed}`)) return "";
  return `Seed ${seed} fixes the random choices of its training: another seed gives another player.`;
}

const whyNot = ({ broken, reason, about }) =>
  broken
    ? `Its file is damaged, so it cannot play: ${about}`
    : `Nothing is proven of it here: ${reason}.`;

const part = (certificate, side) => certificate[`as_${side.toLowerCase()}`];
const seats = (agent, side) => ({
  [side.toLowerCase()]: "human",
  [other(side).toLowerCase()]: agent.id,
});

/**
 * The ways to a game against an agent; first where it plays the side that it was trained for.
 * isPrimary: whether the first one is the main button of the page.
 */
function playLinks(agent, board, isPrimary) {
  const sides = agent.side === "X" ? ["O", "X"] : ["X", "O"];
  const links = sides.map((side, number) => {
    const chosen = { ...seats(agent, side), ...(board ? { board: boardKey(board) } : {}) };
    const attributes = {
      class: isPrimary && number === 0 ? "button primary" : "button",
      href: `/?${new URLSearchParams(chosen)}`,
    };
    return h("a", attributes, "You play ", markIcon(side));
  });
  const only =
    agent.side && `It was ${oneSided(agent)}: if you play ${agent.side}, it makes untrained moves.`;
  return h("p", { class: "buttons" }, links, only && h("span", { class: "only" }, only));
}

/** The sides of which the certificate holds results: both on boards of up to 12 cells. */
const certifiedSides = (certificate) => certificate.sides ?? ["X", "O"];

/** The certified sides that an agent was trained to play. */
function trainedSides(certificate) {
  const side = certificate.config?.side;
  const sides = certifiedSides(certificate);
  return sides.includes(side) ? [side] : sides;
}

/** What is proven, in a sentence; of an agent that was trained as one side, for that side. */
function statement(certificate) {
  const sides = trainedSides(certificate);
  const isOneSided = certifiedSides(certificate).length === 1;
  const why = isOneSided ? "the side that is proven" : "the side that it was trained for";
  const only = sides.length === 1 ? ` as ${sides[0]} (${why})` : "";
  const board = boardName(certificate.board);
  const beaten = sides.filter((side) => !part(certificate, side).unbeatable);
  if (beaten.length) {
    const places = beaten.map((side) => {
      const isHopeless = part(certificate, side).limit_vs_random === null;
      return `as ${side}${isHopeless ? ` (as any ${side} on this board)` : ""}`;
    });
    const games = beaten.length > 1 ? "games that it loses are" : "game that it loses is";
    return h(
      "p",
      { class: "statement beaten" },
      h("strong", {}, `✗ On ${board} it can be beaten`),
      ` ${places.join(" and ")}. The shortest ${games} below.`,
    );
  }
  const rest = sides.every((side) => part(certificate, side).optimal)
    ? "No player that never loses wins more often against random moves."
    : "Another player that never loses wins more often against random moves.";
  return h(
    "p",
    { class: "statement proven" },
    h("strong", {}, `✓ Proven on ${board}: nobody can beat it${only}.`),
    ` ${certificate.format === 2 ? onLines(certificate, sides) : rest}`,
  );
}

/** What is proven by the positions that an agent can meet, on a larger board. */
function onLines(certificate, sides) {
  const texts = sides.map((side) => {
    const { always_wins: wins, decisions } = part(certificate, side);
    const what = wins ? "It wins every game" : "No line of play makes it lose";
    return `${what} as ${side}: it decides in ${decisions.toLocaleString("en")} positions that it can meet.`;
  });
  return texts.join(" ");
}

/** The shortest game that the agent loses as one side, to replay and to play. */
async function losing(agent, certificate, side, replays, signal) {
  const { losing_line: names, worst_case_loss: loss } = part(certificate, side);
  if (!names) return null;
  const isRandom = loss < 1 - 1e-9; // else somebody wins every game against it
  const { board } = certificate;
  const cells = names.map((name) => cellOf(name, board));
  const isIllegal = cells.indexOf(cells.at(-1)) < cells.length - 1;
  const { line } = isIllegal
    ? { line: [] }
    : (await post("/api/analysis", { board, moves: cells }, signal)).standing;
  const game = { board, cells, line, ended: isIllegal ? "illegal" : "line", result: other(side) };
  const players = { X: null, O: null, [side]: agent };
  const replay = new Replay(game, players, { heading: "h3", isNamed: false });
  replays.push(replay);
  const play = new URLSearchParams({
    ...seats(agent, other(side)),
    board: boardKey(board),
    line: cells.join(","),
  });
  return h(
    "section",
    { class: "losing", "aria-label": `The game that it loses as ${side}` },
    h(
      "div",
      { class: "losing-head" },
      h("h2", {}, "The game that it loses as ", markIcon(side)),
      h("span", {}, `The shortest one: ${names.join(" ")}`),
      h("a", { class: "button primary", href: `/?${play}` }, "Beat it yourself"),
      isRandom && h("span", { class: "count" }, "It moves at random: this may take several tries."),
    ),
    replay.element,
  );
}

/** Of two losing games one is seen at a time, and a button leads to the other one. */
function oneOf(losing) {
  losing.forEach((section, number) => {
    section.hidden = number > 0;
    const next = losing.find((one) => one !== section);
    if (!next) return;
    const show = () => {
      section.hidden = true;
      next.hidden = false;
      next.querySelector("button").focus();
    };
    const text = next.getAttribute("aria-label").replace("The game", "Show the game");
    section.querySelector(".losing-head").append(button(text, show));
  });
  return losing;
}

/** How it learned: the kind of learning, and what this training took. */
function story(agent, { training, config }) {
  if (!agent.story) return null;
  const { steps, games, seconds, first_unbeatable: first } = training ?? {};
  const unit = agent.unit === "playouts" ? "trial games" : agent.unit;
  const counted = (count) => plural(count, unit.replace(/s$/, ""));
  const length = steps && `${counted(steps)}${games ? ` in ${plural(games, "game")}` : ""}`;
  const time = seconds ? `, which took ${duration(seconds)}` : "";
  const texts = [
    agent.method,
    agent.story,
    length ? `It trained for ${length}${time}.` : "",
    practiceText(config ?? {}),
    config?.side === "X" || config?.side === "O" ? `It always played ${config.side}.` : "",
    first?.steps
      ? `After ${counted(first.steps)} it was proven unbeatable for the first time.`
      : "",
    seedText(agent),
  ];
  return h(
    "section",
    {},
    h("h2", {}, "How it learned"),
    h("p", {}, texts.filter(Boolean).join(" ")),
  );
}

/** A player of the package comes without the record of its training. */
const notRecorded = ({ kind }) =>
  kind === "trained" &&
  h(
    "section",
    {},
    h("h2", {}, "How it grew"),
    h(
      "p",
      {},
      "Its training was not recorded in the package. Train one to see it: ",
      h("code", {}, "make train"),
    ),
  );

function duration(seconds) {
  if (seconds < 1) return "less than a second";
  return seconds < 100
    ? plural(Math.round(seconds), "second")
    : plural(Math.round(seconds / 60), "minute");
}

/** Against whom an agent has practised, by the settings of its training. */
function practiceText({ opponents, fitness, rebirth, responses }) {
  if (typeof opponents !== "string" || opponents === "") return "";
  const isLeague = typeof fitness === "string" && !fitness.includes("exact") && !(rebirth > 0);
  if (isLeague) return "The networks played against each other.";
  const names = opponents.split(",").map((one) => one.split(":")[0].trim());
  const ordered = [
    ...names.filter((name) => name === "self"),
    ...names.filter((n) => n !== "self"),
  ];
  const against = [...new Set(ordered)].map((name) => `against ${opponentText(name)}`);
  if (responses > 0 && typeof fitness === "string") against.push("against players that beat it");
  const comma = against.length > 2 || against.some((text) => text.includes(" that ")) ? "," : "";
  const first = against.slice(0, -1).join(", ");
  return `It practised ${first ? `${first}${comma} and ` : ""}${against.at(-1)}.`;
}

/** An opponent of a training, such as "minimax-slip=0.6", in words. */
function opponentText(name) {
  const slip = /^minimax-slip=([\d.]+)$/.exec(name);
  if (slip)
    return `perfect play that makes ${Math.round(100 * slip[1])}\u00a0% of its moves at random`;
  const known = {
    random: "random moves",
    minimax: "perfect play",
    "minimax-first": "perfect play",
    self: "itself",
    "best-response": "the opponent that was worst for it at that time",
  };
  return known[name] ?? `“${name}”`;
}

/** What the certificate says of the training; unlike the results, this cannot be verified. */
function facts(agent, certificate) {
  const { training, seed, config, versions } = certificate;
  const rows = [
    ["agent", certificate.agent],
    ["seed", seed],
    ["steps", training?.steps?.toLocaleString("en")],
    ["seconds", training?.seconds],
    ...Object.entries(config ?? {}).map(([name, value]) => [
      name,
      typeof value === "object" ? JSON.stringify(value) : String(value),
    ]),
    ...Object.entries(versions ?? {}),
    ["sha256 of the moves", certificate.sha256_of_moves],
  ].filter(([, value]) => value !== null && value !== undefined);
  const file = `/api/certificates/${pathOf(agent.id)}`;
  const name = `${agent.id.replace(/\.json$/, "").replace(/[^A-Za-z0-9.=_-]+/g, "-")}.json`;
  return h(
    "section",
    {},
    h("h2", {}, "Check it yourself"),
    h(
      "p",
      {},
      "The certificate holds every move of this player. ",
      "From these moves alone, every exact result on this page can be computed again.",
    ),
    h("p", {}, h("a", { class: "button", href: file, download: name }, "Download the certificate")),
    h(
      "p",
      {},
      "In the folder of the file, with the Python in which tictactoe-env is installed: ",
      h("code", {}, `python -m tictactoe_env.certificates ${name}`),
    ),
    h(
      "details",
      {},
      h("summary", {}, "Settings of the training, as its author states them"),
      h(
        "dl",
        {},
        rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]),
      ),
    ),
  );
}
