// The list of players, and the page of one: what is proven of it, a game that it loses, how it learned.

import { accuracySection } from "./accuracy.js";
import { beaten } from "./challenge.js";
import { agent, agents, certificateFile } from "./data.js";
import { html, markIcon } from "./dom.js";
import { growthChart } from "./growth.js";
import { historyChart } from "./history.js";
import { Replay } from "./replay.js";
import { resultsTable } from "./results.js";
import { cellOf, gameState, other } from "./rules.js";
import {
  HUMAN,
  SIDES,
  agentPath,
  gamePath,
  learnedText,
  oneSided,
  otherMoves,
  plural,
  sentences,
  whereIt,
} from "./words.js";

const OPTIMAL = "Optimal: no other unbeatable player wins more often against random moves.";

export async function agentsPage(_, __, signal) {
  const { agents: all, groups } = await agents(signal);
  const listed = groups
    .map((group) => ({ ...group, members: all.filter((agent) => agent.group === group.id) }))
    .filter(({ id, members }) => members.length > 0 || id === "run");
  const section = ({ id, heading, description, members }) => html`
    <h2 id=${`group-${id}`} tabindex="-1">${heading}</h2>
    <p class="count">${description}</p>
    <ul class="agents">${members.map(card)}</ul>`;
  const jump = ({ id, heading }) => html`<li><a href=${`#group-${id}`}>${heading}</a></li>`;
  const element = html`
    <div class="page wide">
      <h1 tabindex="-1">Players</h1>
      <ul class="jumps" aria-label="Groups of players">${listed.map(jump)}</ul>
      ${listed.map(section)}
    </div>`;
  return { title: "Players", element };
}

function card(agent) {
  const known = agent.results || whatItIs(agent);
  const text = sentences(known.replaceAll(" %", "\u00a0%"), agent.method, learnedText(agent));
  return html`
    <li>
      <a class=${agent.broken ? "agent broken" : "agent"} href=${agentPath(agent.id)} data-title=${agent.label}>
        <strong>${agent.label}</strong>${badge(agent)}${beaten().includes(agent.id) && html`<span class="badge">beaten by you</span>`}
        <span class="about">${text}</span>
        ${agent.kind !== "agent" && html`<span class="id">${agent.id}</span>`}
      </a>
    </li>`;
}

/** The proof of a player as a sign with words; nothing where nothing is proven. */
function badge(agent) {
  const of = (kind, text) => html`<span class=${`badge ${kind}`}>${text}</span>`;
  if (agent.broken) return of("beaten", "! damaged");
  if (agent.kind === "run" && agent.unbeatable === null) return of("", "not checked yet");
  if (agent.unbeatable === null) return null;
  const only = agent.side ? ` as ${agent.side}` : "";
  return agent.unbeatable ? of("proven", `✓ unbeatable${only}`) : of("beaten", `✗ can be beaten${only}`);
}

/** A player in a few sentences. */
function whatItIs(agent) {
  if (agent.broken) return agent.description;
  return sentences(agent.kind === "agent" && agent.description, whereIt(agent), oneSided(agent));
}

export async function agentPage([id], _, signal) {
  const [found, known] = await Promise.all([agent(id, signal), agents(signal)]);
  found.label = known.agents.find((one) => one.id === found.id)?.label ?? found.title;
  const { certificate } = found;
  const sides = certificate ? trainedSides(certificate) : [];
  const replays = [];
  const judging = new AbortController();
  const lost = sides.map((side) => losing(found, side, replays)).filter(Boolean);
  const why = found.broken
    ? `Its file is damaged, so it cannot play: ${found.description}`
    : `Nothing is proven of it here: ${found.reason}.`;
  const sign = found.unbeatable ?? !lost.length ? "✓" : "✗";
  const statement = certificate
    ? html`<p class=${`statement ${sign === "✓" ? "proven" : "beaten"}`}><strong>${sign} ${sentences(found.verdict)}</strong>${/\boptimal\b/.test(found.verdict) && html`<span class="count"> ${OPTIMAL}</span>`}</p>`
    : html`<p class=${found.broken ? "error" : "statement"}>${why}</p>`;
  const element = html`
    <div class="page wide">
      <div class="agent-head">
        <h1 tabindex="-1">${found.label}</h1>
        <p class="lead"><span>${sentences(whatItIs(found), learnedText(found))}</span><code>${found.id}</code></p>
      </div>
      <div class="said">${statement}${!found.broken && playLinks(found, lost.length === 0)}</div>
      ${lost}
      ${certificate && [resultsTable(certificate, sides), story(found), growthChart(found.steps ?? [], sides, found.unit), historyChart(found.history, found.unit), proof(found)]}
      ${!found.broken && accuracySection(found, judging.signal)}
    </div>`;
  const leave = () => {
    judging.abort();
    replays.forEach((replay) => replay.leave());
  };
  return { title: found.label, element, leave };
}

