// The list of agents, and the page of one agent: what is proven of it, and a game that it loses.

import { percent, signed } from "./board.js";
import { agentPath, boardKey, boardName, get, getAgents, h, markIcon, other, post } from "./dom.js";
import { learnedText } from "./play.js";
import { Replay } from "./replay.js";

export async function agentsPage() {
  const { agents } = await getAgents();
  const card = (agent) =>
    h(
      "li",
      {},
      h(
        "a",
        {
          class: `agent${cardClass(agent)}`,
          href: agentPath(agent.id),
        },
        h(
          "strong",
          {},
          agent.id === agent.name
            ? null
            : h("span", { class: "folder" }, agent.id.slice(0, -agent.name.length)),
          agent.name,
        ),
        h(
          "span",
          { class: "about" },
          agent.broken
            ? `broken: ${agent.about}`
            : description(agent),
        ),
      ),
    );
  const group = (heading, kind, none) => {
    const members = agents.filter((agent) => agent.kind === kind);
    return [
      h("h2", {}, heading),
      members.length ? h("ul", { class: "agents" }, members.map(card)) : h("p", {}, none),
    ];
  };
  const none = [
    "None yet. ",
    h("code", {}, "python train.py maskable_ppo --until optimal"),
    " trains one in half a minute.",
  ];
  const element = h(
    "div",
    { class: "page wide" },
    h("h1", { tabindex: "-1" }, "Players"),
    group("Trained agents", "trained", ""),
    group("Your training runs", "run", none),
    group("Without training", "agent", ""),
  );
  return { title: "Players", element };
}

/** What an agent is in a sentence; that of a run names its board already. */
const description = (agent) =>
  `${agent.about}${learnedText(agent)}${agent.kind === "run" ? "" : ` · ${agent.boards}`}`;

/** How a card looks: green and red are for what is verified, not for claims. */
function cardClass(agent) {
  if (agent.broken) return " broken";
  if (!agent.verified) return "";
  return { true: " proven", false: " beaten" }[agent.unbeatable] ?? "";
}

export async function agentPage(id) {
  const agent = await get("/api" + agentPath(id));
  const { certificate } = agent;
  const replays = [];
  const element = h(
    "div",
    { class: "page wide" },
    h("h1", { tabindex: "-1" }, agent.id),
    h(
      "p",
      { class: "lead" },
      agent.broken
        ? "A broken certificate"
        : description(agent),
    ),
  );
  if (!certificate) {
    element.append(h("p", { class: "error" }, agent.reason));
  } else {
    element.append(
      statement(certificate),
      h(
        "p",
        { class: "buttons" },
        playLink(agent, certificate.board, "X"),
        playLink(agent, certificate.board, "O"),
      ),
      results(certificate),
      ...(
        await Promise.all(
          trainedSides(certificate).map((side) => losing(agent, certificate, side, replays)),
        )
      ).filter(Boolean),
      facts(certificate),
    );
  }
  return { title: agent.id, element, leave: () => replays.forEach((replay) => replay.leave()) };
}

const part = (certificate, side) => certificate[`as_${side.toLowerCase()}`];
const seats = (agent, side, human) => ({
  [side.toLowerCase()]: human,
  [other(side).toLowerCase()]: agent.id,
});

function playLink(agent, board, side) {
  return h(
    "a",
    {
      class: "button",
      href: `/?${new URLSearchParams({ ...seats(agent, side, "human"), board: boardKey(board) })}`,
    },
    "Play it as ",
    markIcon(side),
  );
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
  const why = isOneSided ? "the side that is certified" : "the side that it was trained for";
  const only = sides.length === 1 ? ` as ${sides[0]} (${why})` : "";
  const board = boardName(certificate.board);
  const beaten = sides.filter((side) => !part(certificate, side).unbeatable);
  if (beaten.length) {
    const places = beaten.map(
      (side) =>
        `as ${side}${part(certificate, side).limit_vs_random === null ? ` (as any ${side} on this board)` : ""}`,
    );
    return h(
      "p",
      { class: "statement beaten" },
      h("strong", {}, `On ${board} it can be beaten`),
      ` ${places.join(" and ")}. The shortest ${beaten.length > 1 ? "games that it loses are" : "game that it loses is"} below.`,
    );
  }
  const rest = sides.every((side) => part(certificate, side).optimal)
    ? "No line of play makes it lose, and no player that never loses wins more often against random moves."
    : "No line of play makes it lose. A player that never loses could win more often against random moves.";
  return h(
    "p",
    { class: "statement proven" },
    h("strong", {}, `Proven on ${board}: nobody can beat it${only}.`),
    ` ${certificate.format === 2 ? onLines(certificate, sides) : rest}`,
  );
}

