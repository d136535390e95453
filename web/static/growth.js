// How a run got stronger: its results against random moves over the steps of its training.

import { h, markIcon, svg } from "./dom.js";
import { get } from "./server.js";
import { pathOf, percent } from "./words.js";

const [WIDTH, HEIGHT] = [100, 60];

// The bounds of the areas, from the shares of wins, draws and losses.
const bottom = () => 0;
const afterWins = ([win]) => win;
const afterDraws = ([win, draw]) => win + draw;
const top = () => 1;

/** The chart of an agent's training, or null if there is no record of it. */
export async function growthOf(id, sides, signal) {
  const { steps } = await get(`/api/growth/${pathOf(id)}`, signal);
  if (steps.length < 2) return null;
  const isSampled = steps.some((step) => step.sampled);
  const how = isSampled ? "some of them estimated from sampled games" : "each computed exactly";
  return h(
    "section",
    { class: "growth", "aria-label": "How it grew" },
    h("h2", {}, "How it grew"),
    h(
      "p",
      {},
      `Its results against random moves during the training, ${how}: `,
      h("span", { class: "key win" }, "wins"),
      ", ",
      h("span", { class: "key draw" }, "draws"),
      " and ",
      h("span", { class: "key loss" }, "losses"),
      ".",
    ),
    h(
      "div",
      { class: "charts" },
      sides.map((side) => chart(steps, side)),
    ),
  );
}

function chart(steps, side) {
  const rates = steps.map((step) => step[side.toLowerCase()]);
  const [first, last] = [steps[0].steps, steps.at(-1).steps];
  const x = (step) => (WIDTH * (step.steps - first)) / (last - first || 1);
  const line = (share) =>
    steps.map((step, n) => `${x(step).toFixed(2)} ${(HEIGHT * (1 - share(rates[n]))).toFixed(2)}`);
  const areaOf = (low, high) => `M${[...line(high), ...line(low).reverse()].join("L")}Z`;
  const safe = steps.find((step) => step[`unbeatable_${side.toLowerCase()}`]);
  const [won] = rates.at(-1);
  const text = safe
    ? safe.steps === 0
      ? "unbeatable from the start"
      : `unbeatable first after ${safe.steps.toLocaleString("en")} steps`
    : "not unbeatable at any time";
  const name = `As ${side}: ${percent(rates[0][0])} wins at first, ${percent(won)} in the end; ${text}`;
  const drawing = svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": name,
    },
    svg("path", { class: "win", d: areaOf(bottom, afterWins) }),
    svg("path", { class: "draw", d: areaOf(afterWins, afterDraws) }),
    svg("path", { class: "loss", d: areaOf(afterDraws, top) }),
    safe && svg("path", { class: "safe", d: `M${x(safe)} 0V${HEIGHT}` }),
  );
  const scale = ["100\u00a0%", "50\u00a0%", "0"].map((text) => h("span", {}, text));
  return h(
    "figure",
    {},
    h("div", { class: "plot" }, h("div", { class: "axis", "aria-hidden": "true" }, scale), drawing),
    h(
      "figcaption",
      {},
      h("span", {}, markIcon(side), ` ${text}`),
      h("span", {}, `steps ${first.toLocaleString("en")} to ${last.toLocaleString("en")}`),
    ),
  );
}
