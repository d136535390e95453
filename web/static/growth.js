// How a run got stronger: its results against random moves over the steps of its training.

import { h, markIcon, svg } from "./dom.js";
import { get } from "./server.js";
import { pathOf, percent } from "./words.js";

const [WIDTH, HEIGHT] = [100, 60];

/** The chart of an agent's training, or null if there is no record of it. */
export async function growthOf(id, sides, signal) {
  const { steps } = await get(`/api/growth/${pathOf(id)}`, signal);
  if (steps.length < 2) return null;
  return h(
    "section",
    { class: "growth", "aria-label": "How it grew" },
    h("h2", {}, "How it grew"),
    h(
      "p",
      {},
      "Its results against random moves during the training, each computed exactly: ",
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
  const point = (step, share) => `${x(step).toFixed(2)} ${(HEIGHT * (1 - share)).toFixed(2)}`;
  const area = (low, high) =>
    `M${[...steps.map((step, n) => point(step, high(rates[n]))), ...steps.map((step, n) => point(step, low(rates[n]))).reverse()].join("L")}Z`;
  const safe = steps.find((step) => step[`unbeatable_${side.toLowerCase()}`]);
  const [won] = rates.at(-1);
  const text = safe
    ? safe.steps === 0
      ? "unbeatable from the start"
      : `unbeatable first after ${safe.steps.toLocaleString("en")} steps`
    : "not unbeatable at any time";
  const name = `As ${side}: ${percent(rates[0][0])} wins at first, ${percent(won)} in the end; ${text}`;
  const marker = safe && svg("path", { class: "safe", d: `M${x(safe)} 0V${HEIGHT}` });
  return h(
    "figure",
    {},
    svg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": name,
      },
      svg("path", {
        class: "win",
        d: area(
          () => 0,
          ([win]) => win,
        ),
      }),
      svg("path", {
        class: "draw",
        d: area(
          ([win]) => win,
          ([win, draw]) => win + draw,
        ),
      }),
      svg("path", {
        class: "loss",
        d: area(
          ([win, draw]) => win + draw,
          () => 1,
        ),
      }),
      marker,
    ),
    h(
      "figcaption",
      {},
      h("span", {}, markIcon(side), ` ${text}`),
      h("span", {}, `steps ${first.toLocaleString("en")} to ${last.toLocaleString("en")}`),
    ),
  );
}
