// The data of a page without a server: the functions of data.js, on 3x3. The players are tables in
// the page, which apps/web/demo.py writes: the moves of their certificates, and their own values.
// The truth is a search, and games are kept in this browser.

import { memory } from "./memory.js";
import { cellOf, gameState, sideOf } from "./rules.js";

const BOARD = { rows: 3, cols: 3, k: 3 };
const CELLS = [...Array(9).keys()];
const LISTED = 20; // games in one answer
const KEPT = 1_000; // games
const packed = Uint8Array.from(atob(document.getElementById("tables").textContent), (one) =>
  one.charCodeAt(0),
);
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const tables = await new Response(unpacked).json();
const rows = new Map(tables.positions.map((board, row) => [board, row]));
for (const agent of tables.agents) agent.label = agent.title;

export const addressOf = (path) => `#${path}`;
export const here = () => location.hash.slice(1) || "/";

/** How phones can open the page, where they cannot. */
export const FOR_PHONES = "Serve its folder with python -m http.server, and open it at the address that this computer has in the network, or put the file on a web site: then its address stands here.";

export const agents = async () => tables;
export const agent = async (id) => found(tables.agents, id, `There is no player “${id}” here.`);

/** Nobody plays on 6x7 here. */
export const accuracy = async () => null;

/** The address of a trained player's whole certificate as a file; of others the moves are rounded. */
export function certificateFile(id) {
  const { kind, certificate } = tables.agents.find((one) => one.id === id);
  if (kind === "agent") return null;
  const all = tables.positions.map((board, row) => [board, tables.players[id].moves[row]]);
  const text = JSON.stringify({ ...certificate, moves: Object.fromEntries(all) }, null, 1);
  return URL.createObjectURL(new Blob([text], { type: "application/json" }));
}

/** Nothing but the Q-learner learns here. */
export const trains = async () => ({ ppo: false });
export const train = null;

/** Nobody is here to draw it. */
export const codeOf = () => null;

/** The one of this id. Throws an error if there is none. */
function found(all, id, missing) {
  const one = all.find((one) => String(one.id) === id);
  if (!one) throw new Error(missing);
  return one;
}

// --- positions ------------------------------------------------------------------------------------

/** "X.O/.X./...", the text of a position. */
function textOf(moves) {
  const marks = CELLS.map((cell) => (moves.includes(cell) ? sideOf(moves.indexOf(cell)) : "."));
  return marks.join("").replace(/(...)(?=.)/g, "$1/");
}

/** A function of the moves that is computed once for each position. */
function remembered(compute) {
  const known = new Map();
  return (moves) => {
    const text = textOf(moves);
    if (!known.has(text)) known.set(text, compute(moves));
    return known.get(text);
  };
}

const onFree = (moves, compute) => CELLS.map((cell) => (moves.includes(cell) ? null : compute(cell)));
const isBetter = (one, best) =>
  one.value === best.value ? one.value * (best.plies - one.plies) > 0 : one.value > best.value;

/** {value, plies} with best play, for the side to move: the winner is quick, the loser slow. */
const worthOf = remembered((moves) => {
  const { turn, result } = gameState(moves, BOARD);
  if (turn === null) return { value: result === "draw" ? 0 : -1, plies: 0 };
  const all = onFree(moves, (cell) => worthAfter(moves, cell)).filter(Boolean);
  return all.reduce((best, one) => (isBetter(one, best) ? one : best));
});

function worthAfter(moves, cell) {
  const { value, plies } = worthOf([...moves, cell]);
  return { value: 0 - value, plies: plies + 1 };
}

const worded = (worth) => ({ ...worth, text: tables.worths[`${worth.value},${worth.plies}`] });
const isSame = (one, two) => one.value === two.value && one.plies === two.plies;

// --- players --------------------------------------------------------------------------------------

/** The probabilities of an agent's moves: 9 numbers, on taken cells too. */
function probsOf(id, moves) {
  const played = tables.players[id].moves[rows.get(textOf(moves))];
  const probs = CELLS.map(() => 0);
  for (const [name, share] of Object.entries(typeof played === "string" ? { [played]: 1 } : played))
    probs[cellOf(name, BOARD)] = share;
  return probs;
}

