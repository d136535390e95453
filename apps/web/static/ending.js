// The end of a game: its result in words, and keeping it.

import { h } from "./dom.js";
import { post } from "./server.js";
import { capital, other } from "./words.js";

/** "You win", "Perfect play wins: you resigned". nameOf(side): "You" for the person who plays. */
export function endingText(ended, result, nameOf) {
  if (result === "draw") return "A draw";
  const [winner, loser] = [nameOf(result), nameOf(other(result))];
  const text = winner === "You" ? "You win" : `${winner} wins`;
  const who = loser === "You" ? "you" : loser;
  if (ended === "illegal") return `${text}: ${who} chose a taken cell`;
  return ended === "resigned" ? `${text}: ${who} resigned` : text;
}

/**
 * Keep a game. {parts, hasLearned}: what the note says of that, and whether an agent has learned.
 * content: of the request. labels: what agents are called, by id.
 */
export async function keepGame(content, labels) {
  try {
    const { id, address, learned } = await post("/api/games", content);
    const texts = Object.entries(learned).map(
      ([name, text]) => ` ${labels.get(name) ?? capital(name)} ${text}.`,
    );
    const link = h("a", { href: address }, `game ${id}`);
    return { parts: ["Kept as ", link, ".", ...texts], hasLearned: texts.length > 0 };
  } catch (error) {
    return { parts: [`The game could not be kept. ${error.message}`], hasLearned: false };
  }
}