/** The sides of a certificate that an agent was trained to play. */
function trainedSides(certificate) {
  const certified = SIDES.filter((side) => `as_${side.toLowerCase()}` in certificate);
  const { side } = certificate.config ?? {};
  return certified.includes(side) ? [side] : certified;
}

/**
 * The ways to a game against an agent; first where it plays the side that it was trained for.
 * isPrimary: whether the first one is the main button of the page.
 */
function playLinks(agent, isPrimary) {
  const link = (side, number) => html`
    <a class=${isPrimary && number === 0 ? "button primary" : "button"}
      href=${gamePath({ [side]: HUMAN, [other(side)]: agent.id }, agent.boards[0])}>You play ${markIcon(side)}</a>`;
  const only = `It was ${oneSided(agent)}: if you play ${agent.side}, it makes ${otherMoves(agent)}.`;
  return html`
    <p class="buttons">
      ${(agent.side === "X" ? ["O", "X"] : SIDES).map(link)}
      ${agent.side && html`<span class="only">${only}</span>`}
    </p>`;
}

/** The shortest game that the agent loses as one side, to replay and to play. */
function losing(agent, side, replays) {
  const { board, [`as_${side.toLowerCase()}`]: part } = agent.certificate;
  const names = part.losing_line;
  if (!names) return null;
  const cells = names.map((name) => cellOf(name, board));
  const { ended, result } = gameState(cells, board);
  const replay = new Replay({ board, cells, ended, result }, { X: null, O: null, [side]: agent });
  replays.push(replay);
  const play = gamePath({ [other(side)]: HUMAN, [side]: agent.id }, board, { line: cells.join(",") });
  const isRandom = part.worst_case_loss < 1 - 1e-9; // else somebody wins every game against it
  return html`
    <section class="losing" aria-label=${`The game that it loses as ${side}`}>
      <div class="losing-head">
        <h2>The game that it loses as ${markIcon(side)}</h2>
        <span>The shortest one: ${names.join(" ")}</span>
        <a class="button primary" href=${play}>Beat it yourself</a>
        ${isRandom && html`<span class="count">It moves at random: this may take several tries.</span>`}
      </div>
      ${replay.element}
    </section>`;
}

/** The way it learned, and the length of this training. */
function story({ story, method, unit, certificate, kind, steps: checks = [] }) {
  if (!story) return null;
  const { steps, games, seconds, first_unbeatable: first } = certificate.training ?? {};
  const counted = (count) => plural(count, unit.replace(/s$/, ""));
  const time = seconds && (seconds < 100 ? plural(Math.ceil(seconds), "second") : plural(Math.round(seconds / 60), "minute"));
  const length = steps && [counted(steps), games && `in ${plural(games, "game")}`].filter(Boolean).join(" ");
  const text = sentences(
    method,
    story,
    length && `It trained for ${length}${time ? `, which took ${time}` : ""}`,
    first?.steps && `After ${counted(first.steps)} it was proven unbeatable for the first time`,
    kind === "trained" && checks.length < 2 && "The record of its training is not in the package: a run of your own shows how it grew",
  );
  return html`<section><h2>How it learned</h2><p>${text}</p></section>`;
}

/** The file from which everybody can compute the results again. */
function proof({ id }) {
  const file = certificateFile(id);
  const name = `${id.replace(/\.json$/, "").replace(/[^A-Za-z0-9.=_-]+/g, "-")}.json`;
  return file && html`
    <section>
      <h2>Check it yourself</h2>
      <p>
        The certificate holds every move of this player, from which every exact result on this page
        can be computed again, and the settings of its training if it learned.
      </p>
      <p><a class="button" href=${file} download=${name}>Download the certificate</a></p>
      <p>
        In the folder of the file, with the Python in which tictactoe-env is installed:
        <code>python -m tictactoe_env.certificates ${name}</code>
      </p>
    </section>`;
}