/** An agent's wins minus losses as one side, if it goes on like this against random moves. */
const expectations = new Map();
function expected(id, side) {
  const key = `${id} ${side}`;
  const compute = (moves) => {
    const { turn, result } = gameState(moves, BOARD);
    if (turn === null) return result === "draw" ? 0 : result === side ? 1 : -1;
    const free = 9 - moves.length;
    const shares = turn === side ? probsOf(id, moves) : onFree(moves, () => 1 / free);
    const after = (cell) => (moves.includes(cell) ? -1 : expected(id, side)([...moves, cell]));
    return CELLS.reduce((sum, cell) => sum + (shares[cell] ? shares[cell] * after(cell) : 0), 0);
  };
  if (!expectations.has(key)) expectations.set(key, remembered(compute));
  return expectations.get(key);
}

export async function move({ agent, moves }) {
  const probs = probsOf(agent, moves);
  let left = Math.random();
  const cell = probs.findIndex((share) => (left -= share) < 0);
  return { cell: cell < 0 ? probs.indexOf(Math.max(...probs)) : cell };
}

function thoughtsOf(id, moves, wanted) {
  const { values, new: isNew, meaning, scale } = tables.players[id];
  const row = rows.get(textOf(moves));
  const probs = probsOf(id, moves);
  const isOwn = wanted === "own" && values;
  const side = sideOf(moves.length);
  const free = CELLS.filter((cell) => !moves.includes(cell));
  const own = (cell) => values[row][free.indexOf(cell)]; // null if it does not know
  return {
    probs: onFree(moves, (cell) => probs[cell]),
    values: onFree(moves, isOwn ? own : (cell) => expected(id, side)([...moves, cell])),
    kind: isOwn ? "own" : "expected",
    kinds: values ? ["own", "expected"] : ["expected"],
    meaning: isOwn ? meaning : "",
    scale: isOwn ? scale : [-1, 1],
    illegal: moves.reduce((sum, cell) => sum + probs[cell], 0),
    new: isNew?.[row] === "1",
  };
}

export async function analysis({ moves, agent, values, truth }) {
  const worths = () => onFree(moves, (cell) => worded(worthAfter(moves, cell)));
  return {
    thoughts: agent && thoughtsOf(agent, moves, values),
    truth: truth && { position: worded(worthOf(moves)), moves: worths() },
  };
}

// --- games ----------------------------------------------------------------------------------------

export async function verdicts({ moves, ended, result }) {
  const judged = moves.map((cell, ply) => {
    const played = moves.slice(0, ply);
    const before = worthOf(played);
    const after = played.includes(cell) ? { value: -1, plies: 0 } : worthAfter(played, cell);
    const text = tables.verdicts[[before.value, before.plies, after.value, after.plies].join()];
    const best = CELLS.filter((one) => !played.includes(one) && isSame(worthAfter(played, one), before));
    const optimal = before.value === after.value;
    return { ply, cell, side: sideOf(ply), before: worded(before), after, text, best, optimal, threw_away: false };
  });
  const held = () => worthOf(moves).value * (result === sideOf(moves.length) ? -1 : 1); // by the loser
  const last = judged.findLast(({ optimal }) => !optimal);
  if (last && !(ended === "resigned" && held() > -1)) last.threw_away = true;
  return { verdicts: judged };
}

const keptGames = () => memory.get("games", []); // the newest first

export async function keep({ board, moves, ended, result, x, o }) {
  const player = (id) => {
    const agent = tables.agents.find((one) => one.id === id);
    return { kind: agent ? "agent" : "human", name: id, title: agent?.title ?? "a person" };
  };
  const all = keptGames();
  const id = (all[0]?.id ?? 0) + 1;
  const time = new Date().toISOString();
  const game = { id, board, cells: moves, ended, result, time, x: player(x), o: player(o) };
  memory.set("games", [game, ...all].slice(0, KEPT));
  return { id, learned: {} };
}

export async function games({ people, search = "", result, before }) {
  const isAgents = ({ x, o }) => x.kind === "agent" && o.kind === "agent";
  const names = ({ x, o }) => [x.name, x.title, o.name, o.title].join("\n").toLowerCase();
  const fitting = keptGames()
    .filter((game) => !people || isAgents(game) === (people === "false"))
    .filter((game) => !result || game.result === result)
    .filter((game) => names(game).includes(search.toLowerCase()));
  const older = fitting.filter(({ id }) => !before || id < before);
  const games = older.slice(0, LISTED);
  const next = older.length > games.length ? games.at(-1).id : null;
  return { games, count: fitting.length, next };
}

export const game = async (id) => found(keptGames(), id, `There is no game “${id}” here.`);
