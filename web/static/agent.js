// The page of one player: what is proven of it, a game that it loses, and how it learned.

import { badge, description } from "./agents.js";
import { h, markIcon } from "./dom.js";
import { growthOf } from "./growth.js";
import { Replay } from "./replay.js";
import { results } from "./results.js";
import { Problem, get, getAgents, post } from "./server.js";
import { agentPath, boardKey, boardName, cellOf, other, pathOf, plural } from "./words.js";

export async function agentPage([id], _, signal) {
  const [agent, { agents }] = await Promise.all([found(id, signal), getAgents(signal)]);
  agent.label = agents.find((one) => one.id === agent.id)?.label ?? agent.title;
  const replays = [];
  const element = h(
    "div",
    { class: "page wide" },
    h("h1", { tabindex: "-1" }, agent.label),
    h(
      "p",
      { class: "lead" },
      badge(agent),
      h("span", {}, description(agent)),
      h("code", {}, agent.id),
    ),
  );
  const { certificate } = agent;
  if (certificate) {
    const sides = trainedSides(certificate);
    const losses = sides.map((side) => losing(agent, certificate, side, replays, signal));
    const grown = growthOf(agent.id, sides, signal).catch(() => null);
    element.append(
      statement(certificate),
      h(
        "p",
        { class: "buttons" },
        playLink(agent, certificate.board, "X"),
        playLink(agent, certificate.board, "O"),
      ),
      ...(await Promise.all(losses)).filter(Boolean),
      results(certificate, sides),
      ...[story(agent, certificate), await grown].filter(Boolean),
      facts(agent, certificate),
    );
  } else {
    element.append(h("p", { class: agent.broken ? "error" : "statement" }, whyNot(agent)));
    if (!agent.broken)
      element.append(
        h(
          "p",
          { class: "buttons" },
          ["X", "O"].map((side) => playLink(agent, agent.board, side)),
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

const whyNot = ({ broken, reason, about }) =>
  broken
    ? `Its file is damaged, so it cannot play: ${about}`
    : `Nothing is proven of it here: ${reason}.`;

const part = (certificate, side) => certificate[`as_${side.toLowerCase()}`];
const seats = (agent, side) => ({
  [side.toLowerCase()]: "human",
  [other(side).toLowerCase()]: agent.id,
});

/** side: the side that you play. */
function playLink(agent, board, side) {
  const chosen = { ...seats(agent, side), ...(board ? { board: boardKey(board) } : {}) };
  const address = `/?${new URLSearchParams(chosen)}`;
  return h("a", { class: "button", href: address }, "You play ", markIcon(side));
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
    ? "No line of play makes it lose, and no player that never loses wins more often against random moves."
    : "No line of play makes it lose. A player that never loses could win more often against random moves.";
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
  const { losing_line: names } = part(certificate, side);
  if (!names) return null;
  const { board } = certificate;
  const cells = names.map((name) => cellOf(name, board));
  const isIllegal = cells.indexOf(cells.at(-1)) < cells.length - 1;
  const { line } = isIllegal
    ? { line: [] }
    : (await post("/api/analysis", { board, moves: cells }, signal)).standing;
  const game = { board, cells, line, ended: isIllegal ? "illegal" : "line", result: other(side) };
  const players = { X: null, O: null, [side]: agent };
  const replay = new Replay(game, players, { heading: "h3" });
  replays.push(replay);
  const play = new URLSearchParams({
    ...seats(agent, other(side)),
    board: boardKey(board),
    line: cells.join(","),
  });
  return h(
    "section",
    { class: "losing", "aria-label": `The game that it loses as ${side}` },
    h("h2", {}, "The game that it loses as ", markIcon(side)),
    h(
      "p",
      {},
      `The shortest one: ${names.join(" ")}. `,
      h("a", { class: "button primary", href: `/?${play}` }, "Beat it yourself"),
    ),
    replay.element,
  );
}

/** How it learned: the kind of learning, and what this training took. */
function story(agent, { training, config }) {
  if (!agent.story) return null;
  const { steps, games, seconds, first_unbeatable: first } = training ?? {};
  const number = (value) => value.toLocaleString("en");
  const took = [
    steps && `Its training took ${plural(steps, "step")}`,
    games && `${plural(games, "game")}`,
    seconds && `${number(Math.max(1, Math.round(seconds)))} s`,
  ].filter(Boolean);
  const against = typeof config?.opponents === "string" && againstText(config.opponents);
  const texts = [
    agent.story,
    took.length ? `${took.join(", ")}.` : "",
    against ? `It practised against ${against}.` : "",
    first?.steps ? `It was proven unbeatable first at step ${number(first.steps)}.` : "",
  ];
  return h(
    "section",
    {},
    h("h2", {}, "How it learned"),
    h("p", {}, texts.filter(Boolean).join(" ")),
  );
}

/** "minimax-slip=0.6:0.75,self:0.25" in words. */
function againstText(opponents) {
  const words = opponents.split(",").map((one) => {
    const [name] = one.split(":");
    const slip = /^minimax-slip=([\d.]+)$/.exec(name);
    if (slip) return `perfect play with ${Math.round(100 * slip[1])}\u00a0% random moves`;
    return { random: "random moves", minimax: "perfect play", self: "itself" }[name] ?? name;
  });
  return words.length < 2 ? words[0] : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
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
    h("p", {}, h("a", { class: "button", href: file, download: "" }, "Download the certificate")),
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
