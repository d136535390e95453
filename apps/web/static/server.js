// Requests to the server, and its refusals in words for the person who plays.

/** A request that failed. status: of HTTP, 0 if the server did not answer at all. */
export class Problem extends Error {
  constructor(status, reason) {
    super(inWords(status, reason));
    this.status = status;
    this.reason = reason;
  }
}

function inWords(status, reason) {
  if (status === 0)
    return "The program behind this page does not answer. Is it still running? Start it again, then try once more.";
  if (status === 503)
    return /store/.test(reason)
      ? "The file of the games cannot be used at the moment."
      : "The computer has too much to work out at the moment. Try again in a few seconds.";
  if (status >= 500) return "Something went wrong in the program behind this page. Try again.";
  if (/is broken|is damaged/.test(reason))
    return "A file of this player is damaged. Choose another player, or train it again.";
  if (status === 404) return "There is nothing of this name here.";
  return reason;
}

/** The JSON answer of the server. signal: of an AbortController, to stop waiting. */
export function get(path, signal) {
  return answer(fetch(path, { headers: { accept: "application/json" }, signal }), signal);
}

export function post(path, content, signal) {
  const body = JSON.stringify(content);
  const headers = { "content-type": "application/json" };
  return answer(fetch(path, { method: "POST", headers, body, signal }), signal);
}

async function answer(request, signal) {
  let response;
  try {
    response = await request;
  } catch {
    signal?.throwIfAborted();
    throw new Problem(0, "no answer");
  }
  const content = await response.json().catch(() => ({ error: "no JSON" }));
  signal?.throwIfAborted();
  if (!response.ok) throw new Problem(response.status, String(content.error));
  return content;
}

/**
 * All agents and boards. The server reads a few certificates a request: none waits for many. Each
 * agent gets a `label`: its title, and its folder where several have the same title.
 */
export async function getAgents(signal) {
  let found = await get("/api/agents", signal);
  while (found.unread > 0) found = await get("/api/agents", signal);
  const times = new Map();
  for (const { title } of found.agents) times.set(title, (times.get(title) ?? 0) + 1);
  for (const agent of found.agents)
    agent.label = times.get(agent.title) > 1 ? `${agent.title} (${agent.name})` : agent.title;
  return found;
}