/** What is proven by the positions that an agent can meet, on a larger board. */
function onLines(certificate, sides) {
  const texts = sides.map((side) => {
    const { always_wins: wins, decisions } = part(certificate, side);
    const what = wins ? "It wins every game" : "No line of play makes it lose";
    return `${what} as ${side}: it decides in ${decisions.toLocaleString()} positions that it can meet.`;
  });
  return texts.join(" ");
}

const OPPONENTS = [
  ["vs_random", "random moves"],
  ["limit_vs_random", "random moves: best achievable"],
  ["vs_minimax", "perfect play"],
];

function results(certificate) {
  const untrained = (side) =>
    trainedSides(certificate).includes(side) ? "" : " (not trained for)";
  const rows = certifiedSides(certificate).flatMap((side) =>
    OPPONENTS.filter(([name]) => part(certificate, side)[name]).map(([name, opponent]) => {
      const rates = part(certificate, side)[name];
      const rate = (key) => h("td", {}, exact(rates[key]));
      return h(
        "tr",
        { class: name.startsWith("limit") ? "limit" : null },
        h("th", { scope: "row" }, markIcon(side), ` ${opponent}${untrained(side)}`),
        rate("win"),
        rate("draw"),
        rate("loss"),
        h("td", { class: "bars" }, bars(rates)),
      );
    }),
  );
  const head = ["As, against", "wins", "draws", "losses", ""].map((text) =>
    text ? h("th", { scope: "col" }, text) : h("td", {}),
  );
  const illegal = certifiedSides(certificate).reduce(
    (sum, side) => sum + part(certificate, side).vs_random.illegal,
    0,
  );
  return h(
    "section",
    {},
    h("h2", {}, "Exact results"),
    h(
      "p",
      {},
      `On ${boardName(certificate.board)}, in per cent, computed over all possible games, not sampled. Best achievable: the most wins of any player that never loses.`,
      illegal ? " Illegal moves are among the losses." : "",
    ),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Exact results" },
      h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
    ),
    h(
      "ul",
      { class: "worst" },
      certifiedSides(certificate).map((side) => {
        const { worst_case_value: value, worst_case_loss: loss } = part(certificate, side);
        return h(
          "li",
          {},
          markIcon(side),
          ` against the best response to it: loses ${exact(loss)} % of its games, wins minus losses ${signed(value)}`,
        );
      }),
      certificate.optimal_moves &&
        h(
          "li",
          {},
          `Makes optimal moves in ${exact(certificate.optimal_moves.reachable)} % of the positions that it can reach, ${exact(certificate.optimal_moves.everywhere)} % of all.`,
        ),
    ),
  );
}

const exact = (share) => (100 * share).toFixed(share === 0 || share === 1 ? 0 : 2);

function bars(rates) {
  return h(
    "span",
    {
      class: "stack",
      role: "img",
      "aria-label": `wins ${percent(rates.win)}, draws ${percent(rates.draw)}, losses ${percent(rates.loss)}`,
    },
    ["win", "draw", "loss"].map((name) => {
      const bar = h("span", { class: name });
      bar.style.flexGrow = rates[name];
      return bar;
    }),
  );
}

/** The shortest game that the agent loses as one side, to replay and to play. */
async function losing(agent, certificate, side, replays) {
  const { losing_line: names } = part(certificate, side);
  if (!names) return null;
  const { board } = certificate;
  const cells = names.map((name) => (+name.slice(1) - 1) * board.cols + name.charCodeAt(0) - 97);
  const isIllegal = cells.indexOf(cells.at(-1)) < cells.length - 1;
  const { line } = isIllegal
    ? { line: [] }
    : (await post("/api/analysis", { board, moves: cells })).standing;
  const game = { board, cells, line, ended: isIllegal ? "illegal" : "line", result: other(side) };
  const replay = new Replay(
    game,
    { X: "X", O: "O" },
    { X: side === "X" ? agent.id : null, O: side === "O" ? agent.id : null },
    "h3",
  );
  replays.push(replay);
  const play = new URLSearchParams({
    ...seats(agent, other(side), "human"),
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

/** What the certificate says of the training; unlike the results, this cannot be verified. */
function facts(certificate) {
  const { training, seed, config, versions } = certificate;
  const rows = [
    ["agent", certificate.agent],
    ["seed", seed],
    ["steps", training?.steps?.toLocaleString()],
    ["seconds", training?.seconds],
    ...Object.entries(config ?? {}).map(([name, value]) => [
      name,
      typeof value === "object" ? JSON.stringify(value) : String(value),
    ]),
    ...Object.entries(versions ?? {}),
    ["sha256 of the moves", certificate.sha256_of_moves],
  ].filter(([, value]) => value !== null && value !== undefined);
  return h(
    "details",
    {},
    h("summary", {}, "Configuration, as the certificate states it"),
    h(
      "dl",
      {},
      rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]),
    ),
  );
}
