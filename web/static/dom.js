// Elements, requests, announcements and words that every part of the page uses.

/** A new element. Attributes on... are listeners; null, undefined and false are left out. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** A new SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "selected")
      element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** The JSON answer of the server; throws an Error with the server's reason. */
export async function get(path) {
  return answer(fetch(path, { headers: { accept: "application/json" } }));
}

/** All agents and boards. The server reads a few certificates a request: none waits for many. */
export async function getAgents() {
  let found = await get("/api/agents");
  while (found.unread > 0) found = await get("/api/agents");
  return found;
}

export async function post(path, content) {
  return answer(
    fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(content),
    }),
  );
}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Error("the server does not answer: is it still running?");
  }
  const content = await response
    .json()
    .catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Error(content.error);
  return content;
}

/** Have a screen reader say something. */
export function announce(text) {
  document.getElementById("live").textContent = text;
}

/** What this browser remembers: switches and speeds. */
export const memory = {
  get(name, otherwise) {
    try {
      return JSON.parse(localStorage.getItem(name)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(name, JSON.stringify(value));
    } catch {
      // the browser stores nothing: remember nothing
    }
  },
};

export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// --- words ---------------------------------------------------------------------------------------

export const other = (side) => (side === "X" ? "O" : "X");
export const sideOf = (ply) => (ply % 2 === 0 ? "X" : "O");
export const cellName = (cell, board) =>
  String.fromCharCode(97 + (cell % board.cols)) + (Math.floor(cell / board.cols) + 1);
export const boardKey = (board) => `${board.rows}x${board.cols}x${board.k}`;
export const boardName = (board) => `${board.rows} × ${board.cols}, ${board.k} in a row`;
export const agentPath = (id) => "/agents/" + id.split("/").map(encodeURIComponent).join("/");

/** The board of "3x3x3", or null. */
export function parseBoard(text) {
  const found = /^(\d{1,2})x(\d{1,2})x(\d{1,2})$/.exec(text ?? "");
  return found && { rows: +found[1], cols: +found[2], k: +found[3] };
}

/** Whether an agent plays on a board. */
export function plays(agent, board) {
  if (agent.broken) return false;
  return agent.board
    ? boardKey(agent.board) === boardKey(board)
    : board.rows * board.cols <= agent.max_cells;
}

/** A small coloured X or O. isNamed: whether text beside it says which; else it has a label. */
export function markIcon(side, isNamed = false) {
  const shape =
    side === "X"
      ? svg("path", { d: "M5 5l14 14M19 5l-14 14" })
      : svg("circle", { cx: 12, cy: 12, r: 7.5 });
  shape.setAttribute("class", `mark ${side.toLowerCase()}`);
  const name = isNamed ? { "aria-hidden": "true" } : { role: "img", "aria-label": side };
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", ...name }, shape);
}

const ICONS = {
  first: "M6 6v12M18 6l-8 6 8 6z",
  back: "M14.5 5.5L8 12l6.5 6.5",
  play: "M8.5 6l9.5 6-9.5 6z",
  pause: "M8 6v12M16 6v12",
  forward: "M9.5 5.5L16 12l-6.5 6.5",
  last: "M18 6v12M6 6l8 6-8 6z",
  swap: "M8 5v14M8 19l-3.5-4M8 19l3.5-4M16 19V5M16 5l-3.5 4M16 5l3.5 4",
};

/** A picture on a button. */
export function icon(name) {
  const path = svg("path", {
    class: ICONS[name].endsWith("z") ? "glyph" : "glyph open",
    d: ICONS[name],
  });
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, path);
}
