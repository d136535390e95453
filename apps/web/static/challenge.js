// Players that can be beaten: an invitation to play, the line that beats one, and the lesson after it.

import * as data from "./data.js";
import { html } from "./dom.js";
import { memory } from "./memory.js";
import { exact } from "./results.js";
import { other, sideOf } from "./rules.js";
import { HUMAN, SIDES, gamePath } from "./words.js";

export const beaten = () => memory.get("beaten", []); // the ids of players
const isBeatable = ({ group }) => group === "beatable";

/** The path of a game of a person against an agent, on the side that it was trained for. */
function challengePath({ id, side, boards }) {
  const its = side || "O";
  return gamePath({ [other(its)]: HUMAN, [its]: id }, boards[0]);
}

/** A sentence about the first of them, and the way to a game against it; null if it plays. */
export function invitation(agents, seats) {
  const agent = agents.find(isBeatable);
  if (!agent || SIDES.some((side) => seats[side] === agent.id)) return null;
  const [wins] = agent.results.split(/, (?:yet|and) /);
  const said = wins.replace(/^./, (first) => first.toLowerCase()).replaceAll(" %", "\u00a0%");
  return html`${agent.label}: ${said}. <a href=${challengePath(agent)}>Can you beat it?</a>`;
}

/** {text, next}: a sentence while a game follows a line of cells, and its next cell. people: their sides. */
export function guided(line, moves, people) {
  const left = moves.findIndex((cell, ply) => cell !== line[ply]);
  if (left < 0) return { next: line[moves.length], text: "Dashed: the move that beats this player." };
  const text = people.includes(sideOf(left))
    ? "You left the dashed line: take your move back, or play on."
    : "It played another move this time: this is not the game that it loses. A new game tries again.";
  return { text };
}

/** A sentence about the next cell of a line if it is a mistake against perfect play, else null. */
export async function warning(board, moves, cell, signal) {
  const { truth } = await data.analysis({ board, moves, truth: true }, signal).catch(() => ({}));
  const worth = truth?.moves[cell];
  if (!worth || worth.value === truth.position.value) return null;
  const result = worth.value < 0 ? "lose" : "only draw";
  return `Dashed: the move that beats this player; against perfect play it would ${result}.`;
}

/** What is proven of an agent that plays against `you`. */
export async function provenAgainst(you, { id }) {
  const { certificate } = await data.agent(id);
  return certificate[`as_${other(you).toLowerCase()}`];
}

/**
 * After a game of `you` against one of the agents: how many of them one has beaten and the way to
 * the next one, or a hint.
 */
export async function lesson(agents, agent, you, result) {
  if (!agent || !isBeatable(agent)) return null;
  const { losing_line: line, vs_random: random } = await provenAgainst(you, agent);
  if (result !== you)
    return line && ` Hint: in a game that it loses, your first move is ${line[SIDES.indexOf(you)]}.`;
  memory.set("beaten", [...new Set([...beaten(), agent.id])]);
  const all = agents.filter(isBeatable);
  const left = all.filter(({ id }) => !beaten().includes(id));
  const [next] = left;
  return [
    ` Random moves beat it in ${exact(random.loss)}\u00a0% of games. You have beaten ${all.length - left.length} of ${all.length} beatable players.`,
    next && [" Next: ", html`<a href=${challengePath(next)}>${next.label}</a>`],
  ];
}
