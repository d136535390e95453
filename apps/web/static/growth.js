// How a run got stronger: its results against random moves over the steps of its training.

import { h, markIcon, svg } from "./dom.js";
import { get } from "./server.js";
import { capital, pathOf, percent } from "./words.js";

const [WIDTH, HEIGHT] = [100, 60];
const VISIBLE = 0.02; // a smaller share is too thin to see
const APART = 0.25; // of the width, that the texts of two ticks do not touch

// The bounds of the areas, from the shares of wins, draws and losses.
const bottom = () => 0;
const afterWins = ([win]) => win;
const afterDraws = ([win, draw]) => win + draw;
const top = () => 1;

/** The chart of an agent's training, or null if there is no record of it. */
export async function growthOf({ id, unit }, sides, signal) {
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
      sides.map((side) => chart(steps, side, unit)),
    ),
  );
}

/**
 * The place of a number of steps on the axis, from 0 to 1. A player changes most at the beginning,
 * so the axis is logarithmic; the first check stands for the unit, because there may be a row of 0.
 */
function axisOf(steps) {
  const [first, last] = [steps[0].steps, steps.at(-1).steps];
  const unit = first || steps[1].steps || 1;
  const scaled = (count) => Math.log(count / unit + (first ? 0 : 1));
  const [low, high] = [scaled(first), scaled(last)];
  return (count) => (high > low ? (scaled(count) - low) / (high - low) : 0);
}

/** The ends of the axis and the powers of ten between them that have room. */
function ticksOf(steps, axis) {
  const [first, last] = [steps[0].steps, steps.at(-1).steps];
  const chosen = [first, last];
  for (let power = 1; power < last; power *= 10) {
    const hasRoom = chosen.every((one) => Math.abs(axis(one) - axis(power)) > APART);
    if (power > first && hasRoom) chosen.push(power);
  }
  return chosen.sort((a, b) => a - b);
}

/** "8,192", "20 million": short enough for a tick. */
const shortly = (count) =>
  count < 1e6
    ? count.toLocaleString("en")
    : `${(count / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })}\u00a0million`;

/** Since when a player could not be beaten as one side, in words. */
function safeText(steps, safe, unit) {
  if (!safe) return "not unbeatable at any time";
  if (safe.steps === 0) return "unbeatable from the start";
  const after = `after ${safe.steps.toLocaleString("en")} ${unit}`;
  return safe === steps[0]
    ? `unbeatable at the first check, ${after}`
    : `unbeatable for the first time ${after}`;
}

function chart(steps, side, unit) {
  const rates = steps.map((step) => step[side.toLowerCase()]);
  const axis = axisOf(steps);
  const x = (step) => WIDTH * axis(step.steps);
  const line = (share) =>
    steps.map((step, n) => `${x(step).toFixed(2)} ${(HEIGHT * (1 - share(rates[n]))).toFixed(2)}`);
  const areaOf = (low, high) => `M${[...line(high), ...line(low).reverse()].join("L")}Z`;
  const safe = steps.find((step) => step[`unbeatable_${side.toLowerCase()}`]);
  const [won] = rates.at(-1);
  const text = safeText(steps, safe, unit);
  const shownText = safe ? `${text} (the dashed line)` : text;
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
    h("figcaption", {}, markIcon(side), ` ${shownText}`),
    h(
      "div",
      { class: "plot" },
      h("div", { class: "axis", "aria-hidden": "true" }, scale),
      drawing,
      h("div", { class: "ticks", "aria-hidden": "true" }, ticks(steps, axis)),
    ),
    h("p", { class: "axis-name" }, `${capital(unit)} of training, on a logarithmic scale`),
    fewLosses(rates),
  );
}

/** The share of losses in words where its area is too thin to be seen. */
function fewLosses(rates) {
  const losses = rates.map((shares) => shares[2]);
  if (losses.some((loss) => loss >= VISIBLE)) return null;
  const [first, last] = [losses[0], losses.at(-1)].map(lossText);
  const text = losses.some((loss) => loss > 0)
    ? `Too few losses to see here: ${first} at first, ${last} in the end.`
    : "No losses against random moves at any check.";
  return h("p", { class: "few" }, text);
}

/** "0.31 %"; "none" only where there is none at all. */
function lossText(share) {
  if (share === 0) return "none";
  const hundredths = Math.round(1e4 * share) / 100;
  return `${hundredths === 0 ? "<0.01" : hundredths}\u00a0%`;
}

function ticks(steps, axis) {
  return ticksOf(steps, axis).map((count) => {
    const place = axis(count);
    const tick = h("span", { class: place === 0 ? "low" : place === 1 ? "high" : "" }, shortly(count));
    tick.style.insetInlineStart = `${100 * place}%`;
    return tick;
  });
}
